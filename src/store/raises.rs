//! Rows of `budget_raises`: what a budget allows more for a while.

use std::time::Duration;

use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, Store, instant::Instant};
use crate::domain::{
    budget::{Raise, Raised},
    ids::{BudgetId, CredentialId, RaiseId, TenantId},
};

/// Adds a raise for some time from now on.
pub(crate) async fn add(
    connection: &mut PgConnection,
    tenant: TenantId,
    (id, by, time): (RaiseId, CredentialId, Duration),
    it: &Raise,
) -> Result<(), Error> {
    sqlx::query(
        "insert into budget_raises (tenant_id, raise_id, budget_id, calls, money, tokens, reason,
            raised_by, ends_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, now() + $9 * interval '1 second')",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .bind(it.budget.uuid())
    .bind(it.calls)
    .bind(it.money)
    .bind(it.tokens)
    .bind(&it.reason)
    .bind(by.uuid())
    .bind(i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
    .execute(connection)
    .await?;
    Ok(())
}

/// The raises in force of these budgets, the next to end first.
pub(crate) async fn in_force(
    connection: &mut PgConnection,
    tenant: TenantId,
    budgets: &[BudgetId],
) -> Result<Vec<Raise>, Error> {
    let budgets: Vec<Uuid> = budgets.iter().map(|it| it.uuid()).collect();
    let rows = sqlx::query(
        "select * from budget_raises
         where tenant_id = $1 and budget_id = any ($2) and ended_at is null
         order by ends_at, raise_id",
    )
    .bind(tenant.uuid())
    .bind(budgets)
    .fetch_all(connection)
    .await?;
    rows.iter().map(raise).collect()
}

/// Takes back what is over of a budget that the caller has locked.
pub(crate) async fn end(
    connection: &mut PgConnection,
    tenant: TenantId,
    budget: BudgetId,
) -> Result<(), Error> {
    sqlx::query(
        "update budget_raises set ended_at = now()
         where tenant_id = $1 and budget_id = $2 and ended_at is null and ends_at <= now()",
    )
    .bind(tenant.uuid())
    .bind(budget.uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes what the raises in force of a budget come to, and returns it.
pub(crate) async fn sum(
    connection: &mut PgConnection,
    tenant: TenantId,
    budget: BudgetId,
) -> Result<Raised, Error> {
    let row = sqlx::query(include_str!("sql/sum_raises.sql"))
        .bind(tenant.uuid())
        .bind(budget.uuid())
        .fetch_one(connection)
        .await?;
    raised(&row)
}

/// Budgets of any tenant with a raise that is over, at most `most`.
pub(crate) async fn over(store: &Store, most: i64) -> Result<Vec<(TenantId, BudgetId)>, Error> {
    let rows: Vec<(Uuid, Uuid)> = sqlx::query_as(
        "select tenant_id, budget_id from budget_raises
         where ended_at is null and ends_at <= now() order by ends_at limit $1",
    )
    .bind(most)
    .fetch_all(store.duties())
    .await?;
    Ok(rows.into_iter().map(|(tenant, budget)| (tenant.into(), budget.into())).collect())
}

/// What a row of `budgets` says of its raises.
pub(crate) fn raised(row: &PgRow) -> Result<Raised, Error> {
    Ok(Raised {
        calls: row.try_get("raised_calls")?,
        money: row.try_get("raised_money")?,
        tokens: row.try_get("raised_tokens")?,
    })
}

fn raise(row: &PgRow) -> Result<Raise, Error> {
    Ok(Raise {
        budget: row.try_get::<Uuid, _>("budget_id")?.into(),
        calls: row.try_get("calls")?,
        money: row.try_get("money")?,
        tokens: row.try_get("tokens")?,
        reason: row.try_get("reason")?,
        ends_at: Some(row.try_get::<Instant, _>("ends_at")?.0),
    })
}
