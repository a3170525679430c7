-- What finance asks for by the month is kept as sums by the day, so that a report reads
-- thousands of rows in place of millions of entries. A duty adds batches in the order
-- of their numbers; as a number is taken under a lock that lasts until its batch is
-- committed, all entries up to the last number are there.

-- Sums of entries by the UTC day of their booking. The id of all zeros stands for none,
-- as a key has no nulls. Tokens of a later truth count by the difference that it makes.
--
-- `priced` tells that tokens times the version's prices are the cost, to the pico-USD.
-- `corrected_month` is the month of the entry that a later one corrects.
create table rollups (
    tenant_id uuid not null,
    day date not null,
    user_id uuid not null,
    server_id uuid not null,
    host_id uuid not null,
    model_id uuid not null,
    backend_id uuid not null,
    root_id uuid not null,
    price_version_id uuid not null,
    fx_rate_id uuid not null,
    usd_nanos_per_unit bigint not null,
    fx_buffer_bp int not null,
    kind text not null,
    priced boolean not null,
    corrected_month date not null,
    entries bigint not null,
    estimated bigint not null,
    calls bigint not null,
    input bigint not null,
    cache_read bigint not null,
    cache_write bigint not null,
    output bigint not null,
    reasoning bigint not null,
    charged bigint not null,
    overrun bigint not null,
    provider_payable bigint not null,
    fx_buffer bigint not null,
    pico_usd numeric(38, 0) not null,
    primary key (tenant_id, day, user_id, server_id, host_id, model_id, backend_id, root_id,
        price_version_id, fx_rate_id, usd_nanos_per_unit, fx_buffer_bp, kind, priced, corrected_month),
    check (charged + overrun = provider_payable + fx_buffer)
);

-- Which batches an hour of booking has, so that its entries are found by their numbers.
create table booked_hours (
    tenant_id uuid not null,
    hour timestamptz not null,
    first_batch bigint not null,
    last_batch bigint not null,
    entries bigint not null,
    primary key (tenant_id, hour)
);

-- How far the duty has come. Whoever has the row's lock does the work: a lease that ends
-- with its transaction.
create table ledger_progress (
    tenant_id uuid primary key references tenants,
    rolled_to bigint not null default 0
);

do $$
declare
    name text;
begin
    foreach name in array array['rollups', 'booked_hours', 'ledger_progress'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format(
            'create policy own_tenant on %I to bursar_app
             using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
             with check (tenant_id = any ((select bursar_tenants())::uuid[]))', name);
    end loop;
end
$$;

grant select, insert, update on rollups, booked_hours to bursar_app;
grant select, insert, update (rolled_to) on ledger_progress to bursar_app;

-- The duty learns whose ledger has grown, and nothing else of it.
create policy every_tenant on batches for select to bursar_duty using (true);
grant select (tenant_id, last_no) on batches to bursar_duty;
create policy every_tenant on ledger_progress for select to bursar_duty using (true);
grant select (tenant_id, rolled_to) on ledger_progress to bursar_duty;
