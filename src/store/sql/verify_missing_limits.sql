-- Limits that an entry or an open hold names and that do not exist.
with named as (
    select e.entry_id as id, u.limit_id, 'entry' as what
    from entries e
    cross join unnest(e.limit_ids) as u (limit_id)
    where e.tenant_id = $1
    union all
    select h.hold_id, u.limit_id, 'hold'
    from holds h
    cross join unnest(h.limit_ids) as u (limit_id)
    where h.tenant_id = $1
)
select n.id, n.limit_id as other, n.what, null::text as kept, null::text as proven
from named n
where not exists (select from limits l where l.tenant_id = $1 and l.limit_id = n.limit_id)
order by n.id, n.limit_id
limit $2
