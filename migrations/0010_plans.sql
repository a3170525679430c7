-- Budgets that count a call are found by whom they are of: the caller's own and those
-- of anybody. The id of all zeros is nobody's, so that both are one condition of the
-- index. Not `coalesce`: Postgres takes it for something that may leak, and then the
-- policy's filter would have to come first.
create index budgets_that_count on budgets (
    tenant_id,
    (case when user_id is null then '00000000-0000-0000-0000-000000000000' else user_id end),
    (case when server_id is null then '00000000-0000-0000-0000-000000000000' else server_id end)
) where deleted_at is null;
drop index budgets_in_force;

-- A filter, as on every other table, and never a condition for the index.
drop policy own_tenant on requests;
create policy own_tenant on requests to bursar_app
    using ((tenant_id = any ((select bursar_tenants())::uuid[])) is true)
    with check (tenant_id = any ((select bursar_tenants())::uuid[]));
