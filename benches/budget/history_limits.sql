-- The limits of the envelopes $2 to $3 of a month, all closed by now.
insert into limits (tenant_id, limit_id, width, envelope_id, kind, amount, settled, enforcing, opens_at, closes_at)
select ('00000000-0000-4000-8000-' || lpad(to_hex(case when n % 2 = 0 then 1 else 1 + n * 7919 % 1000 end), 12, '0'))::uuid,
    md5(kind || ' ' || n)::uuid, 0, md5('envelope ' || n)::uuid, kind, 1000000000,
    20 * case kind when 'calls' then 1 when 'money' then 1500000 else 150 end, true,
    $1::text::timestamptz, $1::text::timestamptz + interval '30 days'
from generate_series($2::bigint, $3::bigint) as n, unnest(array['calls', 'money', 'tokens']) as kind
