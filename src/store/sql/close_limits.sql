-- Closes limits that are still open: those of some envelopes, or of a budget. They are
-- locked in the order in which every batch locks, so that nobody waits in a circle.
with mine as materialized (
    select l.limit_id
    from limits l
    where l.tenant_id = $1 and l.closed_at is null
        and (l.envelope_id = any ($2) or l.budget_id = $3)
    order by l.width, l.limit_id
    for no key update
)
update limits l
set closed_at = clock_timestamp(), revision = l.revision + 1
from mine
where l.tenant_id = $1 and l.limit_id = mine.limit_id
