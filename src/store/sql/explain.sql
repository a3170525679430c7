-- An entry with the versions that it stands on, and what the hold's entries before it
-- came to.
select e.hold_id, e.call_id, e.certainty, e.usd_nanos_per_unit, e.fx_buffer_bp, f.fixing_date,
    p.effective_at, p.input as price_input, p.cache_read as price_cache_read,
    p.cache_write as price_cache_write, p.output as price_output, p.reasoning as price_reasoning,
    p.audio_input as price_audio_input, p.audio_output as price_audio_output, p.image as price_image,
    p.request as price_request, p.tiers as price_tiers, p.price_version_id,
    b.entries as before_entries, b.pico_usd::text as before_pico,
    b.provider_payable as before_provider, b.fx_buffer as before_buffer
from entries e
left join fx_rates f on f.tenant_id = e.tenant_id and f.fx_rate_id = e.fx_rate_id
left join tariffs p on p.tenant_id in (e.tenant_id, '00706c61-7466-8000-8000-627572736172')
    and p.price_version_id = e.price_version_id
cross join lateral (
    select count(*) as entries, coalesce(sum(o.pico_usd), 0) as pico_usd,
        coalesce(sum(o.provider_payable), 0)::bigint as provider_payable,
        coalesce(sum(o.fx_buffer), 0)::bigint as fx_buffer
    from entries o
    where o.tenant_id = e.tenant_id and o.hold_id = e.hold_id and o.batch_no < e.batch_no
) b
where e.tenant_id = $1 and e.entry_id = $2
