        coalesce(sum(b.entries) filter (where b.at >= s.start), 0)::bigint as entries,
        coalesce(sum(b.estimated) filter (where b.at >= s.start), 0)::bigint as estimated,
        coalesce(sum(b.calls) filter (where b.at >= s.start), 0)::bigint as calls,
        coalesce(sum(b.input) filter (where b.at >= s.start), 0)::bigint as input,
        coalesce(sum(b.cache_read) filter (where b.at >= s.start), 0)::bigint as cache_read,
        coalesce(sum(b.cache_write) filter (where b.at >= s.start), 0)::bigint as cache_write,
        coalesce(sum(b.output) filter (where b.at >= s.start), 0)::bigint as output,
        coalesce(sum(b.reasoning) filter (where b.at >= s.start), 0)::bigint as reasoning,
        coalesce(sum(b.charged) filter (where b.at >= s.start), 0)::bigint as charged,
        coalesce(sum(b.overrun) filter (where b.at >= s.start), 0)::bigint as overrun,
        coalesce(sum(b.pico_usd) filter (where b.at >= s.start), 0)::text as pico_usd,
        coalesce(sum(b.charged + b.overrun) filter (where b.at < s.start), 0)::bigint as before
    from base b
    cross join (select $4::timestamptz at time zone 'UTC' as start) s
    where ($7::text is null or b.user_id = (select user_id from users where tenant_id = $1 and external_id = $7))
        and ($8::text is null or b.server_id = (select server_id from servers where tenant_id = $1 and external_id = $8))
        and ($9::text is null or b.host_id = (select host_id from hosts where tenant_id = $1 and display_name = $9))
        and ($10::text is null or b.model_id = (select model_id from models where tenant_id = $1 and alias = $10))
        and ($11::text is null or b.backend_id = (select backend_id from backends where tenant_id = $1 and name = $11))
        and ($12::text is null or b.root_id = (select root_id from roots where tenant_id = $1 and uri = $12))
        and ($13::uuid is null or b.envelope_id = $13)
        and ($14::text is null or b.kind = $14)
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9
),
page as (
    select p.*, -(p.charged + p.overrun) as rank,
        md5(concat_ws('|', user_id, server_id, host_id, model_id, backend_id, root_id, envelope_id, kind, bucket))::uuid as key
    from part p
),
cut as materialized (
    select * from page
    where $15::bigint is null or (bucket, rank, key) > ($15, $16, $17::uuid)
    order by bucket, rank, key
    limit $18
)
-- Only what is shown is given names.
select c.*, u.external_id as user_name, s.external_id as server_name, h.display_name as host_name,
    m.alias as model_name, k.name as backend_name, r.uri as root_name
from cut c
left join users u on u.tenant_id = $1 and u.user_id = c.user_id
left join servers s on s.tenant_id = $1 and s.server_id = c.server_id
left join hosts h on h.tenant_id = $1 and h.host_id = c.host_id
left join models m on m.tenant_id = $1 and m.model_id = c.model_id
left join backends k on k.tenant_id = $1 and k.backend_id = c.backend_id
left join roots r on r.tenant_id = $1 and r.root_id = c.root_id
order by c.bucket, c.rank, c.key
