-- Which of these holds are open, and the time: one row at least. To be asked once
-- the limits are locked, so that nothing is decided by an older time.
select clock.at, h.hold_id, h.incurred_at, h.calls, h.money, h.tokens
from (select clock_timestamp() as at) as clock
left join (
    select h.hold_id, h.incurred_at, h.calls, h.money, h.tokens
    from unnest($1::uuid[], $2::uuid[]) as k (tenant_id, hold_id)
    join holds h on h.tenant_id = any(array[k.tenant_id]) and h.hold_id = k.hold_id
) as h on true
