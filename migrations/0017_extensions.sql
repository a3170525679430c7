-- More for an envelope that has run out, where its grant lets a person give it.

-- What one extension adds at most, and how many answers there may be for one envelope,
-- refusals included.
alter table grants
    add column extend_calls bigint check (extend_calls >= 0),
    add column extend_seconds bigint check (extend_seconds >= 0),
    add column extend_money bigint check (extend_money >= 0),
    add column extend_times bigint check (extend_times between 1 and 100),
    add check (num_nulls(extend_calls, extend_seconds, extend_money, extend_times) in (0, 4)),
    add check (extend_times is null or greatest(extend_calls, extend_seconds, extend_money) > 0);

-- The answers so far, and what they added to what the envelope was opened with.
alter table envelopes
    add column extended_times bigint not null default 0 check (extended_times >= 0),
    add column extended_calls bigint not null default 0 check (extended_calls >= 0),
    add column extended_seconds bigint not null default 0 check (extended_seconds >= 0),
    add column extended_money bigint not null default 0 check (extended_money >= 0),
    add column extended_at timestamptz;

-- Each row is a token that was used: what a person said, and what was given for it. Nobody
-- changes or deletes one: the key is what makes a token good once, on whichever replica.
create table extensions (
    tenant_id uuid not null references tenants,
    extension_id uuid not null,
    envelope_id uuid not null,
    grant_id uuid not null,
    host_id uuid not null,
    credential_id uuid not null,
    user_id uuid not null,
    server_id uuid not null,
    -- The call that went on with it.
    call_id uuid not null,
    asked_calls bigint not null,
    asked_seconds bigint not null,
    asked_money bigint not null,
    calls bigint not null check (calls between 0 and asked_calls),
    seconds bigint not null check (seconds between 0 and asked_seconds),
    money bigint not null check (money between 0 and asked_money),
    -- How long the envelope's time stood still meanwhile.
    waited_seconds bigint not null check (waited_seconds >= 0),
    -- What the person said, and whose word it is that they did.
    accepted boolean not null,
    asserted_by text not null check (asserted_by in ('host')),
    asked_at timestamptz not null,
    given_at timestamptz not null,
    primary key (tenant_id, extension_id),
    foreign key (tenant_id, envelope_id) references envelopes,
    foreign key (tenant_id, grant_id) references grants,
    foreign key (tenant_id, host_id) references hosts,
    check (accepted or greatest(calls, seconds, money) = 0)
);

create index extensions_of_envelope on extensions (tenant_id, envelope_id, given_at);

alter table extensions enable row level security;
alter table extensions force row level security;
create policy own_tenant on extensions to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert on extensions to bursar_app;
grant update (closes_at, extended_times, extended_calls, extended_seconds, extended_money, extended_at)
    on envelopes to bursar_app;
grant update (amount, closes_at) on limits to bursar_app;
