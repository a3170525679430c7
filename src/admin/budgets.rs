//! Operators' allowances. Their limits are made when a call first needs them.

use std::collections::HashMap;

use super::{
    Desk, Slice,
    audit::{Trail, made},
    known_host, known_server, known_user,
};
use crate::{
    budget::windows,
    domain::{
        audit::Subject,
        budget::Budget,
        draft::{self, Scope},
        fault::Fault,
        ids::{BudgetId, LimitId, TenantId},
        limit::Limit,
        money::Amount,
        outcome::LimitStatus,
    },
    identity::OperatorCaller,
    store::{self, Tx, budgets as rows, identity, limits, roots},
};

/// A budget as it stands.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The budget.
    pub budget: Budget,
    /// The user it is about, as hosts know them; empty: everybody.
    pub user: String,
    /// The server it is about, as hosts know it; empty: every one.
    pub server: String,
    /// The host it is about, by its name; empty: every one.
    pub host: String,
    /// The project root it is about; empty: every one.
    pub root: String,
    /// Its limits in the window that holds now.
    pub status: Vec<LimitStatus>,
}

/// Sets a budget, in force from the next call on.
pub async fn create_budget(
    desk: Desk<'_>,
    right: &OperatorCaller,
    wanted: draft::Budget,
) -> Result<Standing, Fault> {
    let tenant = right.tenant.id;
    let Scope { user, server, host, root } = wanted.scope;
    let mut tx = desk.store.report_tx(tenant).await?;
    let budget = Budget {
        id: desk.clock.id(),
        display_name: wanted.display_name,
        user: match user {
            Some(it) => Some(known_user(&mut tx, tenant, ("budget.user", &it)).await?),
            None => None,
        },
        server: match server {
            Some(it) => Some(known_server(&mut tx, tenant, ("budget.server", &it)).await?),
            None => None,
        },
        host: match host {
            Some(it) => Some(known_host(&mut tx, tenant, ("budget.host", &it)).await?),
            None => None,
        },
        root: match root {
            Some(it) => Some(roots::ensure(&mut tx, tenant, (desk.clock.id(), &it)).await?),
            None => None,
        },
        period: wanted.period,
        time_zone: wanted.time_zone,
        calls: wanted.calls,
        money: wanted.money.map(Amount::nanos),
        tokens: wanted.tokens,
        concurrent_calls: wanted.concurrent_calls,
        server_share_percent: wanted.server_share_percent,
        enforcing: !wanted.observe_only,
        created_at: desk.clock.now(),
        deleted_at: None,
    };
    rows::add(&mut tx, tenant, &budget).await?;
    let found = rows::find(&mut tx, tenant, budget.id.uuid()).await?.ok_or(Fault::Internal)?;
    let standing = standing(&mut tx, desk, tenant, vec![found]).await?.pop();
    made(&mut tx, desk, right, ("CreateBudget", Subject::Budget(budget.id))).await?;
    store::commit(tx).await?;
    standing.ok_or(Fault::Internal)
}

/// The budgets in force.
pub async fn budgets(
    desk: Desk<'_>,
    right: &OperatorCaller,
    slice: Slice,
) -> Result<Vec<Standing>, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = rows::list(&mut tx, tenant, slice).await?;
    let standing = standing(&mut tx, desk, tenant, found).await?;
    store::commit(tx).await?;
    Ok(standing)
}

/// Takes a budget out of force. Its limits close, so that whoever still counts on
/// them looks again which apply; what was booked on them stays.
pub async fn delete_budget(
    desk: Desk<'_>,
    right: &OperatorCaller,
    id: BudgetId,
) -> Result<Standing, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = rows::find(&mut tx, tenant, id.uuid()).await?;
    let found = found.filter(|it| it.deleted_at.is_none());
    let found = found.ok_or(Fault::NotFound { what: "budget" })?;
    let trail = Trail::of(&mut tx, right, "DeleteBudget", Subject::Budget(id)).await?;
    rows::delete(&mut tx, tenant, id.uuid()).await?;
    limits::close_budget(&mut tx, tenant, id).await?;
    trail.end(&mut tx, desk).await?;
    let last = standing(&mut tx, desk, tenant, vec![found]).await?.pop();
    store::commit(tx).await?;
    last.ok_or(Fault::Internal)
}

/// Adds names and the present window's limits, untouched ones where no call has
/// needed them yet.
async fn standing(
    tx: &mut Tx,
    desk: Desk<'_>,
    tenant: TenantId,
    budgets: Vec<Budget>,
) -> Result<Vec<Standing>, Fault> {
    let now = desk.clock.now();
    let window = |it| windows::of_budget(tenant, it, None, now).map_err(|_| Fault::Internal);
    let windows = budgets.iter().map(window).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<LimitId> = windows.iter().flatten().map(|it| it.key.id).collect();
    let used = limits::by_id(tx, tenant, &ids).await?;
    let used: HashMap<LimitId, Limit> = used.into_iter().map(|it| (it.key.id, it)).collect();
    let users: Vec<_> = budgets.iter().filter_map(|it| it.user).collect();
    let servers: Vec<_> = budgets.iter().filter_map(|it| it.server).collect();
    let users = identity::user_names(tx, tenant, &users).await?;
    let hosts: Vec<_> = budgets.iter().filter_map(|it| it.host).collect();
    let uris: Vec<_> = budgets.iter().filter_map(|it| it.root).collect();
    let servers = identity::server_names(tx, tenant, &servers).await?;
    let hosts = identity::host_names(tx, tenant, &hosts).await?;
    let uris = roots::uris(tx, tenant, &uris).await?;
    let standing = budgets.into_iter().zip(windows).map(|(budget, window)| Standing {
        user: budget.user.and_then(|it| users.get(&it).cloned()).unwrap_or_default(),
        server: budget.server.and_then(|it| servers.get(&it).cloned()).unwrap_or_default(),
        host: budget.host.and_then(|it| hosts.get(&it).cloned()).unwrap_or_default(),
        root: budget.root.and_then(|it| uris.get(&it).cloned()).unwrap_or_default(),
        status: window
            .iter()
            .map(|it| LimitStatus::from(used.get(&it.key.id).unwrap_or(it)))
            .collect(),
        budget,
    });
    Ok(standing.collect())
}
