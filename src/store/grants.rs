//! Rows of grants.

use std::time::Duration;

use jiff::Timestamp;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, instant::Instant};
use crate::domain::{
    envelope::{Allowance, Landing},
    extension::{Extra, Terms},
    grant::Grant,
    ids::TenantId,
    money::Amount,
};

/// A grant with what only its readers need.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The grant.
    pub grant: Grant,
    /// The user, as hosts know them.
    pub user: String,
    /// The server, as hosts know it.
    pub server: String,
    /// When it was given.
    pub created_at: Timestamp,
    /// When it was taken back.
    pub revoked_at: Option<Timestamp>,
}

const SELECT: &str = "select g.*, u.external_id as user_name, s.external_id as server_name
     from grants g
     join users u on u.tenant_id = g.tenant_id and u.user_id = g.user_id
     join servers s on s.tenant_id = g.tenant_id and s.server_id = g.server_id";

/// The grant in force of a user for a server, both as hosts know them.
pub(crate) async fn in_force(
    connection: &mut PgConnection,
    tenant: TenantId,
    (user, server): (&str, &str),
) -> Result<Option<Grant>, Error> {
    let row = sqlx::query(
        "select g.*, u.external_id as user_name, s.external_id as server_name
         from users u
         join servers s on s.tenant_id = u.tenant_id and s.external_id = $3
         join grants g on g.tenant_id = u.tenant_id and g.user_id = u.user_id
             and g.server_id = s.server_id and g.revoked_at is null
         where u.tenant_id = $1 and u.external_id = $2",
    )
    .bind(tenant.uuid())
    .bind(user)
    .bind(server)
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|it| listed(&it)).transpose()?.map(|it| it.grant))
}

/// Grants after `after`, by id.
pub(crate) async fn list(
    connection: &mut PgConnection,
    tenant: TenantId,
    (after, most): (Option<Uuid>, i64),
) -> Result<Vec<Listed>, Error> {
    let statement = sqlx::AssertSqlSafe(format!(
        "{SELECT} where g.tenant_id = $1 and ($2::uuid is null or g.grant_id > $2)
         order by g.grant_id limit $3"
    ));
    let rows = sqlx::query(statement)
        .bind(tenant.uuid())
        .bind(after)
        .bind(most)
        .fetch_all(connection)
        .await?;
    rows.iter().map(listed).collect()
}

/// One grant, whether in force or not.
pub(crate) async fn find(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Listed>, Error> {
    let statement =
        sqlx::AssertSqlSafe(format!("{SELECT} where g.tenant_id = $1 and g.grant_id = $2"));
    let row =
        sqlx::query(statement).bind(tenant.uuid()).bind(id).fetch_optional(connection).await?;
    row.map(|it| listed(&it)).transpose()
}

/// Adds a grant.
pub(crate) async fn add(
    connection: &mut PgConnection,
    tenant: TenantId,
    it: &Grant,
) -> Result<(), Error> {
    let (most, usual) = (&it.max_envelope, &it.default_envelope);
    sqlx::query(
        "insert into grants (tenant_id, grant_id, user_id, server_id, models,
            default_calls, default_seconds, default_money, default_tokens,
            default_landing_reserve, default_landing_tokens,
            max_calls, max_seconds, max_money, max_tokens, tools, background, reveal_model, call_ms,
            default_concurrent_calls, max_concurrent_calls,
            extend_calls, extend_seconds, extend_money, extend_times)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
            $22, $23, $24, $25)",
    )
    .bind(tenant.uuid())
    .bind(it.id.uuid())
    .bind(it.user.uuid())
    .bind(it.server.uuid())
    .bind(&it.models)
    .bind(usual.calls)
    .bind(usual.seconds)
    .bind(usual.money.nanos())
    .bind(usual.tokens)
    .bind(usual.landing.map(|it| it.reserve.nanos()))
    .bind(usual.landing.map(|it| it.tokens))
    .bind(most.calls)
    .bind(most.seconds)
    .bind(most.money.nanos())
    .bind(most.tokens)
    .bind(it.tools)
    .bind(it.background)
    .bind(it.reveal_model)
    .bind(i64::try_from(it.call_time.as_millis()).unwrap_or(i64::MAX))
    .bind(usual.concurrent_calls)
    .bind(most.concurrent_calls)
    .bind(it.extension.map(|it| it.extra.calls))
    .bind(it.extension.map(|it| it.extra.seconds))
    .bind(it.extension.map(|it| it.extra.money.nanos()))
    .bind(it.extension.map(|it| it.times))
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes a grant back, once.
pub(crate) async fn revoke(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<(), Error> {
    sqlx::query(
        "update grants set revoked_at = coalesce(revoked_at, now()) where tenant_id = $1 and grant_id = $2",
    )
    .bind(tenant.uuid())
    .bind(id)
    .execute(connection)
    .await?;
    Ok(())
}

fn listed(row: &PgRow) -> Result<Listed, Error> {
    let number = |name: &str| row.try_get::<i64, _>(name);
    let optional = |name: &str| row.try_get::<Option<i64>, _>(name);
    let call_ms = u64::try_from(number("call_ms")?);
    let landing = optional("default_landing_reserve")?.zip(optional("default_landing_tokens")?);
    let landing = landing.map(|(it, tokens)| Landing { reserve: Amount::from_nanos(it), tokens });
    Ok(Listed {
        grant: Grant {
            id: row.try_get::<Uuid, _>("grant_id")?.into(),
            user: row.try_get::<Uuid, _>("user_id")?.into(),
            server: row.try_get::<Uuid, _>("server_id")?.into(),
            models: row.try_get("models")?,
            default_envelope: Allowance {
                calls: number("default_calls")?,
                seconds: number("default_seconds")?,
                money: Amount::from_nanos(number("default_money")?),
                tokens: optional("default_tokens")?,
                concurrent_calls: optional("default_concurrent_calls")?,
                landing,
            },
            max_envelope: Allowance {
                calls: number("max_calls")?,
                seconds: number("max_seconds")?,
                money: Amount::from_nanos(number("max_money")?),
                tokens: optional("max_tokens")?,
                concurrent_calls: optional("max_concurrent_calls")?,
                landing: None,
            },
            tools: row.try_get("tools")?,
            background: row.try_get("background")?,
            reveal_model: row.try_get("reveal_model")?,
            call_time: Duration::from_millis(
                call_ms.map_err(|_| Error::Unreadable("grants.call_ms"))?,
            ),
            extension: extension(row)?,
        },
        user: row.try_get("user_name")?,
        server: row.try_get("server_name")?,
        created_at: row.try_get::<Instant, _>("created_at")?.0,
        revoked_at: row.try_get::<Option<Instant>, _>("revoked_at")?.map(|it| it.0),
    })
}

fn extension(row: &PgRow) -> Result<Option<Terms>, Error> {
    let Some(times) = row.try_get::<Option<i64>, _>("extend_times")? else { return Ok(None) };
    let extra = Extra {
        calls: row.try_get("extend_calls")?,
        seconds: row.try_get("extend_seconds")?,
        money: Amount::from_nanos(row.try_get("extend_money")?),
    };
    Ok(Some(Terms { extra, times }))
}
