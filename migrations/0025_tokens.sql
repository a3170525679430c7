-- Envelope tokens: keys that are an envelope. Whoever bears one may sample in it and do
-- nothing else. Only a digest is kept, as of any key, and the key itself names its tenant.
create table envelope_tokens (
    tenant_id uuid not null references tenants,
    token_id uuid not null,
    digest bytea not null check (length(digest) = 32),
    -- What its calls count against.
    envelope_id uuid not null,
    -- That one was opened for this token alone, inside the one that the host named, to
    -- bound its calls at once.
    is_own_envelope boolean not null,
    -- Another grant, of the same people or not, is another consent.
    grant_id uuid not null,
    -- Aliases that it may use of those that the grant allows; none: all of them.
    models text[] not null check (cardinality(models) <= 100),
    created_at timestamptz not null default now(),
    expires_at timestamptz not null check (expires_at > created_at),
    revoked_at timestamptz,
    primary key (tenant_id, token_id),
    unique (tenant_id, digest),
    foreign key (tenant_id, envelope_id) references envelopes,
    foreign key (tenant_id, grant_id) references grants
);

create index envelope_tokens_by_envelope on envelope_tokens (tenant_id, envelope_id);
create index envelope_tokens_by_end on envelope_tokens (tenant_id, expires_at);

alter table envelope_tokens enable row level security;
alter table envelope_tokens force row level security;
create policy own_tenant on envelope_tokens to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
grant select, insert, delete on envelope_tokens to bursar_app;
grant update (expires_at, revoked_at) on envelope_tokens to bursar_app;
