-- What can be asked, and at what price. Prices and rates are versions: a call keeps
-- the ones it began with, and history is never priced again.
create table backends (
    tenant_id uuid not null references tenants,
    backend_id uuid not null,
    name text not null,
    kind text not null check (kind in ('scripted', 'openai')),
    base_url text not null,
    key_env text not null,
    unbilled_statuses int[] not null,
    stops_on_disconnect boolean not null,
    max_completion_tokens boolean not null,
    no_stream_options boolean not null,
    no_temperature boolean not null,
    idle_ms bigint not null check (idle_ms > 0),
    created_at timestamptz not null default now(),
    primary key (tenant_id, backend_id),
    unique (tenant_id, name)
);

create table models (
    tenant_id uuid not null references tenants,
    model_id uuid not null,
    alias text not null,
    backend_id uuid not null,
    vendor_model text not null,
    context_tokens bigint not null check (context_tokens > 0),
    max_output_tokens bigint not null check (max_output_tokens > 0),
    tools boolean not null,
    image_tokens_max bigint not null check (image_tokens_max >= 0),
    audio_tokens_max bigint not null check (audio_tokens_max >= 0),
    intelligence smallint not null check (intelligence between 0 and 100),
    speed smallint not null check (speed between 0 and 100),
    created_at timestamptz not null default now(),
    primary key (tenant_id, model_id),
    unique (tenant_id, alias),
    foreign key (tenant_id, backend_id) references backends
);

-- Pico-USD per token, the same number as micro-USD per million tokens; the request
-- fee is pico-USD per request. Zero is free, and has been said.
create table price_versions (
    tenant_id uuid not null references tenants,
    price_version_id uuid not null,
    model_id uuid not null,
    effective_at timestamptz not null default now(),
    input bigint not null check (input >= 0),
    cache_read bigint not null check (cache_read >= 0),
    cache_write bigint not null check (cache_write >= 0),
    output bigint not null check (output >= 0),
    reasoning bigint not null check (reasoning >= 0),
    request bigint not null check (request >= 0),
    primary key (tenant_id, price_version_id),
    foreign key (tenant_id, model_id) references models
);

create index price_versions_by_model on price_versions (tenant_id, model_id, effective_at desc);

-- How many nano-USD one unit of the tenant's currency buys.
create table fx_rates (
    tenant_id uuid not null references tenants,
    fx_rate_id uuid not null,
    usd_nanos_per_unit bigint not null check (usd_nanos_per_unit > 0),
    fixing_date date not null,
    effective_at timestamptz not null default now(),
    primary key (tenant_id, fx_rate_id)
);

create index fx_rates_newest on fx_rates (tenant_id, effective_at desc);
