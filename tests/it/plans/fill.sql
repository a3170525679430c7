-- Twenty thousand of everything, of other people in the tenant of the calls. Rows are made
-- like one that is there, so that new columns need nothing here.
insert into users (tenant_id, user_id, external_id)
select tenant_id, gen_random_uuid(), 'user ' || n from tenants, generate_series(1, 20000) as n;

insert into servers (tenant_id, server_id, external_id)
select tenant_id, gen_random_uuid(), 'server ' || n from tenants, generate_series(1, 20000) as n;

insert into roots (tenant_id, root_id, uri)
select tenant_id, gen_random_uuid(), 'file:///root/' || n from tenants, generate_series(1, 20000) as n;

insert into credentials
select made.*
from (select t as one from credentials as t limit 1) as like_this
cross join generate_series(1, 20000) as n
cross join lateral jsonb_populate_record(one, jsonb_build_object('credential_id', gen_random_uuid(),
    'digest', '\x' || encode(sha256(n::text::bytea), 'hex'))) as made;

insert into grants
select made.*
from (select t as one from grants as t limit 1) as like_this
cross join users u
cross join lateral jsonb_populate_record(one, jsonb_build_object('grant_id', gen_random_uuid(), 'user_id', u.user_id)) as made
where u.external_id like 'user %';

insert into envelopes (tenant_id, envelope_id, host_id, user_id, server_id, grant_id, calls, seconds,
    money, opened_at, closes_at)
select g.tenant_id, gen_random_uuid(), h.host_id, g.user_id, g.server_id, g.grant_id, 10, 3600,
    1000000, now(), now() + interval '1 hour'
from grants g join hosts h using (tenant_id);

insert into envelope_scopes (tenant_id, host_id, user_id, server_id, scope, envelope_id)
select tenant_id, host_id, user_id, server_id, sha256(envelope_id::text::bytea), envelope_id from envelopes;

insert into limits
select made.*
from (select t as one from limits as t where envelope_id is not null limit 1) as like_this
cross join envelopes e
cross join lateral jsonb_populate_record(one, jsonb_build_object('limit_id', gen_random_uuid(),
    'envelope_id', e.envelope_id, 'settled', 0, 'held', 0)) as made;

insert into budgets
select made.*
from (select t as one from budgets as t limit 1) as like_this
cross join users u
cross join lateral jsonb_populate_record(one, jsonb_build_object('budget_id', gen_random_uuid(), 'user_id', u.user_id)) as made
where u.external_id like 'user %';

insert into limits
select made.*
from (select t as one from limits as t where budget_id is not null limit 1) as like_this
cross join budgets b
cross join lateral jsonb_populate_record(one, jsonb_build_object('limit_id', gen_random_uuid(),
    'budget_id', b.budget_id, 'settled', 0, 'held', 0)) as made;

insert into holds (tenant_id, hold_id, call_id, attempt, host_id, user_id, server_id, envelope_id,
    fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, calls, money, tokens, limit_ids, by_host, incurred_at, expires_at)
select tenant_id, gen_random_uuid(), gen_random_uuid(), 1, host_id, user_id, server_id, envelope_id,
    gen_random_uuid(), 1000000000, 0, 1, 1, 1, '{}', false, now(), now() + interval '30 days'
from envelopes;

insert into entries
select made.*
from (select t as one from entries as t limit 1) as like_this
-- In each month that has a partition, and before them.
cross join (select gen_random_uuid() as id, now() + (n % 5 - 1) * interval '1 month' as at
    from generate_series(1, 20000) as n) as i
cross join lateral jsonb_populate_record(one, jsonb_build_object('entry_id', i.id, 'hold_id', i.id,
    'call_id', i.id, 'incurred_at', i.at)) as made;

insert into requests (tenant_id, host_id, request, body, call_id, expires_at, purge_at)
select tenant_id, host_id, sha256(n::text::bytea), sha256(n::text::bytea), gen_random_uuid(),
    now() + interval '1 day', now() + interval '2 days'
from hosts, generate_series(1, 20000) as n;

insert into hosts (tenant_id, host_id, display_name)
select tenant_id, gen_random_uuid(), 'host ' || n from tenants, generate_series(1, 2000) as n;

-- Some in force and some lifted, all of other people.
insert into stops (tenant_id, stop_id, user_id, reason, stopped_by, lifted_by, lifted_at)
select u.tenant_id, gen_random_uuid(), u.user_id, '', c.credential_id,
    case n when 1 then c.credential_id end, case n when 1 then now() end
from users u
join (select tenant_id, min(credential_id::text)::uuid as credential_id from credentials group by 1) c using (tenant_id)
cross join generate_series(0, 1) as n
where u.external_id like 'user %';

insert into envelope_tokens (tenant_id, token_id, digest, envelope_id, is_own_envelope, grant_id, models,
    created_at, expires_at)
select tenant_id, gen_random_uuid(), sha256(envelope_id::text::bytea), envelope_id, false, grant_id, '{}',
    now(), now() + interval '1 hour'
from envelopes;
