-- Each limit of an envelope, and its end, beside what it was opened with and what the
-- extensions of it add up to.
with added as (
    select x.envelope_id, sum(x.calls) as calls, sum(x.money) as money,
        sum(x.seconds + x.waited_seconds) as seconds
    from extensions x
    where x.tenant_id = $1
    group by x.envelope_id
)
select l.limit_id as id, l.envelope_id as other, l.kind || ' ' || c.counter as what,
    c.kept::text as kept, c.proven::text as proven
from limits l
join envelopes e on e.tenant_id = $1 and e.envelope_id = l.envelope_id
left join added a on a.envelope_id = l.envelope_id
cross join lateral (values
    ('amount', l.amount::numeric, case l.kind
        when 'calls' then e.calls + coalesce(a.calls, 0)
        when 'money' then e.money + coalesce(a.money, 0)
        when 'tokens' then e.tokens
        else e.concurrent_calls end),
    ('life', case l.kind when 'calls' then round(extract(epoch from l.closes_at - e.opened_at)) end,
        case l.kind when 'calls' then e.seconds + coalesce(a.seconds, 0) end)
) as c (counter, kept, proven)
where l.tenant_id = $1 and l.envelope_id is not null and c.kept <> c.proven
order by l.limit_id, c.counter
limit $2
