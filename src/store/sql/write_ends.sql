-- The second part: holds that end.
, ends as materialized (
    select e.* from seen, unnest($28::uuid[], $29::uuid[], $30::text[],
            $31::bigint[], $32::bigint[], $33::bigint[], $34::bigint[], $35::bigint[],
            $36::text[], $37::bigint[], $38::bigint[], $39::bigint[], $40::bigint[], $41::bigint[],
            $42::bigint[], $43::bigint[], $44::text[], $45::text[], $46::text[])
        as e (tenant_id, hold_id, kind, input, cache_read, cache_write, output, reasoning,
            pico_usd, counted, tokens_charged, tokens_overrun, charged, overrun,
            provider_payable, fx_buffer, certainty, claim, cut)
),
gone as (
    delete from holds h using ends e
    where h.tenant_id = any(array[e.tenant_id]) and h.hold_id = e.hold_id
    returning h.*, e.kind, e.input, e.cache_read, e.cache_write, e.output, e.reasoning, e.pico_usd,
        e.counted, e.tokens_charged, e.tokens_overrun, e.charged, e.overrun, e.provider_payable,
        e.fx_buffer, e.certainty, e.claim, e.cut
),
numbered as (
    insert into batches as b (tenant_id, last_no)
    -- In order, like the limits, so that no two replicas wait for each other.
    select distinct tenant_id, 1::bigint from ends order by 1
    on conflict (tenant_id) do update set last_no = b.last_no + 1
    returning b.tenant_id, b.last_no
),
booked as (
    insert into entries (tenant_id, entry_id, incurred_at, booked_at, batch_no, kind, hold_id,
        call_id, attempt, host_id, user_id, server_id, envelope_id, model_id, backend_id,
        price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, limit_ids, held_money, held_tokens,
        input, cache_read, cache_write, output, reasoning, pico_usd, calls, tokens_charged, tokens_overrun,
        charged, overrun, provider_payable, fx_buffer, certainty, claim, cut, by_host, root_id, route)
    select g.tenant_id, g.hold_id, g.incurred_at, clock.at, n.last_no, g.kind, g.hold_id,
        g.call_id, g.attempt, g.host_id, g.user_id, g.server_id, g.envelope_id, g.model_id, g.backend_id,
        g.price_version_id, g.fx_rate_id, g.usd_nanos_per_unit, g.fx_buffer_bp, g.limit_ids, g.money, g.tokens,
        g.input, g.cache_read, g.cache_write, g.output, g.reasoning, g.pico_usd::numeric, g.counted,
        g.tokens_charged, g.tokens_overrun, g.charged, g.overrun, g.provider_payable, g.fx_buffer,
        g.certainty, g.claim::bigint[], g.cut, g.by_host, g.root_id, g.route
    from gone g
    join numbered n on n.tenant_id = g.tenant_id
    cross join clock
    returning 1
)
