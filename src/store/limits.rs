//! Rows of `limits`, read and locked.

use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, instant::Instant};
use crate::domain::{
    ids::{BudgetId, EnvelopeId, LimitId, TenantId},
    limit::{Limit, LimitKey, LimitKind, Owner, Width},
};

/// Locks the limits in the order given, which is to be that of their keys. Those that
/// do not exist are left out.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    keys: &[LimitKey],
) -> Result<Vec<Limit>, Error> {
    named(connection, include_str!("sql/lock_limits.sql"), keys).await
}

/// The limits as they stand, unlocked. Those that do not exist are left out.
pub(crate) async fn read(
    connection: &mut PgConnection,
    keys: &[LimitKey],
) -> Result<Vec<Limit>, Error> {
    named(connection, include_str!("sql/read_limits.sql"), keys).await
}

async fn named(
    connection: &mut PgConnection,
    sql: &'static str,
    keys: &[LimitKey],
) -> Result<Vec<Limit>, Error> {
    let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) =
        keys.iter().map(|it| (it.tenant.uuid(), it.id.uuid())).unzip();
    let rows = sqlx::query(sql).bind(tenants).bind(ids).fetch_all(connection).await?;
    rows.iter().map(limit).collect()
}

/// The limits of an envelope.
pub(crate) async fn of_envelope(
    connection: &mut PgConnection,
    tenant: TenantId,
    envelope: EnvelopeId,
) -> Result<Vec<Limit>, Error> {
    let rows = sqlx::query("select * from limits where tenant_id = $1 and envelope_id = $2")
        .bind(tenant.uuid())
        .bind(envelope.uuid())
        .fetch_all(connection)
        .await?;
    rows.iter().map(limit).collect()
}

/// The limits of these envelopes, in no order.
pub(crate) async fn of_envelopes(
    connection: &mut PgConnection,
    tenant: TenantId,
    envelopes: &[EnvelopeId],
) -> Result<Vec<Limit>, Error> {
    let ids: Vec<Uuid> = envelopes.iter().map(|it| it.uuid()).collect();
    let rows = sqlx::query("select * from limits where tenant_id = $1 and envelope_id = any ($2)")
        .bind(tenant.uuid())
        .bind(ids)
        .fetch_all(connection)
        .await?;
    rows.iter().map(limit).collect()
}

/// The limits of these envelopes, and those with these ids, as far as they exist.
pub(crate) async fn that_apply(
    connection: &mut PgConnection,
    tenant: TenantId,
    (envelopes, ids): (&[EnvelopeId], &[LimitId]),
) -> Result<Vec<Limit>, Error> {
    let envelopes: Vec<Uuid> = envelopes.iter().map(|it| it.uuid()).collect();
    let ids: Vec<Uuid> = ids.iter().map(|it| it.uuid()).collect();
    let rows = sqlx::query(
        "select l.* from limits l where l.tenant_id = $1 and l.envelope_id = any ($2)
         union all
         select l.* from unnest($3::uuid[]) as k (limit_id)
         join limits l on l.tenant_id = $1 and l.limit_id = k.limit_id",
    )
    .bind(tenant.uuid())
    .bind(envelopes)
    .bind(ids)
    .fetch_all(connection)
    .await?;
    rows.iter().map(limit).collect()
}

/// The limits with these ids, as far as they exist.
pub(crate) async fn by_id(
    connection: &mut PgConnection,
    tenant: TenantId,
    ids: &[LimitId],
) -> Result<Vec<Limit>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|it| it.uuid()).collect();
    let rows = sqlx::query(
        "select l.* from unnest($2::uuid[]) as k (limit_id)
         join limits l on l.tenant_id = $1 and l.limit_id = k.limit_id",
    )
    .bind(tenant.uuid())
    .bind(ids)
    .fetch_all(connection)
    .await?;
    rows.iter().map(limit).collect()
}

/// Creates limits; one that exists already is left as it is.
pub(crate) async fn create(connection: &mut PgConnection, limits: &[Limit]) -> Result<(), Error> {
    for it in limits {
        let (envelope, budget) = match it.owner {
            Owner::Envelope(id) => (Some(id.uuid()), None),
            Owner::Budget(id) | Owner::Share(id) => (None, Some(id.uuid())),
        };
        sqlx::query(
            "insert into limits (tenant_id, limit_id, width, envelope_id, budget_id, kind, amount,
                enforcing, opens_at, closes_at, is_share)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
             on conflict (tenant_id, limit_id) do nothing",
        )
        .bind(it.key.tenant.uuid())
        .bind(it.key.id.uuid())
        .bind(width_code(it.key.width))
        .bind(envelope)
        .bind(budget)
        .bind(kind_word(it.kind))
        .bind(it.amount)
        .bind(it.enforcing)
        .bind(Instant(it.opens_at))
        .bind(it.closes_at.map(Instant))
        .bind(matches!(it.owner, Owner::Share(_)))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Closes every limit of a budget, of whichever window, for good, as of Postgres' time.
pub(crate) async fn close_budget(
    connection: &mut PgConnection,
    tenant: TenantId,
    budget: BudgetId,
) -> Result<(), Error> {
    close(connection, tenant, (&[], Some(budget))).await
}

/// Closes every limit of these envelopes for good, as of Postgres' time.
pub(crate) async fn close_envelopes(
    connection: &mut PgConnection,
    tenant: TenantId,
    envelopes: &[EnvelopeId],
) -> Result<(), Error> {
    close(connection, tenant, (envelopes, None)).await
}

/// Locks in the order of keys first, as every batch does.
async fn close(
    connection: &mut PgConnection,
    tenant: TenantId,
    (envelopes, budget): (&[EnvelopeId], Option<BudgetId>),
) -> Result<(), Error> {
    let envelopes: Vec<Uuid> = envelopes.iter().map(|it| it.uuid()).collect();
    sqlx::query(include_str!("sql/close_limits.sql"))
        .bind(tenant.uuid())
        .bind(envelopes)
        .bind(budget.map(BudgetId::uuid))
        .execute(connection)
        .await?;
    Ok(())
}

/// Changes nothing but the revisions of limits that the caller has locked.
pub(crate) async fn move_revisions(
    connection: &mut PgConnection,
    keys: &[LimitKey],
) -> Result<(), Error> {
    let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) =
        keys.iter().map(|it| (it.tenant.uuid(), it.id.uuid())).unzip();
    sqlx::query(
        "update limits l set revision = revision + 1
         from unnest($1::uuid[], $2::uuid[]) as k (tenant_id, limit_id)
         where l.tenant_id = any(array[k.tenant_id]) and l.limit_id = k.limit_id",
    )
    .bind(tenants)
    .bind(ids)
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes what limits allow, and when they end, of which the caller has locked every one.
pub(crate) async fn raise(connection: &mut PgConnection, limits: &[Limit]) -> Result<(), Error> {
    for it in limits {
        sqlx::query(
            "update limits set amount = $3, closes_at = $4, revision = revision + 1, used_at = now()
             where tenant_id = $1 and limit_id = $2",
        )
        .bind(it.key.tenant.uuid())
        .bind(it.key.id.uuid())
        .bind(it.amount)
        .bind(it.closes_at.map(Instant))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// A row as a limit.
pub(crate) fn limit(row: &PgRow) -> Result<Limit, Error> {
    let envelope: Option<Uuid> = row.try_get("envelope_id")?;
    let budget: Option<Uuid> = row.try_get("budget_id")?;
    let owner = match (envelope, budget) {
        (Some(id), None) => Owner::Envelope(EnvelopeId::from(id)),
        (None, Some(id)) if row.try_get("is_share")? => Owner::Share(BudgetId::from(id)),
        (None, Some(id)) => Owner::Budget(BudgetId::from(id)),
        _ => return Err(Error::Unreadable("limits.owner")),
    };
    Ok(Limit {
        key: LimitKey {
            tenant: row.try_get::<Uuid, _>("tenant_id")?.into(),
            width: width(row.try_get("width")?)?,
            id: row.try_get::<Uuid, _>("limit_id")?.into(),
        },
        owner,
        kind: kind(row.try_get("kind")?)?,
        amount: row.try_get("amount")?,
        settled: row.try_get("settled")?,
        overrun: row.try_get("overrun")?,
        held: row.try_get("held")?,
        enforcing: row.try_get("enforcing")?,
        opens_at: row.try_get::<Instant, _>("opens_at")?.0,
        closes_at: row.try_get::<Option<Instant>, _>("closes_at")?.map(|it| it.0),
        closed_at: row.try_get::<Option<Instant>, _>("closed_at")?.map(|it| it.0),
        revision: row.try_get("revision")?,
    })
}

/// The widths' codes are the order of locking.
const WIDTHS: [Width; 7] = [
    Width::Envelope,
    Width::UserServer,
    Width::User,
    Width::Server,
    Width::Root,
    Width::Host,
    Width::Tenant,
];

pub(crate) fn width(code: i16) -> Result<Width, Error> {
    let found = usize::try_from(code).ok().and_then(|it| WIDTHS.get(it));
    found.copied().ok_or(Error::Unreadable("limits.width"))
}

fn width_code(width: Width) -> i16 {
    let at = WIDTHS.iter().position(|it| *it == width);
    at.and_then(|it| i16::try_from(it).ok()).unwrap_or_default()
}

fn kind(word: &str) -> Result<LimitKind, Error> {
    match word {
        "calls" => Ok(LimitKind::Calls),
        "money" => Ok(LimitKind::Money),
        "tokens" => Ok(LimitKind::Tokens),
        "concurrent_calls" => Ok(LimitKind::ConcurrentCalls),
        _ => Err(Error::Unreadable("limits.kind")),
    }
}

const fn kind_word(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Calls => "calls",
        LimitKind::Money => "money",
        LimitKind::Tokens => "tokens",
        LimitKind::ConcurrentCalls => "concurrent_calls",
    }
}
