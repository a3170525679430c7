-- The third part: new holds, unless it is too late for one of them or somebody has
-- stopped its parties. The stops are asked once the tenants are set: `wanted` is made
-- first. Mostly a tenant has none, and that costs one key a tenant; else four keys a
-- hold, from which `limit` lets no plan depart.
, wanted as materialized (
    select t.* from seen, unnest($8::uuid[], $9::uuid[], $10::uuid[], $11::smallint[], $12::uuid[], $13::uuid[], $14::uuid[],
            $15::uuid[], $16::uuid[], $17::uuid[], $18::uuid[], $19::uuid[], $20::bigint[], $21::int[],
            $22::bigint[], $23::bigint[], $24::bigint[], $25::int[], $26::bool[], $27::bigint[], $47::int[], $49::uuid[], $51::text[], $52::bigint[])
        as t (tenant_id, hold_id, call_id, attempt, host_id, user_id, server_id, envelope_id,
            model_id, backend_id, price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp,
            calls, money, tokens, limits_from, by_host, ttl_ms, limits_to, root_id, route, not_after_us)
),
stopping as materialized (
    select exists (
        select from (select distinct w.tenant_id from wanted w) as t
        cross join lateral (select from stops s
            where s.tenant_id = any(array[t.tenant_id]) and s.lifted_at is null
            limit 1) as s) as somebody
),
taken as (
    insert into holds (tenant_id, hold_id, call_id, attempt, host_id, user_id, server_id, envelope_id,
        model_id, backend_id, price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp,
        calls, money, tokens, limit_ids, by_host, root_id, route, incurred_at, expires_at)
    select t.tenant_id, t.hold_id, t.call_id, t.attempt, t.host_id, t.user_id, t.server_id, t.envelope_id,
        t.model_id, t.backend_id, t.price_version_id, t.fx_rate_id, t.usd_nanos_per_unit, t.fx_buffer_bp,
        t.calls, t.money, t.tokens, ($48::uuid[])[t.limits_from:t.limits_to], t.by_host, t.root_id, t.route,
        clock.at, clock.at + t.ttl_ms * interval '1 millisecond'
    from wanted t, clock, stopping
    where (t.not_after_us is null or clock.at <= timestamptz 'epoch' + t.not_after_us * interval '1 microsecond')
        and (not stopping.somebody or not exists (
            select from (values (t.user_id, t.server_id),
                (t.user_id, '00000000-0000-0000-0000-000000000000'),
                ('00000000-0000-0000-0000-000000000000', t.server_id),
                ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000')
            ) as p (user_key, server_key)
            cross join lateral (select from stops s
                where s.tenant_id = any(array[t.tenant_id]) and s.user_key = p.user_key
                    and s.server_key = p.server_key and s.lifted_at is null
                limit 1) as s))
    returning 1
)
