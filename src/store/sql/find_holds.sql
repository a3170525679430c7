-- Open holds by id, each with the widths of its limits, which tell the order of locking.
select h.*, array(
        select l.width
        from unnest(h.limit_ids) with ordinality as u (limit_id, n)
        join limits l on l.tenant_id = h.tenant_id and l.limit_id = u.limit_id
        order by u.n) as widths
from unnest($1::uuid[], $2::uuid[]) as k (tenant_id, hold_id)
join holds h on h.tenant_id = k.tenant_id and h.hold_id = k.hold_id
