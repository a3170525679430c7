-- Kill switches: while one is in force, nothing is held for those whom it stops, on any
-- replica, since the statement that takes a hold looks here. A row is never deleted: it
-- says who stopped whom, why, and who lifted it.
create table stops (
    tenant_id uuid not null references tenants,
    stop_id uuid not null,
    -- Whom it stops; without a user every one, without a server every one, without
    -- either the whole tenant.
    user_id uuid,
    server_id uuid,
    reason text not null check (length(reason) <= 256),
    stopped_by uuid not null,
    stopped_at timestamptz not null default now(),
    lifted_by uuid,
    lifted_at timestamptz,
    -- Zero stands for every one, so that a call finds its stops by whole keys.
    user_key uuid not null
        generated always as (coalesce(user_id, '00000000-0000-0000-0000-000000000000')) stored,
    server_key uuid not null
        generated always as (coalesce(server_id, '00000000-0000-0000-0000-000000000000')) stored,
    primary key (tenant_id, user_key, server_key, stop_id),
    foreign key (tenant_id, user_id) references users,
    foreign key (tenant_id, server_id) references servers,
    foreign key (tenant_id, stopped_by) references credentials,
    foreign key (tenant_id, lifted_by) references credentials,
    check ((lifted_at is null) = (lifted_by is null))
);

-- One at a time is enough, and what was lifted is not in the way of calls.
create unique index stops_in_force on stops (tenant_id, user_key, server_key)
    where lifted_at is null;

alter table stops enable row level security;
alter table stops force row level security;
create policy own_tenant on stops to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert on stops to bursar_app;
grant update (lifted_by, lifted_at) on stops to bursar_app;

-- Running calls of any tenant are looked up by their parties, to be cut.
create policy every_tenant on stops for select to bursar_duty using (true);
grant select (tenant_id, user_key, server_key, lifted_at) on stops to bursar_duty;
