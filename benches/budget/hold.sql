-- One call's hold: every limit's check in its own update, or nothing.
with moved as (
    update limits l
    set held = l.held + case l.kind when 'calls' then 1 when 'money' then $12 else $13 end,
        revision = l.revision + 1, used_at = statement_timestamp()
    -- In this form, as in the lanes, no plan starts from the tenant's limits: it would
    -- lock them in another order than that of the array, and deadlock.
    from (select $1::uuid as tenant_id, limit_id from unnest($2::uuid[]) as limit_id offset 0) as k
    where l.tenant_id = any(array[k.tenant_id]) and l.limit_id = k.limit_id
        and (not l.enforcing or l.settled + l.overrun + l.held
            + case l.kind when 'calls' then 1 when 'money' then $12 else $13 end <= l.amount)
        and l.opens_at <= statement_timestamp() and l.closed_at is null
        and (l.closes_at is null or statement_timestamp() < l.closes_at)
    returning 1
),
taken as (
    insert into holds (tenant_id, hold_id, call_id, attempt, host_id, user_id, server_id, envelope_id,
        model_id, backend_id, price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp,
        calls, money, tokens, limit_ids, by_host, incurred_at, expires_at)
    values ($1, $3, $4, 1, $5, $6, $7, $8, $9, $10, $11, $14, $15, 0, 1, $12, $13, $2, false,
        statement_timestamp(), statement_timestamp() + interval '10 minutes')
    returning 1
)
select 1 / (case when (select count(*) from moved) = cardinality($2::uuid[])
    and (select count(*) from taken) = 1 then 1 else 0 end)
