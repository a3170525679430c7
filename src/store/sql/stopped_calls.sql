-- Which of these calls' parties somebody has stopped.
select k.tenant_id, k.user_id, k.server_id
from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as k (tenant_id, user_id, server_id)
where exists (
    select from (values (k.user_id, k.server_id),
        (k.user_id, '00000000-0000-0000-0000-000000000000'),
        ('00000000-0000-0000-0000-000000000000', k.server_id),
        ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000')
    ) as p (user_key, server_key)
    cross join lateral (select from stops s
        where s.tenant_id = any(array[k.tenant_id]) and s.user_key = p.user_key
            and s.server_key = p.server_key and s.lifted_at is null
        limit 1) as s)
