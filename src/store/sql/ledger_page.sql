-- A page of the ledger, newest first, with the names that people know. The page is
-- cut before anything is joined to it.
with page as materialized (
    select * from entries
    where tenant_id = $1
        and ($2::uuid is null or host_id = $2)
        and ($3::uuid is null or user_id = $3)
        and ($4::uuid is null or server_id = $4)
        and ($5::uuid is null or envelope_id = $5)
        and ($6::uuid is null or call_id = $6)
        and ($7::uuid is null or entry_id < $7)
    order by entry_id desc
    limit $8
)
select p.*, p.pico_usd::text as pico_usd_text, u.external_id as user_name, s.external_id as server_name,
    h.display_name as host_name, m.alias as model_alias, b.name as backend_name,
    r.uri as root_uri
from page p
left join users u on u.tenant_id = p.tenant_id and u.user_id = p.user_id
left join servers s on s.tenant_id = p.tenant_id and s.server_id = p.server_id
left join hosts h on h.tenant_id = p.tenant_id and h.host_id = p.host_id
left join models m on m.tenant_id = p.tenant_id and m.model_id = p.model_id
left join backends b on b.tenant_id = p.tenant_id and b.backend_id = p.backend_id
left join roots r on r.tenant_id = p.tenant_id and r.root_id = p.root_id
order by p.entry_id desc
