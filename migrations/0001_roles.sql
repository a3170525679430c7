-- Three roles, so that no process can do more than its work needs:
-- the service reads and writes its tenants' rows, the duties find what expired in
-- any tenant, and only the owner changes the schema. A login role is granted one
-- of the first two; neither owns a table, neither passes row-level security.
do $$
declare
    name text;
begin
    foreach name in array array['bursar_app', 'bursar_duty'] loop
        begin
            if not exists (select from pg_roles where rolname = name) then
                execute format('create role %I nologin noinherit nobypassrls', name);
            end if;
        exception
            -- Roles belong to the cluster: a migration of another database was first.
            when duplicate_object or unique_violation then null;
        end;
    end loop;
end
$$;

do $$
begin
    execute format('grant bursar_app, bursar_duty to %I', current_user);
end
$$;

-- The tenants a connection may see: set by whoever opened it, empty by default, and
-- then every policy below shows nothing. A list, since one lane serves several.
create function bursar_tenants() returns uuid[]
    language sql stable parallel safe
    return string_to_array(nullif(current_setting('bursar.tenants', true), ''), ',')::uuid[];
