-- Tenants cannot see each other, whatever a query forgets: every table with a
-- tenant shows the rows of the connection's tenants alone, and none by default.
--
-- `is true` keeps the policy a filter. As a condition it would be one for indexes
-- too, and a generic plan would walk through all rows of a tenant in place of the
-- few that a query names.
do $$
declare
    name text;
begin
    foreach name in array array[
        'tenants', 'hosts', 'users', 'servers', 'credentials',
        'backends', 'models', 'price_versions', 'fx_rates',
        'grants', 'envelopes', 'envelope_scopes', 'budgets',
        'limits', 'holds', 'entries', 'batches'
    ] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format(
            'create policy own_tenant on %I to bursar_app
             using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
             with check (tenant_id = any ((select bursar_tenants())::uuid[]))', name);
    end loop;
end
$$;

grant usage on schema public to bursar_app, bursar_duty;
grant execute on function bursar_tenants() to bursar_app, bursar_duty;

grant select, insert on tenants, hosts, users, servers, credentials,
    backends, models, price_versions, fx_rates, grants,
    envelopes, envelope_scopes, budgets, limits, holds, entries, batches to bursar_app;
grant select on postings to bursar_app;
grant update (revoked_at) on credentials, grants to bursar_app;
grant update (base_url, key_env) on backends to bursar_app;
grant update (closed_at) on envelopes to bursar_app;
grant update (envelope_id) on envelope_scopes to bursar_app;
grant update (deleted_at) on budgets to bursar_app;
grant update (settled, overrun, held, revision, used_at, closed_at) on limits to bursar_app;
grant update (last_no) on batches to bursar_app;
grant delete on holds to bursar_app;

-- The reaper finds what expired in any tenant, and learns nothing else of it.
create policy every_tenant on holds for select to bursar_duty using (true);
grant select (tenant_id, hold_id, expires_at) on holds to bursar_duty;
grant execute on function bursar_ensure_month(date) to bursar_duty;

-- Duties and verification go tenant by tenant, so they may learn which there are.
create policy every_tenant on tenants for select to bursar_duty using (true);
grant select (tenant_id) on tenants to bursar_duty;

-- `bursar doctor` says whether the schema is up to date, as the service.
grant select on _sqlx_migrations to bursar_app, bursar_duty;
