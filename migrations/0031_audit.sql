-- Who changed what, when, from where, and what it was before and after. The service may
-- add to it and read it, and nothing else. What is said of a row is the row, without its
-- secrets and without what people are called outside, so that both can still be erased.
create table audit_entries (
    tenant_id uuid not null references tenants,
    audit_id uuid not null,
    at timestamptz not null default now(),
    -- The key; of the platform where it made the tenant.
    credential_id uuid not null,
    -- The other end of the connection; none for work from inside.
    peer inet,
    method text not null,
    subject text not null,
    subject_id uuid not null,
    old jsonb,
    new jsonb,
    primary key (tenant_id, audit_id),
    check (old is not null or new is not null)
);

create index audit_entries_by_subject on audit_entries (tenant_id, subject_id, audit_id);

alter table audit_entries enable row level security;
alter table audit_entries force row level security;
create policy own_tenant on audit_entries to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert on audit_entries to bursar_app;
