select l.batch_no, l.line, concat_ws(E'\x1f', coalesce(u.external_id, ''), coalesce(s.external_id, ''),
    coalesce(h.display_name, ''), coalesce(m.alias, ''), coalesce(b.name, ''), coalesce(r.uri, '')) as names
from lines l
left join users u on u.tenant_id = $1 and u.user_id = l.user_id
left join servers s on s.tenant_id = $1 and s.server_id = l.server_id
left join hosts h on h.tenant_id = $1 and h.host_id = l.host_id
left join models m on m.tenant_id = $1 and m.model_id = l.model_id
left join backends b on b.tenant_id = $1 and b.backend_id = l.backend_id
left join roots r on r.tenant_id = $1 and r.root_id = l.root_id
order by l.batch_no, l.entry_id
