, added as (
    insert into rollups as r
    -- In order, like every other row that several may write.
    select * from grouped order by 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    on conflict (tenant_id, day, user_id, server_id, host_id, model_id, backend_id, root_id,
        price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, kind, priced, corrected_month)
    do update set entries = r.entries + excluded.entries, estimated = r.estimated + excluded.estimated,
        calls = r.calls + excluded.calls, input = r.input + excluded.input,
        cache_read = r.cache_read + excluded.cache_read, cache_write = r.cache_write + excluded.cache_write,
        output = r.output + excluded.output, reasoning = r.reasoning + excluded.reasoning,
        charged = r.charged + excluded.charged, overrun = r.overrun + excluded.overrun,
        provider_payable = r.provider_payable + excluded.provider_payable,
        fx_buffer = r.fx_buffer + excluded.fx_buffer, pico_usd = r.pico_usd + excluded.pico_usd
    returning 1
),
hours as (
    insert into booked_hours as h (tenant_id, hour, first_batch, last_batch, entries)
    select tenant_id, date_trunc('hour', booked_at, 'UTC'), min(batch_no), max(batch_no), count(*)
    from entered group by 1, 2 order by 2
    on conflict (tenant_id, hour) do update set entries = h.entries + excluded.entries,
        first_batch = least(h.first_batch, excluded.first_batch),
        last_batch = greatest(h.last_batch, excluded.last_batch)
    returning 1
)
update ledger_progress set rolled_to = $3 where tenant_id = $1
