-- A lane's whole batch in one statement, of this and the two parts that follow it:
-- limits move where their revision still matches and, for a new hold, their window
-- is open; resolved holds go and become entries; new holds come. If any count is
-- short, it divides by zero and nothing of it happened.
--
-- `tenant_id = any(array[x])` is `tenant_id = x` that no plan can merge by: what is
-- left is one way, from the arrays to the tables by primary key and in the order of
-- the arrays, which is that of locking. With `= x` a plan made while a table was
-- empty would start at the table and walk through all of it.
--
-- The tenants that the connection sees are set in the same breath. Each part has its
-- rows from `seen`, so that no policy is asked before; one that was would know too few
-- tenants, and the count would be short.
with
seen as materialized (
    select set_config('bursar.tenants', coalesce($50, current_setting('bursar.tenants', true)), false)
),
clock as materialized (
    select statement_timestamp() as at from seen
),
moves as materialized (
    select m.* from seen, unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bool[])
        as m (tenant_id, limit_id, revision, settled, overrun, held, holding)
),
moved as (
    update limits l
    set settled = l.settled + m.settled,
        overrun = l.overrun + m.overrun,
        held = l.held + m.held,
        revision = l.revision + 1,
        used_at = clock.at
    from moves m, clock
    where l.tenant_id = any(array[m.tenant_id]) and l.limit_id = m.limit_id and l.revision = m.revision
        and (not m.holding
            or (l.opens_at <= clock.at and l.closed_at is null and (l.closes_at is null or clock.at < l.closes_at)))
    returning 1
)
