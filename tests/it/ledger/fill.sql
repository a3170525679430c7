-- Three months of a used ledger: $2 batches of one to three entries each, a few users,
-- servers, models and roots, prices with and without a fee, some of them voids,
-- estimates and truths that came later.
with made_users as (
    insert into users (tenant_id, user_id, external_id)
    select $1, md5($1::text || 'user ' || n)::uuid, 'user-' || n from generate_series(0, 6) as n
    returning user_id
),
made_servers as (
    insert into servers (tenant_id, server_id, external_id)
    select $1, md5($1::text || 'server ' || n)::uuid, 'server-' || n from generate_series(0, 3) as n
    returning server_id
),
made_roots as (
    insert into roots (tenant_id, root_id, uri)
    select $1, md5($1::text || 'root ' || n)::uuid, 'file:///root-' || n from generate_series(0, 1) as n
    returning root_id
),
priced as (
    select p.*, m.backend_id, row_number() over (order by p.price_version_id) - 1 as nth, count(*) over () as of
    from price_versions p join models m using (tenant_id, model_id) where p.tenant_id = $1
),
lots as (
    select b as batch_no, i,
        ('x' || substr(md5(b || ' ' || i), 1, 6))::bit(24)::int as r,
        ('x' || substr(md5(b || ' ' || i), 7, 6))::bit(24)::int as q,
        '2026-09-01Z'::timestamptz + b * (interval '90 days' / $2) as booked_at
    from generate_series(1, $2::int) as b, generate_series(0, 2) as i
    where i <= b % 3
),
tokens as (
    select l.*, p.price_version_id, p.model_id, p.backend_id, p.input as p_in, p.output as p_out, p.request,
        r % 900 as input, q % 700 as output,
        case when r % 11 = 0 then 'void' when r % 13 = 0 then 'expire' else 'settle' end as kind
    from lots l join priced p on p.nth = l.r % p.of
),
money as (
    select *, case kind when 'void' then 0::numeric when 'expire' then 777000000
        else request + p_in::numeric * input + p_out::numeric * output end as pico
    from tokens
),
cost as (
    select *, round(pico * 1000000 / 1100000000)::bigint as nanos from money
)
insert into entries (tenant_id, entry_id, incurred_at, booked_at, batch_no, kind, hold_id,
    call_id, attempt, host_id, user_id, server_id, envelope_id, model_id, backend_id,
    price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, limit_ids, held_money, held_tokens,
    input, cache_read, cache_write, output, reasoning, pico_usd, calls, tokens_charged, tokens_overrun,
    charged, overrun, provider_payable, fx_buffer, certainty, claim, cut, by_host, root_id)
select $1, id, booked_at, booked_at + interval '3 seconds', batch_no, kind, id,
    id, 1, (select host_id from hosts where tenant_id = $1 limit 1),
    md5($1::text || 'user ' || r % 7)::uuid, md5($1::text || 'server ' || q % 4)::uuid,
    md5('envelope ' || batch_no / 7)::uuid, model_id, backend_id, price_version_id,
    (select fx_rate_id from fx_rates where tenant_id = $1 limit 1), 1100000000, 0, '{}', nanos + 5, 2000,
    case kind when 'settle' then input else 0 end, 0, 0, case kind when 'settle' then output else 0 end, 0,
    pico, case kind when 'void' then 0 else 1 end, 0, 0,
    nanos - nanos * (r % 17 / 16), nanos * (r % 17 / 16), nanos, 0,
    case kind when 'expire' then 'estimated' else 'exact' end, null, null, false,
    case when q % 3 = 2 then null else md5($1::text || 'root ' || q % 3)::uuid end
from cost
cross join lateral (select (lpad(to_hex((extract(epoch from booked_at) * 1000)::bigint), 12, '0')
    || '7000' || '8' || lpad(to_hex(batch_no * 4 + i), 15, '0'))::uuid as id) as ids
