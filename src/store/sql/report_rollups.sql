with base as (
    select r.day::timestamp as at, r.user_id, r.server_id, r.host_id, r.model_id, r.backend_id, r.root_id,
        null::uuid as envelope_id, r.kind, r.entries, r.estimated, r.calls, r.input, r.cache_read, r.cache_write,
        r.output, r.reasoning, r.charged, r.overrun, r.pico_usd
    from rollups r
    where r.tenant_id = $1 and $2::bigint is not null and $3::bigint is not null
        and r.day >= ($6::timestamptz at time zone 'UTC')::date
        and r.day < ($5::timestamptz at time zone 'UTC')::date
)
