//! Raises in an emergency. Each has an end, and is taken back then without anybody's doing.

use std::time::Duration;

use super::{
    Desk,
    audit::Trail,
    budget_changes::locked,
    budgets::{Standing, standing},
};
use crate::{
    clock::Clock,
    domain::{
        audit::Subject,
        budget::{Budget, Raise},
        draft::BudgetRaise,
        fault::{Fault, chain},
        ids::{BudgetId, RaiseId, TenantId},
        money::{AMOUNT_NANOS_MAX, Amount},
    },
    identity::OperatorCaller,
    store::{self, Store, Tx, budgets as rows, limits, raises},
};

/// Between two looks for raises that are over.
const PAUSE: Duration = Duration::from_secs(1);

/// Budgets with a raise that is over, looked up at a time.
const OVER_MAX: i64 = 100;

/// Raises of one budget in force at once.
const RAISES_MAX: usize = 20;

/// Lets a budget allow more for a while, from the next call on.
pub async fn raise_budget(
    desk: Desk<'_>,
    right: &OperatorCaller,
    id: BudgetId,
    wanted: BudgetRaise,
) -> Result<Standing, Fault> {
    let tenant = right.tenant.id;
    let BudgetRaise { calls, money, tokens, reason, time } = wanted;
    let money = money.map(Amount::nanos);
    let raise = Raise { budget: id, calls, money, tokens, reason, ends_at: None };
    let mut tx = desk.store.report_tx(tenant).await?;
    let budget = locked(&mut tx, tenant, id).await?;
    let trail = Trail::of(&mut tx, right, "RaiseBudget", Subject::Budget(id)).await?;
    bounds_the_same(&budget, &raise)?;
    if raises::in_force(&mut tx, tenant, &[id]).await?.len() >= RAISES_MAX {
        let problem = format!("the budget has {RAISES_MAX} raises in force already; change it");
        return Err(Fault::Precondition { reason: "TOO_MANY_RAISES", problem });
    }
    let fresh: RaiseId = desk.clock.id();
    raises::add(&mut tx, tenant, (fresh, right.actor.credential, time), &raise).await?;
    let raised = settle(&mut tx, tenant, budget).await?;
    trail.end(&mut tx, desk).await?;
    let shown = standing(&mut tx, desk, tenant, vec![raised]).await?.pop();
    store::commit(tx).await?;
    shown.ok_or(Fault::Internal)
}

/// A raise of what the budget does not bound would be none.
fn bounds_the_same(budget: &Budget, raise: &Raise) -> Result<(), Fault> {
    let pairs = [
        ("calls", budget.calls, raise.calls, i64::MAX),
        ("money", budget.money, raise.money, AMOUNT_NANOS_MAX),
        ("tokens", budget.tokens, raise.tokens, i64::MAX),
    ];
    for (field, bound, more, most) in pairs {
        let Some(more) = more else { continue };
        let Some(bound) = bound else {
            return Err(Fault::invalid(field, "the budget does not bound this"));
        };
        if bound.checked_add(more).is_none_or(|it| it > most) {
            return Err(Fault::invalid(field, "is more than a budget can allow"));
        }
    }
    Ok(())
}

/// Makes the raises in force count, and no others.
async fn settle(tx: &mut Tx, tenant: TenantId, budget: Budget) -> Result<Budget, Fault> {
    let raised = raises::sum(tx, tenant, budget.id).await?;
    let revision = budget.revision.saturating_add(1);
    let budget = Budget { raised, revision, ..budget };
    limits::change_budget(tx, tenant, &budget).await?;
    Ok(budget)
}

/// Takes back what is over, for ever. Several replicas may.
pub async fn run(store: Store, clock: Clock) {
    let mut fails = false;
    loop {
        clock.sleep(PAUSE).await;
        match sweep(&store).await {
            Ok(()) => fails = false,
            Err(it) if !fails => {
                tracing::warn!(error = chain(&it), "raises that are over cannot be taken back");
                fails = true;
            }
            Err(_) => {}
        }
    }
}

async fn sweep(store: &Store) -> Result<(), Fault> {
    for (tenant, id) in raises::over(store, OVER_MAX).await? {
        let mut tx = store.report_tx(tenant).await?;
        let Some(budget) = rows::locked(&mut tx, tenant, id).await? else { continue };
        raises::end(&mut tx, tenant, id).await?;
        settle(&mut tx, tenant, budget).await?;
        store::commit(tx).await?;
        tracing::info!(budget = %id, "a raise is over");
    }
    Ok(())
}
