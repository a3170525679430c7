-- A page of changes, newest first: ids are made of the time.
select a.audit_id, a.at, a.credential_id, coalesce(c.display_name, '') as credential_name,
    host(a.peer) as peer, a.method, a.subject, a.subject_id, a.old::text, a.new::text
from audit_entries a
left join credentials c on c.tenant_id = a.tenant_id and c.credential_id = a.credential_id
where a.tenant_id = $1
    and ($2::uuid is null or a.audit_id < $2)
    and ($4::uuid is null or a.subject_id = $4)
    and ($5::uuid is null or a.credential_id = $5)
    and ($6::text is null or a.method = $6)
    and ($7::timestamptz is null or a.at >= $7)
    and ($8::timestamptz is null or a.at < $8)
order by a.audit_id desc
limit $3
