-- The ledger: append-only. The entry that resolves a hold carries the hold's id and
-- instant as its own key, so that a second resolution is a duplicate key.
--
-- The accounts of an entry are columns, and that they balance is a check of the
-- table: what the user is charged and what is beyond every limit is what the
-- provider is owed and what the age of the exchange rate added.
create table entries (
    tenant_id uuid not null,
    entry_id uuid not null,
    incurred_at timestamptz not null,
    booked_at timestamptz not null,
    batch_no bigint not null,
    kind text not null check (kind in ('settle', 'void', 'expire', 'late_settle', 'correction')),
    hold_id uuid not null,
    corrects uuid,
    call_id uuid not null,
    attempt smallint not null,
    host_id uuid not null,
    user_id uuid not null,
    server_id uuid not null,
    envelope_id uuid not null,
    model_id uuid,
    backend_id uuid,
    price_version_id uuid,
    fx_rate_id uuid not null,
    usd_nanos_per_unit bigint not null,
    fx_buffer_bp int not null,
    limit_ids uuid[] not null,
    held_money bigint not null,
    held_tokens bigint not null,
    input bigint not null,
    cache_read bigint not null,
    cache_write bigint not null,
    output bigint not null,
    reasoning bigint not null,
    pico_usd numeric(38, 0) not null,
    calls bigint not null,
    tokens_charged bigint not null,
    tokens_overrun bigint not null,
    charged bigint not null,
    overrun bigint not null,
    provider_payable bigint not null,
    fx_buffer bigint not null,
    certainty text not null check (certainty in ('exact', 'estimated', 'disputed')),
    claim bigint[],
    cut text,
    by_host boolean not null,
    primary key (tenant_id, entry_id, incurred_at),
    check (charged + overrun = provider_payable + fx_buffer),
    check ((certainty = 'disputed') = (claim is not null))
) partition by range (incurred_at);

create index entries_by_batch on entries (tenant_id, batch_no);
create index entries_by_hold on entries (tenant_id, hold_id);

create table entries_default partition of entries default;

-- Each batch of a tenant takes the next number; seals and exports page by it.
create table batches (
    tenant_id uuid primary key,
    last_no bigint not null default 0
);

-- The double entry that finance reads: one row for each side, summing to zero.
create view postings with (security_invoker = true) as
select e.tenant_id, e.entry_id, e.incurred_at, e.booked_at, e.batch_no, side.account, side.amount
from entries e
cross join lateral (values
    ('user_wallet', -e.charged),
    ('tenant_overrun', -e.overrun),
    ('provider_payable', e.provider_payable),
    ('fx_buffer', e.fx_buffer)
) as side (account, amount)
where side.amount <> 0;

-- Makes the partition of a month, once. Runs with the owner's rights, since the
-- service's role cannot create tables; takes a date and nothing else.
create function bursar_ensure_month(month date) returns void
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    first date := date_trunc('month', month);
    name text := 'entries_' || to_char(month, 'YYYY_MM');
begin
    if to_regclass(name) is null then
        execute format('create table %I partition of entries for values from (%L) to (%L)',
            name, first::text || ' 00:00:00+00', (first + interval '1 month')::date::text || ' 00:00:00+00');
    end if;
exception
    -- Another replica made it meanwhile.
    when duplicate_table then null;
end
$$;

revoke execute on function bursar_ensure_month(date) from public;
select bursar_ensure_month((date_trunc('month', now()) + n * interval '1 month')::date)
from generate_series(0, 3) as n;
