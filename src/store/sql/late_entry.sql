-- A later truth: a new entry beside the one it corrects, with the parties, terms
-- and limits of that one, and the difference it makes.
insert into entries (tenant_id, entry_id, incurred_at, booked_at, batch_no, kind, hold_id, corrects,
    call_id, attempt, host_id, user_id, server_id, envelope_id, model_id, backend_id,
    price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, limit_ids, held_money, held_tokens,
    input, cache_read, cache_write, output, reasoning, pico_usd, calls, tokens_charged, tokens_overrun,
    charged, overrun, provider_payable, fx_buffer, certainty, claim, cut, by_host, root_id, route)
select e.tenant_id, $3, e.incurred_at, clock_timestamp(), $4, $5, e.hold_id, e.entry_id,
    e.call_id, e.attempt, e.host_id, e.user_id, e.server_id, e.envelope_id, e.model_id, e.backend_id,
    e.price_version_id, e.fx_rate_id, e.usd_nanos_per_unit, e.fx_buffer_bp, e.limit_ids, e.held_money, e.held_tokens,
    $6, $7, $8, $9, $10, $11::numeric, 0, $12, $13, $14, $15, $16, $17, $18, $19::bigint[], $20, e.by_host, e.root_id, e.route
from entries e
where e.tenant_id = $1 and e.entry_id = $2
