-- Entries of the batches above $2 and up to $3 as roll-ups count them. The truth that
-- comes later counts by what it changes: its tokens less those booked of the hold before.
entered as (
    select e.tenant_id, e.batch_no, e.booked_at, (e.booked_at at time zone 'UTC')::date as day,
        e.user_id, e.server_id, e.host_id, e.envelope_id,
        coalesce(e.model_id, '00000000-0000-0000-0000-000000000000') as model_id,
        coalesce(e.backend_id, '00000000-0000-0000-0000-000000000000') as backend_id,
        coalesce(e.root_id, '00000000-0000-0000-0000-000000000000') as root_id,
        coalesce(e.price_version_id, '00000000-0000-0000-0000-000000000000') as price_version_id,
        e.fx_rate_id, e.usd_nanos_per_unit, e.fx_buffer_bp, e.kind,
        coalesce(e.kind = 'settle' and e.pico_usd = p.request + p.input::numeric * e.input
            + p.cache_read::numeric * e.cache_read + p.cache_write::numeric * e.cache_write
            + p.output::numeric * e.output + p.reasoning::numeric * e.reasoning, false) as priced,
        coalesce(date_trunc('month', b.booked_at at time zone 'UTC')::date, '0001-01-01') as corrected_month,
        (e.certainty <> 'exact')::int as estimated, e.calls,
        e.input - coalesce(b.input, 0) as input, e.cache_read - coalesce(b.cache_read, 0) as cache_read,
        e.cache_write - coalesce(b.cache_write, 0) as cache_write, e.output - coalesce(b.output, 0) as output,
        e.reasoning - coalesce(b.reasoning, 0) as reasoning,
        e.charged, e.overrun, e.provider_payable, e.fx_buffer, e.pico_usd
    from entries e
    -- By key in each table: a plan for the view of both walks through the book.
    left join lateral (
        select v.input, v.cache_read, v.cache_write, v.output, v.reasoning, v.request
        from price_versions v
        where v.tenant_id = any (array[e.tenant_id]) and v.price_version_id = e.price_version_id
        union all
        select r.input, r.cache_read, r.cache_write, r.output, r.reasoning, r.request
        from book_prices r
        where r.tenant_id = any (array[e.tenant_id, '00706c61-7466-8000-8000-627572736172'::uuid])
            and r.price_version_id = e.price_version_id
        limit 1
    ) p on true
    left join lateral (
        select b.booked_at, b.input, b.cache_read, b.cache_write, b.output, b.reasoning
        from entries b
        where e.kind in ('late_settle', 'correction')
            and b.tenant_id = e.tenant_id and b.hold_id = e.hold_id and b.batch_no < e.batch_no
        order by b.batch_no desc limit 1
    ) b on true
    where e.tenant_id = $1 and e.batch_no > $2 and e.batch_no <= $3
),
grouped as (
    select tenant_id, day, user_id, server_id, host_id, model_id, backend_id, root_id, price_version_id,
        fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, kind, priced, corrected_month,
        count(*)::bigint as entries, sum(estimated)::bigint as estimated, sum(calls)::bigint as calls,
        sum(input)::bigint as input, sum(cache_read)::bigint as cache_read,
        sum(cache_write)::bigint as cache_write, sum(output)::bigint as output,
        sum(reasoning)::bigint as reasoning, sum(charged)::bigint as charged, sum(overrun)::bigint as overrun,
        sum(provider_payable)::bigint as provider_payable, sum(fx_buffer)::bigint as fx_buffer,
        sum(pico_usd) as pico_usd
    from entered
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
)
