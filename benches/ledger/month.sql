-- A month of $3 batches of twenty entries, numbered from $2 + 1.
with lots as (
    select b, i, $1::text::timestamptz + (b - $2) * (interval '27 days' / $3::int) as at,
        hashint8(b * 20 + i) & 2147483647 as r, hashint8(-b * 20 - i) & 2147483647 as q
    from generate_series($2::bigint + 1, $2::bigint + $3::bigint) as b, generate_series(0, 19) as i
),
cost as (
    select *, r % 900 as input, q % 700 as output, r % 4 as m,
        (150000 * (r % 4 + 1))::numeric * (r % 900) + (600000 * (r % 4 + 1))::numeric * (q % 700) as pico
    from lots
)
insert into entries (tenant_id, entry_id, incurred_at, booked_at, batch_no, kind, hold_id,
    call_id, attempt, host_id, user_id, server_id, envelope_id, model_id, backend_id,
    price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, limit_ids, held_money, held_tokens,
    input, cache_read, cache_write, output, reasoning, pico_usd, calls, tokens_charged, tokens_overrun,
    charged, overrun, provider_payable, fx_buffer, certainty, claim, cut, by_host)
select '00000000-0000-7000-8000-000000000001', id, at, at + interval '1 second', b, 'settle', id,
    id, 1, md5('host')::uuid, md5('user ' || r % 500)::uuid, md5('server ' || q % 20)::uuid, md5('envelope ' || b)::uuid,
    md5('model ' || m)::uuid, md5('backend')::uuid, md5('price ' || m)::uuid, md5('rate')::uuid, 1100000000, 0,
    array[md5('calls ' || b)::uuid, md5('money ' || b)::uuid], nanos + 1000, 2000,
    input, 0, 0, output, 0, pico, 1, input + output, 0, nanos, 0, nanos, 0, 'exact', null, null, false
from cost
cross join lateral (select round(pico * 1000000 / 1100000000)::bigint as nanos) as n
cross join lateral (select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
    || '7000' || '8' || lpad(to_hex(b * 32 + i), 15, '0'))::uuid as id) as ids
