-- The rows of a batch, unlocked: what is written from them is written where their
-- revision still stands.
select l.tenant_id, l.limit_id, l.width, l.envelope_id, l.budget_id, l.kind, l.amount,
    l.settled, l.overrun, l.held, l.enforcing, l.opens_at, l.closes_at, l.closed_at, l.revision, l.is_share
from unnest($1::uuid[], $2::uuid[]) as k (tenant_id, limit_id)
join limits l on l.tenant_id = any(array[k.tenant_id]) and l.limit_id = k.limit_id
