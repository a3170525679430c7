-- Entries of the batches above $2 and up to $3 as the chain and the journal have them:
-- every column as text, in the order of `ledger::line::COLUMNS`, parted by a character
-- that is in none of them. What is sealed must never read otherwise: a new column is
-- added at the end, by a new version of the line.
lines as (
    select e.batch_no, e.entry_id, e.user_id, e.server_id, e.host_id, e.model_id, e.backend_id, e.root_id,
        concat_ws(E'\x1f', e.batch_no, e.entry_id, e.kind,
            to_char(e.incurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            to_char(e.booked_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            e.hold_id, coalesce(e.corrects::text, ''), e.call_id, e.attempt, e.host_id, e.user_id, e.server_id,
            e.envelope_id, coalesce(e.model_id::text, ''), coalesce(e.backend_id::text, ''),
            coalesce(e.root_id::text, ''), coalesce(e.price_version_id::text, ''), e.fx_rate_id,
            e.usd_nanos_per_unit, e.fx_buffer_bp, array_to_string(e.limit_ids, ' '), e.held_money, e.held_tokens,
            e.input, e.cache_read, e.cache_write, e.output, e.reasoning, e.pico_usd, e.calls, e.tokens_charged,
            e.tokens_overrun, e.charged, e.overrun, e.provider_payable, e.fx_buffer, e.certainty,
            coalesce(array_to_string(e.claim, ' ', 'null'), ''), coalesce(e.cut, ''), e.by_host::text,
            translate(coalesce(e.route, ''), E'\x1f\r\n', '   ')) as line
    from entries e
    where e.tenant_id = $1 and e.batch_no > $2 and e.batch_no <= $3
)
