-- Moves one limit that the transaction has locked.
update limits
set settled = settled + $3, overrun = overrun + $4, revision = revision + 1, used_at = clock_timestamp()
where tenant_id = $1 and limit_id = $2
