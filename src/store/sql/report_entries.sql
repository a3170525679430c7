, base as (
    select e.booked_at at time zone 'UTC' as at, e.user_id, e.server_id, e.host_id, e.model_id, e.backend_id,
        e.root_id, e.envelope_id, e.kind, 1::bigint as entries, e.estimated, e.calls, e.input, e.cache_read,
        e.cache_write, e.output, e.reasoning, e.charged, e.overrun, e.pico_usd
    from entered e
    where e.booked_at >= $6::timestamptz and e.booked_at < $5::timestamptz
)
