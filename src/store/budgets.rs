//! Rows of budgets.

use jiff::Timestamp;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, instant::Instant, raises::raised};
use crate::domain::{
    budget::Budget,
    hold::Parties,
    ids::{BudgetId, HostId, RootId, ServerId, TenantId, UserId},
    period::Period,
};

/// Postgres' time, and the budgets in force that count a call of these.
pub(crate) async fn that_count(
    connection: &mut PgConnection,
    parties: &Parties,
) -> Result<(Timestamp, Vec<Budget>), Error> {
    let rows = sqlx::query(
        "select now() as now, b.* from (values (true)) as always
         left join budgets b on b.tenant_id = $1 and b.deleted_at is null
             -- As the index has it: the id of all zeros is nobody's.
             and case when b.user_id is null then '00000000-0000-0000-0000-000000000000' else b.user_id end
                 = any (array[$2, '00000000-0000-0000-0000-000000000000']::uuid[])
             and case when b.server_id is null then '00000000-0000-0000-0000-000000000000' else b.server_id end
                 = any (array[$3, '00000000-0000-0000-0000-000000000000']::uuid[])
             and (b.host_id is null or b.host_id = $4) and (b.root_id is null or b.root_id = $5)
         order by b.budget_id",
    )
    .bind(parties.tenant.uuid())
    .bind(parties.user.uuid())
    .bind(parties.server.uuid())
    .bind(parties.host.uuid())
    .bind(parties.root.map(RootId::uuid))
    .fetch_all(connection)
    .await?;
    let first = rows.first().ok_or(Error::Unreadable("budgets"))?;
    let now = first.try_get::<Instant, _>("now")?.0;
    let is_one = |row: &&PgRow| !matches!(row.try_get("budget_id"), Ok(None::<Uuid>));
    Ok((now, rows.iter().filter(is_one).map(budget).collect::<Result<_, _>>()?))
}

/// Budgets in force after `after`, by id.
pub(crate) async fn list(
    connection: &mut PgConnection,
    tenant: TenantId,
    (after, most): (Option<Uuid>, i64),
) -> Result<Vec<Budget>, Error> {
    let rows = sqlx::query(
        "select * from budgets
         where tenant_id = $1 and deleted_at is null and ($2::uuid is null or budget_id > $2)
         order by budget_id limit $3",
    )
    .bind(tenant.uuid())
    .bind(after)
    .bind(most)
    .fetch_all(connection)
    .await?;
    rows.iter().map(budget).collect()
}

/// One budget, whether in force or not.
pub(crate) async fn find(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Budget>, Error> {
    let row = sqlx::query("select * from budgets where tenant_id = $1 and budget_id = $2")
        .bind(tenant.uuid())
        .bind(id)
        .fetch_optional(connection)
        .await?;
    row.map(|it| budget(&it)).transpose()
}

/// One budget, which nobody else changes until the end of the transaction.
pub(crate) async fn locked(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: BudgetId,
) -> Result<Option<Budget>, Error> {
    let statement =
        "select * from budgets where tenant_id = $1 and budget_id = $2 for no key update";
    let row = sqlx::query(statement)
        .bind(tenant.uuid())
        .bind(id.uuid())
        .fetch_optional(connection)
        .await?;
    row.map(|it| budget(&it)).transpose()
}

/// Those of these budgets that are in force, as they will be until the end of the
/// transaction: a change waits.
pub(crate) async fn kept(
    connection: &mut PgConnection,
    tenant: TenantId,
    ids: &[BudgetId],
) -> Result<Vec<Budget>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|it| it.uuid()).collect();
    let rows = sqlx::query(
        "select b.* from unnest($2::uuid[]) as k (budget_id)
         join budgets b on b.tenant_id = $1 and b.budget_id = k.budget_id
         where b.deleted_at is null order by b.budget_id for share of b",
    )
    .bind(tenant.uuid())
    .bind(ids)
    .fetch_all(connection)
    .await?;
    rows.iter().map(budget).collect()
}

/// Writes a budget that the caller has locked and changed.
pub(crate) async fn change(
    connection: &mut PgConnection,
    tenant: TenantId,
    it: &Budget,
) -> Result<(), Error> {
    sqlx::query(
        "update budgets set display_name = $3, calls = $4, money = $5, tokens = $6,
            concurrent_calls = $7, server_share_percent = $8, enforcing = $9, revision = $10
         where tenant_id = $1 and budget_id = $2",
    )
    .bind(tenant.uuid())
    .bind(it.id.uuid())
    .bind(&it.display_name)
    .bind(it.calls)
    .bind(it.money)
    .bind(it.tokens)
    .bind(it.concurrent_calls)
    .bind(it.server_share_percent.map(i16::from))
    .bind(it.enforcing)
    .bind(it.revision)
    .execute(connection)
    .await?;
    Ok(())
}

/// Adds a budget.
pub(crate) async fn add(
    connection: &mut PgConnection,
    tenant: TenantId,
    it: &Budget,
) -> Result<(), Error> {
    sqlx::query(
        "insert into budgets (tenant_id, budget_id, display_name, user_id, server_id, period, time_zone,
            calls, money, tokens, enforcing, host_id, root_id, concurrent_calls, server_share_percent)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
    )
    .bind(tenant.uuid())
    .bind(it.id.uuid())
    .bind(&it.display_name)
    .bind(it.user.map(UserId::uuid))
    .bind(it.server.map(ServerId::uuid))
    .bind(period_word(it.period))
    .bind(&it.time_zone)
    .bind(it.calls)
    .bind(it.money)
    .bind(it.tokens)
    .bind(it.enforcing)
    .bind(it.host.map(HostId::uuid))
    .bind(it.root.map(RootId::uuid))
    .bind(it.concurrent_calls)
    .bind(it.server_share_percent.map(i16::from))
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes a budget out of force, once.
pub(crate) async fn delete(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<(), Error> {
    sqlx::query(
        "update budgets set deleted_at = coalesce(deleted_at, now()) where tenant_id = $1 and budget_id = $2",
    )
    .bind(tenant.uuid())
    .bind(id)
    .execute(connection)
    .await?;
    Ok(())
}

fn budget(row: &PgRow) -> Result<Budget, Error> {
    let scope = |name: &str| row.try_get::<Option<Uuid>, _>(name);
    let share = row.try_get::<Option<i16>, _>("server_share_percent")?;
    let share = share.map(u8::try_from).transpose();
    Ok(Budget {
        id: row.try_get::<Uuid, _>("budget_id")?.into(),
        display_name: row.try_get("display_name")?,
        user: scope("user_id")?.map(Into::into),
        server: scope("server_id")?.map(Into::into),
        host: scope("host_id")?.map(Into::into),
        root: scope("root_id")?.map(Into::into),
        period: period(row.try_get("period")?)?,
        time_zone: row.try_get("time_zone")?,
        calls: row.try_get("calls")?,
        money: row.try_get("money")?,
        tokens: row.try_get("tokens")?,
        concurrent_calls: row.try_get("concurrent_calls")?,
        server_share_percent: share
            .map_err(|_| Error::Unreadable("budgets.server_share_percent"))?,
        enforcing: row.try_get("enforcing")?,
        raised: raised(row)?,
        revision: row.try_get("revision")?,
        created_at: row.try_get::<Instant, _>("created_at")?.0,
        deleted_at: row.try_get::<Option<Instant>, _>("deleted_at")?.map(|it| it.0),
    })
}

const fn period_word(period: Period) -> &'static str {
    match period {
        Period::Minute => "minute",
        Period::Hour => "hour",
        Period::Day => "day",
        Period::Week => "week",
        Period::Month => "month",
        Period::Quarter => "quarter",
        Period::Year => "year",
        Period::Lifetime => "lifetime",
    }
}

fn period(word: &str) -> Result<Period, Error> {
    match word {
        "minute" => Ok(Period::Minute),
        "hour" => Ok(Period::Hour),
        "day" => Ok(Period::Day),
        "week" => Ok(Period::Week),
        "month" => Ok(Period::Month),
        "quarter" => Ok(Period::Quarter),
        "year" => Ok(Period::Year),
        "lifetime" => Ok(Period::Lifetime),
        _ => Err(Error::Unreadable("budgets.period")),
    }
}
