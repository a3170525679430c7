-- Writes down, within each transaction, every hold that was ever taken and every limit
-- that was ever passed: what is committed is written down, and nothing else is.
create table witness_holds (tenant_id uuid not null, hold_id uuid not null);
create index on witness_holds (hold_id);
create table witness_breaches (what text not null);
create function witness_hold() returns trigger language plpgsql security definer
    set search_path = public, pg_catalog as $$
begin
    insert into witness_holds values (new.tenant_id, new.hold_id);
    return null;
end $$;
create trigger witness_hold after insert on holds for each row execute function witness_hold();
create function witness_limit() returns trigger language plpgsql security definer
    set search_path = public, pg_catalog as $$
begin
    insert into witness_breaches
    values (format('%s: settled %s and held %s of %s', new.kind, new.settled, new.held, new.amount));
    return null;
end $$;
create trigger witness_limit after update on limits for each row
    when (new.enforcing and new.settled + new.held > new.amount) execute function witness_limit();
