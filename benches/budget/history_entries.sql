-- A month of the ledger: envelopes $2 to $3, twenty calls each. Every other is the first
-- tenant's, the rest is spread over a thousand.
with envelopes as materialized (
    select n, md5('envelope ' || n)::uuid as envelope_id,
        ('00000000-0000-4000-8000-' || lpad(to_hex(case when n % 2 = 0 then 1 else 1 + n * 7919 % 1000 end), 12, '0'))::uuid
            as tenant_id,
        array[md5('calls ' || n)::uuid, md5('money ' || n)::uuid, md5('tokens ' || n)::uuid,
            md5('tenant ' || n % 2 || ' ' || $1::text)::uuid] as limit_ids,
        $1::text::timestamptz + (n - $2) * (interval '27 days' / ($3 - $2 + 1)) as at
    from generate_series($2::bigint, $3::bigint) as n
)
insert into entries (tenant_id, entry_id, incurred_at, booked_at, batch_no, kind, hold_id,
    call_id, attempt, host_id, user_id, server_id, envelope_id, model_id, backend_id,
    price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, limit_ids, held_money, held_tokens,
    input, cache_read, cache_write, output, reasoning, pico_usd, calls, tokens_charged, tokens_overrun,
    charged, overrun, provider_payable, fx_buffer, certainty, claim, cut, by_host)
select e.tenant_id, id, at, at + interval '1 second', e.n, 'settle', id,
    id, 1, e.tenant_id, e.envelope_id, e.envelope_id, e.envelope_id, e.tenant_id, e.tenant_id,
    e.tenant_id, e.tenant_id, 1100000000, 0, e.limit_ids, 4000000, 1000,
    100, 0, 0, 50, 0, 1500000000, 1, 150, 0, 1500000, 0, 1500000, 0, 'exact', null, null, false
from envelopes e
cross join generate_series(1, 20) as call
-- Ids that begin with their time, as the engine's do.
cross join lateral (select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
    || '7000' || '8' || lpad(to_hex(n * 32 + call), 15, '0'))::uuid as id) as ids
