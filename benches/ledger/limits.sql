-- The limits that the entries have moved, as they would stand.
insert into limits (tenant_id, limit_id, width, envelope_id, kind, amount, enforcing, opens_at, settled)
select tenant_id, l.limit_id, 0, envelope_id, l.kind, 1000000000000, true, '2020-01-01Z', l.settled
from (select tenant_id, batch_no, envelope_id, count(*) as calls, sum(charged)::bigint as money
    from entries group by 1, 2, 3) e
cross join lateral (values
    (md5('calls ' || e.batch_no)::uuid, 'calls', e.calls),
    (md5('money ' || e.batch_no)::uuid, 'money', e.money)) as l (limit_id, kind, settled)
