-- Which of these holds are open, which of these orders somebody has stopped, and the
-- time: one row at least. To be asked once the limits are locked, so that nothing is
-- decided by an older time.
select clock.at, h.hold_id, h.incurred_at, h.calls, h.money, h.tokens, false as is_stopped
from (select clock_timestamp() as at) as clock
left join (
    select h.hold_id, h.incurred_at, h.calls, h.money, h.tokens
    from unnest($1::uuid[], $2::uuid[]) as k (tenant_id, hold_id)
    join holds h on h.tenant_id = any(array[k.tenant_id]) and h.hold_id = k.hold_id
) as h on true
union all
select clock_timestamp(), k.hold_id, null, null, null, null, true
from unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[]) as k (tenant_id, hold_id, user_id, server_id)
where (select exists (
    select from (select distinct t.tenant_id from unnest($3::uuid[]) as t (tenant_id)) as t
    cross join lateral (select from stops s
        where s.tenant_id = any(array[t.tenant_id]) and s.lifted_at is null
        limit 1) as s))
and exists (
    select from (values (k.user_id, k.server_id),
        (k.user_id, '00000000-0000-0000-0000-000000000000'),
        ('00000000-0000-0000-0000-000000000000', k.server_id),
        ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000')
    ) as p (user_key, server_key)
    cross join lateral (select from stops s
        where s.tenant_id = any(array[k.tenant_id]) and s.user_key = p.user_key
            and s.server_key = p.server_key and s.lifted_at is null
        limit 1) as s)
