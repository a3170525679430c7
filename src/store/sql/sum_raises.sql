update budgets b
set raised_calls = r.calls, raised_money = r.money, raised_tokens = r.tokens,
    revision = b.revision + 1
from (
    select coalesce(sum(calls), 0)::bigint as calls, coalesce(sum(money), 0)::bigint as money,
        coalesce(sum(tokens), 0)::bigint as tokens
    from budget_raises where tenant_id = $1 and budget_id = $2 and ended_at is null
) as r
where b.tenant_id = $1 and b.budget_id = $2
returning b.raised_calls, b.raised_money, b.raised_tokens
