-- Budgets of host applications and project roots, calls at once, and the share of a
-- common budget that one server may have.

-- Where people work, as hosts say it. The text lives here alone, so that it can be
-- erased while the ledger, which knows only our own id, stays.
create table roots (
    tenant_id uuid not null references tenants,
    root_id uuid not null,
    uri text not null check (length(uri) between 1 and 2048),
    created_at timestamptz not null default now(),
    primary key (tenant_id, root_id),
    unique (tenant_id, uri)
);

alter table roots enable row level security;
alter table roots force row level security;
create policy own_tenant on roots to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert on roots to bursar_app;

alter table budgets
    add column host_id uuid,
    add column root_id uuid,
    add column concurrent_calls bigint check (concurrent_calls > 0),
    add column server_share_percent smallint check (server_share_percent between 1 and 99),
    add foreign key (tenant_id, host_id) references hosts,
    add foreign key (tenant_id, root_id) references roots,
    drop constraint budgets_check,
    add check (num_nonnulls(calls, money, tokens, concurrent_calls) > 0),
    -- A budget of one server has nobody to share it with.
    add check (server_share_percent is null or server_id is null);

alter table envelopes add column concurrent_calls bigint check (concurrent_calls > 0);

alter table grants
    add column default_concurrent_calls bigint check (default_concurrent_calls > 0),
    add column max_concurrent_calls bigint check (max_concurrent_calls > 0);

-- Of calls at once only what is held counts; nothing is ever charged.
--
-- A share is one server's part of a budget's window: a row of its own beside the
-- budget's, with the budget as its owner.
alter table limits
    add column is_share boolean not null default false,
    drop constraint limits_width_check,
    drop constraint limits_kind_check;
-- Roots and hosts stand between a server and the whole tenant.
update limits set width = 6 where width = 4;
alter table limits
    add check (width between 0 and 6),
    add check (kind in ('calls', 'money', 'tokens', 'concurrent_calls')),
    add check (kind <> 'concurrent_calls' or (settled = 0 and overrun = 0)),
    add check (not is_share or budget_id is not null);

alter table holds add column root_id uuid;
alter table entries add column root_id uuid;
