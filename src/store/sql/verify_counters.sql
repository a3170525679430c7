-- Each counter of each limit beside what the entries and the open holds that name
-- it add up to.
with booked as (
    select u.limit_id, sum(e.calls) as calls, sum(e.charged) as charged, sum(e.overrun) as overrun,
        sum(e.tokens_charged) as tokens_charged, sum(e.tokens_overrun) as tokens_overrun
    from entries e
    cross join unnest(e.limit_ids) as u (limit_id)
    where e.tenant_id = $1
    group by u.limit_id
),
reserved as (
    select u.limit_id, count(*) as at_once, sum(h.calls) as calls, sum(h.money) as money, sum(h.tokens) as tokens
    from holds h
    cross join unnest(h.limit_ids) as u (limit_id)
    where h.tenant_id = $1
    group by u.limit_id
)
select l.limit_id as id, null::uuid as other, l.kind || ' ' || c.counter as what,
    c.kept::text as kept, coalesce(c.proven, 0)::text as proven
from limits l
left join booked b on b.limit_id = l.limit_id
left join reserved r on r.limit_id = l.limit_id
cross join lateral (values
    ('settled', l.settled, case l.kind when 'calls' then b.calls when 'money' then b.charged when 'tokens' then b.tokens_charged end),
    ('overrun', l.overrun, case l.kind when 'money' then b.overrun when 'tokens' then b.tokens_overrun end),
    ('held', l.held, case l.kind when 'calls' then r.calls when 'money' then r.money when 'tokens' then r.tokens else r.at_once end)
) as c (counter, kept, proven)
where l.tenant_id = $1 and c.kept <> coalesce(c.proven, 0)
order by l.limit_id, c.counter
limit $2
