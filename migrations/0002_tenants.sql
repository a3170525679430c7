-- Who there is: organisations, their host applications, people, servers and keys.
-- The ids of people and servers that hosts assert live here alone, so that they can
-- be erased while the ledger, which knows only our own ids, stays.
create table tenants (
    tenant_id uuid primary key,
    display_name text not null,
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    created_at timestamptz not null default now()
);

create table hosts (
    tenant_id uuid not null references tenants,
    host_id uuid not null,
    display_name text not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, host_id),
    unique (tenant_id, display_name)
);

create table users (
    tenant_id uuid not null references tenants,
    user_id uuid not null,
    external_id text not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, user_id),
    unique (tenant_id, external_id)
);

create table servers (
    tenant_id uuid not null references tenants,
    server_id uuid not null,
    external_id text not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, server_id),
    unique (tenant_id, external_id)
);

-- Only a digest is kept of a key. The key itself names its tenant, so that the
-- tenant is set before the key is looked up.
create table credentials (
    tenant_id uuid not null references tenants,
    credential_id uuid not null,
    digest bytea not null check (length(digest) = 32),
    display_name text not null,
    role text not null check (role in ('platform', 'host', 'operator', 'finance')),
    host_id uuid,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    primary key (tenant_id, credential_id),
    unique (tenant_id, digest),
    foreign key (tenant_id, host_id) references hosts,
    check ((role = 'host') = (host_id is not null))
);
