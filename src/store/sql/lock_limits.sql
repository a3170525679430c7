-- Locks the rows of a batch narrow to wide, so that no two replicas wait for each
-- other and the widest row is held shortest. Not `for update`: foreign keys that
-- point here may go on.
select l.tenant_id, l.limit_id, l.width, l.envelope_id, l.budget_id, l.kind, l.amount,
    l.settled, l.overrun, l.held, l.enforcing, l.opens_at, l.closes_at, l.closed_at, l.revision
from unnest($1::uuid[], $2::uuid[]) as k (tenant_id, limit_id)
join limits l on l.tenant_id = any(array[k.tenant_id]) and l.limit_id = k.limit_id
order by l.tenant_id, l.width, l.limit_id
for no key update of l
