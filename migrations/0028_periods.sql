-- Months that finance has closed. What is booked bears Postgres' own time, so nothing
-- comes into a month that is over; a row here says what the month came to, and the
-- service may neither change nor delete it: a closed month stays closed. The proof of the
-- ledger compares it with the entries.
create table periods (
    tenant_id uuid not null references tenants,
    month date not null check (month = date_trunc('month', month)::date),
    closed_at timestamptz not null default now(),
    last_batch bigint not null,
    head bytea not null check (length(head) = 32),
    entries bigint not null,
    charged numeric(38, 0) not null,
    overrun numeric(38, 0) not null,
    provider_payable numeric(38, 0) not null,
    fx_buffer numeric(38, 0) not null,
    primary key (tenant_id, month),
    check (charged + overrun = provider_payable + fx_buffer)
);

alter table periods enable row level security;
alter table periods force row level security;
create policy own_tenant on periods to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert on periods to bursar_app;
