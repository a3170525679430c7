-- Each sum that is kept beside what the entries of the batches that it counts add up to.
-- $1 is the tenant, $4 how many to name; $2 and $3 are the batches.
, kept as (
    select * from rollups where tenant_id = $1
)
select $1 as id, null::uuid as other,
    coalesce(k.day, g.day) || ' ' || coalesce(k.kind, g.kind) as what,
    format('%s entries, %s charged, %s overrun, %s tokens', coalesce(k.entries, 0), coalesce(k.charged, 0),
        coalesce(k.overrun, 0), coalesce(k.input + k.cache_read + k.cache_write + k.output + k.reasoning, 0)) as kept,
    format('%s entries, %s charged, %s overrun, %s tokens', coalesce(g.entries, 0), coalesce(g.charged, 0),
        coalesce(g.overrun, 0), coalesce(g.input + g.cache_read + g.cache_write + g.output + g.reasoning, 0)) as proven
from kept k
full join grouped g using (tenant_id, day, user_id, server_id, host_id, model_id, backend_id, root_id,
    price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, kind, priced, corrected_month)
where (k.entries, k.estimated, k.calls, k.input, k.cache_read, k.cache_write, k.output, k.reasoning, k.charged,
        k.overrun, k.provider_payable, k.fx_buffer, k.pico_usd)
    is distinct from (g.entries, g.estimated, g.calls, g.input, g.cache_read, g.cache_write, g.output, g.reasoning,
        g.charged, g.overrun, g.provider_payable, g.fx_buffer, g.pico_usd)
order by 3
limit $4
