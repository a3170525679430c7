-- Consent that a server may sample in a user's name. No row, no sampling.
create table grants (
    tenant_id uuid not null references tenants,
    grant_id uuid not null,
    user_id uuid not null,
    server_id uuid not null,
    models text[] not null,
    default_calls bigint not null check (default_calls > 0),
    default_seconds bigint not null check (default_seconds > 0),
    default_money bigint not null check (default_money >= 0),
    default_tokens bigint check (default_tokens > 0),
    default_landing_reserve bigint check (default_landing_reserve >= 0),
    default_landing_tokens bigint check (default_landing_tokens > 0),
    max_calls bigint not null,
    max_seconds bigint not null,
    max_money bigint not null,
    max_tokens bigint,
    tools boolean not null,
    background boolean not null,
    reveal_model boolean not null,
    call_ms bigint not null check (call_ms > 0),
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    primary key (tenant_id, grant_id),
    foreign key (tenant_id, user_id) references users,
    foreign key (tenant_id, server_id) references servers,
    check ((default_landing_reserve is null) = (default_landing_tokens is null)),
    check (max_calls >= default_calls and max_seconds >= default_seconds and max_money >= default_money)
);

create unique index grants_in_force on grants (tenant_id, user_id, server_id) where revoked_at is null;
