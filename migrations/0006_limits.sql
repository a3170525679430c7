-- The counters. One row is one bounded number in one window; a call touches a
-- handful, and the budget engine alone writes them.
--
-- What an envelope is charged stays within it by a check of the table too, so that
-- even a wrong program could not charge a user more than was granted. A budget's
-- amount may be lowered below what is already spent, so it has no such check.
create table limits (
    tenant_id uuid not null,
    limit_id uuid not null,
    width smallint not null check (width between 0 and 4),
    envelope_id uuid,
    budget_id uuid,
    kind text not null check (kind in ('calls', 'money', 'tokens')),
    amount bigint not null check (amount >= 0),
    settled bigint not null default 0 check (settled >= 0),
    overrun bigint not null default 0 check (overrun >= 0),
    held bigint not null default 0 check (held >= 0),
    enforcing boolean not null,
    opens_at timestamptz not null,
    closes_at timestamptz,
    closed_at timestamptz,
    used_at timestamptz not null default now(),
    revision bigint not null default 0,
    primary key (tenant_id, limit_id),
    check ((envelope_id is null) <> (budget_id is null)),
    check (envelope_id is null or settled <= amount)
) with (fillfactor = 50);

create index limits_of_envelope on limits (tenant_id, envelope_id) where envelope_id is not null;
create index limits_of_budget on limits (tenant_id, budget_id, opens_at) where budget_id is not null;

-- Reservations that are not resolved yet. Resolving one deletes it and writes the
-- entry of the same id, in one statement.
create table holds (
    tenant_id uuid not null,
    hold_id uuid not null,
    call_id uuid not null,
    attempt smallint not null check (attempt > 0),
    host_id uuid not null,
    user_id uuid not null,
    server_id uuid not null,
    envelope_id uuid not null,
    model_id uuid,
    backend_id uuid,
    price_version_id uuid,
    fx_rate_id uuid not null,
    usd_nanos_per_unit bigint not null,
    fx_buffer_bp int not null,
    calls bigint not null check (calls >= 0),
    money bigint not null check (money >= 0),
    tokens bigint not null check (tokens >= 0),
    limit_ids uuid[] not null,
    by_host boolean not null,
    incurred_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (tenant_id, hold_id)
);

-- On the expiry alone: led by the tenant it would displace the primary key in plans.
create index holds_by_expiry on holds (expires_at);
