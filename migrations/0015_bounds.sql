-- What was held for prompts against what backends counted of them, a row a model: a
-- count above the bound is either a lie or a bound that fails.
create table model_bounds (
    tenant_id uuid not null,
    model_id uuid not null,
    calls bigint not null check (calls >= 0),
    held_tokens bigint not null check (held_tokens >= 0),
    actual_tokens bigint not null check (actual_tokens >= 0),
    -- The most counted of a thousand held: above a thousand is a failure.
    worst_permille bigint not null check (worst_permille >= 0),
    failures bigint not null check (failures >= 0),
    last_failure_at timestamptz,
    -- Since when only bytes and declared maxima are relied on, and since when nothing is.
    coarse_at timestamptz,
    suspended_at timestamptz,
    primary key (tenant_id, model_id),
    foreign key (tenant_id, model_id) references models
);

alter table models
    add column tokenizer text not null default 'auto'
        check (tokenizer in ('auto', 'bytes', 'o200k_base', 'cl100k_base'));

alter table model_bounds enable row level security;
alter table model_bounds force row level security;
create policy own_tenant on model_bounds to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert, update on model_bounds to bursar_app;
grant update (tokenizer) on models to bursar_app;
