-- Locks the rows of a batch in the order of the arrays, narrow to wide, so that no
-- two replicas wait for each other and the widest row is held shortest. Not `for
-- update`: foreign keys that point here may go on.
select l.tenant_id, l.limit_id, l.width, l.envelope_id, l.budget_id, l.kind, l.amount,
    l.settled, l.overrun, l.held, l.enforcing, l.opens_at, l.closes_at, l.closed_at, l.revision, l.is_share
from unnest($1::uuid[], $2::uuid[]) with ordinality as k (tenant_id, limit_id, n)
join limits l on l.tenant_id = any(array[k.tenant_id]) and l.limit_id = k.limit_id
order by k.n
for no key update of l
