//! Changes of a budget that is in force. What was counted stays counted.

use super::{
    Desk,
    audit::Trail,
    budgets::{Standing, standing},
};
use crate::{
    domain::{
        audit::Subject,
        budget::Budget,
        draft::BudgetChange,
        fault::Fault,
        ids::{BudgetId, TenantId},
        money::Amount,
    },
    identity::OperatorCaller,
    store::{self, Tx, budgets as rows, limits},
};

/// Changes a budget, from the next call on. Lowering it below what is spent is allowed:
/// nothing more is let through until the next window, and what is held may still settle.
/// Only shows what would come of it where the change says so.
pub async fn update_budget(
    desk: Desk<'_>,
    right: &OperatorCaller,
    id: BudgetId,
    change: BudgetChange,
) -> Result<Standing, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let before = locked(&mut tx, tenant, id).await?;
    if change.etag.as_ref().is_some_and(|it| *it != before.etag()) {
        let problem = "the budget has changed since its etag was read; read it again".to_owned();
        return Err(Fault::Aborted { reason: "ETAG_MISMATCH", problem, retry_after: None });
    }
    let validate_only = change.validate_only;
    let after = changed(before, change)?;
    let trail = Trail::of(&mut tx, right, "UpdateBudget", Subject::Budget(id)).await?;
    rows::change(&mut tx, tenant, &after).await?;
    limits::change_budget(&mut tx, tenant, &after).await?;
    trail.end(&mut tx, desk).await?;
    let shown = standing(&mut tx, desk, tenant, vec![after]).await?.pop();
    if validate_only {
        store::forget(tx).await?;
    } else {
        store::commit(tx).await?;
    }
    shown.ok_or(Fault::Internal)
}

/// The budget, which nobody else changes meanwhile.
pub(super) async fn locked(tx: &mut Tx, tenant: TenantId, id: BudgetId) -> Result<Budget, Fault> {
    let found = rows::locked(tx, tenant, id).await?.filter(|it| it.deleted_at.is_none());
    found.ok_or(Fault::NotFound { what: "budget" })
}

fn changed(before: Budget, change: BudgetChange) -> Result<Budget, Fault> {
    let BudgetChange { display_name, calls, money, tokens, concurrent_calls, .. } = change;
    let money = money.map(|it| it.map(Amount::nanos));
    let after = Budget {
        display_name: display_name.unwrap_or(before.display_name),
        calls: calls.unwrap_or(before.calls),
        money: money.unwrap_or(before.money),
        tokens: tokens.unwrap_or(before.tokens),
        concurrent_calls: concurrent_calls.unwrap_or(before.concurrent_calls),
        server_share_percent: change.server_share_percent.unwrap_or(before.server_share_percent),
        enforcing: change.observe_only.map_or(before.enforcing, |it| !it),
        revision: before.revision.saturating_add(1),
        ..before
    };
    if after.amounts().next().is_none() {
        let problem = "must keep at least one of calls, money, tokens and concurrent_calls";
        return Err(Fault::invalid("budget", problem));
    }
    if after.server.is_some() && after.server_share_percent.is_some() {
        let problem = "a budget of one server has nobody to share it with";
        return Err(Fault::invalid("budget.server_share_percent", problem));
    }
    Ok(after)
}
