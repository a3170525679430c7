-- Raises in an emergency, each with an end: a budget allows so much more until then.
create table budget_raises (
    tenant_id uuid not null,
    raise_id uuid not null,
    budget_id uuid not null,
    calls bigint check (calls > 0),
    money bigint check (money > 0),
    tokens bigint check (tokens > 0),
    reason text not null check (length(reason) <= 256),
    raised_by uuid not null,
    raised_at timestamptz not null default now(),
    ends_at timestamptz not null check (ends_at > raised_at),
    -- When it was taken back; none: it is in force.
    ended_at timestamptz,
    primary key (tenant_id, raise_id),
    foreign key (tenant_id, budget_id) references budgets,
    foreign key (tenant_id, raised_by) references credentials,
    check (num_nonnulls(calls, money, tokens) > 0)
);

create index budget_raises_in_force on budget_raises (tenant_id, budget_id) where ended_at is null;
-- On the instant alone: led by the tenant it would displace the primary key in plans.
create index budget_raises_by_end on budget_raises (ends_at) where ended_at is null;

alter table budget_raises enable row level security;
alter table budget_raises force row level security;
create policy own_tenant on budget_raises to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert on budget_raises to bursar_app;
grant update (ended_at) on budget_raises to bursar_app;

-- What is over is found in any tenant, to be taken back.
create policy every_tenant on budget_raises for select to bursar_duty using (true);
grant select (tenant_id, budget_id, ends_at, ended_at) on budget_raises to bursar_duty;

-- What the raises in force come to, so that a window is made of the budget alone.
alter table budgets
    add column raised_calls bigint not null default 0 check (raised_calls >= 0),
    add column raised_money bigint not null default 0 check (raised_money >= 0),
    add column raised_tokens bigint not null default 0 check (raised_tokens >= 0);
grant update (raised_calls, raised_money, raised_tokens) on budgets to bursar_app;
