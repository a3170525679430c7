-- A budget's limits in windows that are open take what it allows now. They are locked in
-- the order in which every batch locks, so that nobody waits in a circle.
with mine as materialized (
    select l.limit_id, n.amount
    from limits l
    join unnest($3::text[], $4::bool[], $5::bigint[]) as n (kind, is_share, amount)
        on n.kind = l.kind and n.is_share = l.is_share
    where l.tenant_id = $1 and l.budget_id = $2 and l.closed_at is null
        and (l.closes_at is null or clock_timestamp() < l.closes_at)
    order by l.width, l.limit_id
    for no key update of l
)
update limits l
set amount = mine.amount, enforcing = $6, revision = l.revision + 1,
    spent_before = case when l.settled + l.held > mine.amount
        then greatest(l.spent_before, l.settled + l.held) else l.spent_before end
from mine
where l.tenant_id = $1 and l.limit_id = mine.limit_id
