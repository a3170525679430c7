    from base b
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
),
-- In the same breath, so that both are of one instant and the base is read once.
total as (
    select coalesce(sum(entries), 0)::bigint as t_entries, coalesce(sum(estimated), 0)::bigint as t_estimated,
        coalesce(sum(calls), 0)::bigint as t_calls, coalesce(sum(input), 0)::bigint as t_input,
        coalesce(sum(cache_read), 0)::bigint as t_cache_read, coalesce(sum(cache_write), 0)::bigint as t_cache_write,
        coalesce(sum(output), 0)::bigint as t_output, coalesce(sum(reasoning), 0)::bigint as t_reasoning,
        coalesce(sum(charged), 0)::bigint as t_charged, coalesce(sum(overrun), 0)::bigint as t_overrun,
        coalesce(sum(pico_usd), 0)::text as t_pico_usd, coalesce(sum(before), 0)::bigint as t_before
    from part
)
-- The total even where there is no row; and only what is shown is given names.
select t.*, c.*, c.pico_usd::text as pico_usd_text, u.external_id as user_name, s.external_id as server_name,
    h.display_name as host_name, m.alias as model_name, k.name as backend_name, r.uri as root_name
from total t
left join cut c on true
left join users u on u.tenant_id = $1 and u.user_id = c.user_id
left join servers s on s.tenant_id = $1 and s.server_id = c.server_id
left join hosts h on h.tenant_id = $1 and h.host_id = c.host_id
left join models m on m.tenant_id = $1 and m.model_id = c.model_id
left join backends k on k.tenant_id = $1 and k.backend_id = c.backend_id
left join roots r on r.tenant_id = $1 and r.root_id = c.root_id
order by c.bucket, c.rank, c.key
