-- Prices that are imported: a version is all that one import lists, and is in effect
-- from its approval, or from a later instant, until another is. A tenant's own book goes
-- before the platform's, row by row; the platform's is every tenant's to read.
create table price_books (
    tenant_id uuid not null references tenants,
    book_id uuid not null,
    format text not null check (format in ('genai-prices', 'models-dev', 'litellm', 'table')),
    -- Where the content came from, as the importer says.
    source text not null check (length(source) between 1 and 256),
    content_sha256 bytea not null check (length(content_sha256) = 32),
    -- The day that the source speaks of.
    source_date date not null,
    listings int not null check (listings > 0),
    refused int not null check (refused >= 0),
    passed_over int not null check (passed_over >= 0),
    -- From when on it is to count; none: from its approval.
    wanted_at timestamptz,
    created_at timestamptz not null default now(),
    created_by uuid not null,
    effective_at timestamptz,
    approved_at timestamptz,
    approved_by uuid,
    reverted_at timestamptz,
    reverted_by uuid,
    primary key (tenant_id, book_id),
    -- Nothing is priced anew that was priced before.
    check (effective_at >= approved_at),
    check ((approved_at is null) = (effective_at is null)),
    check ((approved_at is null) = (approved_by is null)),
    check ((reverted_at is null) = (reverted_by is null))
);

create index price_books_in_effect on price_books (tenant_id, effective_at desc, book_id desc)
    where approved_at is not null and reverted_at is null;

-- Pico-USD per token by class; `tiers` are nine numbers each: the longest prompt that
-- does not reach it, and the eight prices beyond.
create table book_prices (
    tenant_id uuid not null,
    price_version_id uuid not null,
    book_id uuid not null,
    provider text not null,
    model text not null,
    service_tier text not null,
    -- The first day, in UTC, on which it counts; the year 1: always.
    effective_from date not null,
    input bigint not null check (input >= 0),
    cache_read bigint not null check (cache_read >= 0),
    cache_write bigint not null check (cache_write >= 0),
    output bigint not null check (output >= 0),
    reasoning bigint not null check (reasoning >= 0),
    audio_input bigint not null check (audio_input >= 0),
    audio_output bigint not null check (audio_output >= 0),
    image bigint not null check (image >= 0),
    request bigint not null check (request >= 0),
    tiers bigint[] not null check (cardinality(tiers) % 9 = 0),
    is_rounded boolean not null,
    primary key (tenant_id, price_version_id),
    foreign key (tenant_id, book_id) references price_books
);

create unique index book_prices_by_model on book_prices
    (tenant_id, book_id, provider, model, service_tier, effective_from desc);

-- A model's own prices by all classes. Null: sound and pictures as input, sound of an
-- answer as output.
alter table price_versions
    add column audio_input bigint check (audio_input >= 0),
    add column audio_output bigint check (audio_output >= 0),
    add column image bigint check (image >= 0),
    add column tiers bigint[] not null default '{}' check (cardinality(tiers) % 9 = 0);

-- Which row of the book prices a model; null: it has prices of its own.
alter table models
    add column book_provider text,
    add column book_model text,
    add column book_tier text,
    add check ((book_model is null) = (book_provider is null)),
    add check ((book_model is null) = (book_tier is null));

do $$
declare
    name text;
begin
    foreach name in array array['price_books', 'book_prices'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format(
            'create policy own_tenant on %I to bursar_app
             using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
             with check (tenant_id = any ((select bursar_tenants())::uuid[]))', name);
        -- The platform's own: whoever is somebody may read it, and nobody else write.
        execute format(
            'create policy of_the_platform on %I for select to bursar_app
             using ((tenant_id = ''00706c61-7466-8000-8000-627572736172''
                 and (select bursar_tenants()) is not null) is true)', name);
    end loop;
end
$$;

grant select, insert on price_books, book_prices to bursar_app;
grant update (effective_at, approved_at, approved_by, reverted_at, reverted_by)
    on price_books to bursar_app;
grant update (book_provider, book_model, book_tier) on models to bursar_app;
