-- A budget may be changed, and never starts anew by that: the rows of the windows that
-- are open take the new amount and keep what was counted.
alter table budgets
    add column revision bigint not null default 0,
    drop constraint budgets_period_check,
    -- Minutes and hours are those of UTC, whatever the time zone.
    add check (period in ('minute', 'hour', 'day', 'week', 'month', 'quarter', 'year', 'lifetime'));

alter table limits
    -- What was charged and held when an amount was set below that: since then nothing
    -- more was let through, and so much may have been settled.
    add column spent_before bigint check (spent_before >= 0);

grant update (display_name, calls, money, tokens, concurrent_calls, server_share_percent,
    enforcing, revision) on budgets to bursar_app;
grant update (enforcing, spent_before) on limits to bursar_app;
