-- All that is booked of a hold, its first entry and every later one together.
select count(*) as entries,
    coalesce(bool_or(certainty = 'exact'), false) as is_exact,
    coalesce(sum(calls), 0)::bigint as calls,
    coalesce(sum(charged), 0)::bigint as charged,
    coalesce(sum(overrun), 0)::bigint as overrun,
    coalesce(sum(tokens_charged), 0)::bigint as tokens_charged,
    coalesce(sum(tokens_overrun), 0)::bigint as tokens_overrun,
    coalesce(sum(provider_payable), 0)::bigint as provider_payable,
    coalesce(sum(fx_buffer), 0)::bigint as fx_buffer,
    coalesce(sum(pico_usd), 0)::text as pico_usd
from entries
where tenant_id = $1 and hold_id = $2
