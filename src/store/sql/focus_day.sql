-- What was booked on a day, summed up, with prices and names.
select r.*, r.pico_usd::text as pico_usd_text, r.corrected_month > '0001-01-01' as is_correction,
    u.external_id as user_name, s.external_id as server_name, h.display_name as host_name,
    m.alias, m.vendor_model, b.name as backend_name, t.uri as root_uri,
    p.input as price_input, p.cache_read as price_cache_read,
    p.cache_write as price_cache_write, p.output as price_output, p.reasoning as price_reasoning,
    p.audio_input as price_audio_input, p.audio_output as price_audio_output, p.image as price_image,
    p.request as price_request, p.tiers as price_tiers
from rollups r
left join users u on u.tenant_id = $1 and u.user_id = r.user_id
left join servers s on s.tenant_id = $1 and s.server_id = r.server_id
left join hosts h on h.tenant_id = $1 and h.host_id = r.host_id
left join models m on m.tenant_id = $1 and m.model_id = r.model_id
left join backends b on b.tenant_id = $1 and b.backend_id = r.backend_id
left join roots t on t.tenant_id = $1 and t.root_id = r.root_id
left join tariffs p on p.tenant_id in ($1, '00706c61-7466-8000-8000-627572736172') and p.price_version_id = r.price_version_id
where r.tenant_id = $1 and r.day = $2
order by r.server_id, r.user_id, r.host_id, r.model_id, r.backend_id, r.root_id, r.price_version_id,
    r.fx_rate_id, r.usd_nanos_per_unit, r.fx_buffer_bp, r.kind, r.priced, r.corrected_month
limit $3
