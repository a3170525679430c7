-- Who allows what: envelopes of sub-agents and budgets of operators. Their counters
-- are rows of `limits`; nothing here changes with a call.
create table envelopes (
    tenant_id uuid not null references tenants,
    envelope_id uuid not null,
    host_id uuid not null,
    user_id uuid not null,
    server_id uuid not null,
    grant_id uuid not null,
    calls bigint not null check (calls > 0),
    seconds bigint not null check (seconds > 0),
    money bigint not null check (money >= 0),
    tokens bigint check (tokens > 0),
    landing_reserve bigint check (landing_reserve >= 0),
    landing_tokens bigint check (landing_tokens >= 0),
    opened_at timestamptz not null,
    closes_at timestamptz not null check (closes_at > opened_at),
    closed_at timestamptz,
    primary key (tenant_id, envelope_id),
    check ((landing_reserve is null) = (landing_tokens is null)),
    foreign key (tenant_id, host_id) references hosts,
    foreign key (tenant_id, grant_id) references grants
);

-- The envelope that a call gets which names none. `scope` is a digest of the
-- conversation and the originating call, so that a lookup is short and says nothing.
create table envelope_scopes (
    tenant_id uuid not null references tenants,
    host_id uuid not null,
    user_id uuid not null,
    server_id uuid not null,
    scope bytea not null check (length(scope) = 32),
    envelope_id uuid not null,
    primary key (tenant_id, host_id, user_id, server_id, scope),
    foreign key (tenant_id, envelope_id) references envelopes
);

create table budgets (
    tenant_id uuid not null references tenants,
    budget_id uuid not null,
    display_name text not null,
    user_id uuid,
    server_id uuid,
    period text not null check (period in ('day', 'week', 'month', 'quarter', 'year', 'lifetime')),
    time_zone text not null,
    calls bigint check (calls >= 0),
    money bigint check (money >= 0),
    tokens bigint check (tokens >= 0),
    enforcing boolean not null,
    created_at timestamptz not null default now(),
    deleted_at timestamptz,
    primary key (tenant_id, budget_id),
    foreign key (tenant_id, user_id) references users,
    foreign key (tenant_id, server_id) references servers,
    check (calls is not null or money is not null or tokens is not null)
);

create index budgets_in_force on budgets (tenant_id) where deleted_at is null;
