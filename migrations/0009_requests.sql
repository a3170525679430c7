-- What came of the requests that bear an id of the host's, for a short while, so
-- that a repeated one is answered and not made again. Ids and bodies are digests,
-- replies are sealed with a key that the database does not have.
create table requests (
    tenant_id uuid not null references tenants,
    host_id uuid not null,
    request bytea not null check (length(request) = 32),
    body bytea not null check (length(body) = 32),
    -- Its holds and entries follow from this id.
    call_id uuid not null,
    -- None while the call runs, or if its process died.
    ended text check (ended in ('kept', 'unkept', 'lost')),
    reply bytea,
    claimed_at timestamptz not null default now(),
    -- When the call is over even if nobody said so.
    expires_at timestamptz not null,
    purge_at timestamptz not null,
    primary key (tenant_id, host_id, request),
    foreign key (tenant_id, host_id) references hosts,
    check ((ended is not distinct from 'kept') = (reply is not null))
);

-- Sealed bytes do not compress.
alter table requests alter column reply set storage external;

-- On the instant alone: led by the tenant it would displace the primary key in plans.
create index requests_by_purge on requests (purge_at);

alter table requests enable row level security;
alter table requests force row level security;
create policy own_tenant on requests to bursar_app
    using (tenant_id = any ((select bursar_tenants())::uuid[]))
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert, delete on requests to bursar_app;
grant update (body, call_id, ended, reply, claimed_at, expires_at, purge_at) on requests to bursar_app;

-- The purge sees what is due in any tenant and may do nothing with it but delete it.
create policy due on requests to bursar_duty using (purge_at <= now());
grant select (tenant_id, host_id, request, purge_at), delete on requests to bursar_duty;
