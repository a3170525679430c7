-- One call's settlement: its limits move, its hold becomes an entry of the next batch.
with moved as (
    update limits l
    set held = l.held - case l.kind when 'calls' then 1 when 'money' then $4 else $5 end,
        settled = l.settled + case l.kind when 'calls' then 1 when 'money' then $6 else $7 end,
        revision = l.revision + 1, used_at = statement_timestamp()
    -- In this form, as in the lanes, no plan starts from the tenant's limits: it would
    -- lock them in another order than that of the array, and deadlock.
    from (select $1::uuid as tenant_id, limit_id from unnest($2::uuid[]) as limit_id offset 0) as k
    where l.tenant_id = any(array[k.tenant_id]) and l.limit_id = k.limit_id
    returning 1
),
gone as (
    delete from holds where tenant_id = $1 and hold_id = $3 returning *
),
numbered as (
    insert into batches as b (tenant_id, last_no) values ($1, 1)
    on conflict (tenant_id) do update set last_no = b.last_no + 1
    returning b.last_no
),
booked as (
    insert into entries (tenant_id, entry_id, incurred_at, booked_at, batch_no, kind, hold_id,
        call_id, attempt, host_id, user_id, server_id, envelope_id, model_id, backend_id,
        price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, limit_ids, held_money, held_tokens,
        input, cache_read, cache_write, output, reasoning, pico_usd, calls, tokens_charged, tokens_overrun,
        charged, overrun, provider_payable, fx_buffer, certainty, claim, cut, by_host)
    select g.tenant_id, g.hold_id, g.incurred_at, statement_timestamp(), n.last_no, 'settle', g.hold_id,
        g.call_id, g.attempt, g.host_id, g.user_id, g.server_id, g.envelope_id, g.model_id, g.backend_id,
        g.price_version_id, g.fx_rate_id, g.usd_nanos_per_unit, g.fx_buffer_bp, g.limit_ids, g.money, g.tokens,
        100, 0, 0, 50, 0, $6::bigint::numeric * 1000, 1, $7, 0, $6, 0, $6, 0, 'exact', null, null, g.by_host
    from gone g cross join numbered n
    returning 1
)
select 1 / (case when (select count(*) from moved) = cardinality($2::uuid[])
    and (select count(*) from booked) = 1 then 1 else 0 end)
