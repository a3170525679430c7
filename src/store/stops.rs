//! Rows of `stops`: kill switches. What a hold asks of them is in the statement that
//! takes it.

use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, Store, instant::Instant};
use crate::domain::{
    halt::{Halt, Scope, Target},
    ids::{CredentialId, ServerId, StopId, TenantId, UserId},
};

const SELECT: &str = "select s.*, coalesce(u.external_id, '') as user_name,
        coalesce(v.external_id, '') as server_name
    from stops s
    left join users u on u.tenant_id = s.tenant_id and u.user_id = s.user_id
    left join servers v on v.tenant_id = s.tenant_id and v.server_id = s.server_id";

/// Stops a scope, unless it is stopped already.
pub(crate) async fn add(
    connection: &mut PgConnection,
    tenant: TenantId,
    (id, scope, reason): (StopId, Scope, &str),
    by: CredentialId,
) -> Result<(), Error> {
    sqlx::query(
        "insert into stops (tenant_id, stop_id, user_id, server_id, reason, stopped_by)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (tenant_id, user_key, server_key) where lifted_at is null do nothing",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .bind(scope.user.map(UserId::uuid))
    .bind(scope.server.map(ServerId::uuid))
    .bind(reason)
    .bind(by.uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// The stop in force of exactly this scope.
pub(crate) async fn in_force(
    connection: &mut PgConnection,
    tenant: TenantId,
    scope: Scope,
) -> Result<Option<Halt>, Error> {
    let statement = sqlx::AssertSqlSafe(format!(
        "{SELECT} where s.tenant_id = $1 and s.lifted_at is null
             and s.user_id is not distinct from $2 and s.server_id is not distinct from $3"
    ));
    let row = sqlx::query(statement)
        .bind(tenant.uuid())
        .bind(scope.user.map(UserId::uuid))
        .bind(scope.server.map(ServerId::uuid))
        .fetch_optional(connection)
        .await?;
    row.map(|it| halt(&it)).transpose()
}

/// Lifts a stop, once.
pub(crate) async fn lift(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: StopId,
    by: CredentialId,
) -> Result<(), Error> {
    sqlx::query(
        "update stops set lifted_at = now(), lifted_by = $3
         where tenant_id = $1 and stop_id = $2 and lifted_at is null",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .bind(by.uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// A stop, whether in force or not.
pub(crate) async fn find(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: StopId,
) -> Result<Option<Halt>, Error> {
    let statement =
        sqlx::AssertSqlSafe(format!("{SELECT} where s.tenant_id = $1 and s.stop_id = $2"));
    let row = sqlx::query(statement)
        .bind(tenant.uuid())
        .bind(id.uuid())
        .fetch_optional(connection)
        .await?;
    row.map(|it| halt(&it)).transpose()
}

/// Stops after `after`, by id: those in force, or all that ever were.
pub(crate) async fn list(
    connection: &mut PgConnection,
    tenant: TenantId,
    (after, most): (Option<Uuid>, i64),
    with_lifted: bool,
) -> Result<Vec<Halt>, Error> {
    let statement = sqlx::AssertSqlSafe(format!(
        "{SELECT} where s.tenant_id = $1 and ($2::uuid is null or s.stop_id > $2)
             and ($4 or s.lifted_at is null)
         order by s.stop_id limit $3"
    ));
    let rows = sqlx::query(statement)
        .bind(tenant.uuid())
        .bind(after)
        .bind(most)
        .bind(with_lifted)
        .fetch_all(connection)
        .await?;
    rows.iter().map(halt).collect()
}

/// Which of these, of any tenants, are stopped.
pub(crate) async fn among(store: &Store, targets: &[Target]) -> Result<Vec<Target>, Error> {
    let column = |of: fn(&Target) -> Uuid| targets.iter().map(of).collect::<Vec<_>>();
    let rows: Vec<(Uuid, Uuid, Uuid)> = sqlx::query_as(include_str!("sql/stopped_calls.sql"))
        .bind(column(|it| it.tenant.uuid()))
        .bind(column(|it| it.user.uuid()))
        .bind(column(|it| it.server.uuid()))
        .fetch_all(store.duties())
        .await?;
    let target = |(tenant, user, server): (Uuid, Uuid, Uuid)| Target {
        tenant: tenant.into(),
        user: user.into(),
        server: server.into(),
    };
    Ok(rows.into_iter().map(target).collect())
}

fn halt(row: &PgRow) -> Result<Halt, Error> {
    let id = |name: &str| row.try_get::<Option<Uuid>, _>(name);
    let lifted_at: Option<Instant> = row.try_get("lifted_at")?;
    let lifted_by = id("lifted_by")?.map(CredentialId::from);
    Ok(Halt {
        id: row.try_get::<Uuid, _>("stop_id")?.into(),
        scope: Scope {
            user: id("user_id")?.map(Into::into),
            server: id("server_id")?.map(Into::into),
        },
        user: row.try_get("user_name")?,
        server: row.try_get("server_name")?,
        reason: row.try_get("reason")?,
        stopped: (
            row.try_get::<Uuid, _>("stopped_by")?.into(),
            row.try_get::<Instant, _>("stopped_at")?.0,
        ),
        lifted: lifted_by.zip(lifted_at.map(|it| it.0)),
    })
}
