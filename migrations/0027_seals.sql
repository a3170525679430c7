-- Each batch of a tenant's ledger is chained to the one before: the head after a batch
-- is the SHA-256 of the head before and of the digest of its entries. A duty seals what
-- was booked, in the order of the batches' numbers; a seal is never changed. Who can
-- write everything could still make the chain anew, and so its head stands in the log
-- and in every export, too.
--
-- `digests` has 32 bytes a batch and `counts` its entries, so that what was changed is
-- named by its batch.
create table seals (
    tenant_id uuid not null references tenants,
    first_batch bigint not null check (first_batch > 0),
    last_batch bigint not null check (last_batch >= first_batch),
    previous bytea not null check (length(previous) = 32),
    digests bytea not null check (length(digests) = 32 * (last_batch - first_batch + 1)),
    counts int[] not null check (cardinality(counts) = last_batch - first_batch + 1),
    head bytea not null check (length(head) = 32),
    sealed_at timestamptz not null default now(),
    primary key (tenant_id, first_batch)
);

alter table seals enable row level security;
alter table seals force row level security;
create policy own_tenant on seals to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert on seals to bursar_app;

alter table ledger_progress
    add column sealed_to bigint not null default 0,
    add column sealed_at timestamptz not null default '2000-01-01 00:00:00Z';
grant update (sealed_to, sealed_at) on ledger_progress to bursar_app;
grant select (sealed_to, sealed_at) on ledger_progress to bursar_duty;
