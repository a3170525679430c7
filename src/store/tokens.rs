//! Rows of envelope tokens.

use jiff::Timestamp;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, instant::Instant};
use crate::domain::{
    ids::{EnvelopeId, HostId, TenantId, TokenId},
    token::{Bearer, Token},
};

/// Tokens that ended so long ago are deleted as new ones are made.
const KEPT: &str = "7 days";

/// How many of those at a time: more than are made.
const PURGED: i64 = 20;

macro_rules! tokens {
    ($rest:literal) => {
        concat!(
            "select t.*, e.host_id, e.parent_id, coalesce(u.external_id, '(erased)') as user_name,
                coalesce(s.external_id, '(erased)') as server_name
             from envelope_tokens t
             join envelopes e on e.tenant_id = t.tenant_id and e.envelope_id = t.envelope_id
             left join users u on u.tenant_id = t.tenant_id and u.user_id = e.user_id
             left join servers s on s.tenant_id = t.tenant_id and s.server_id = e.server_id ",
            $rest
        )
    };
}

/// Whoever bears the token with this digest. None where it was
/// revoked or is over, where its envelope was closed, its grant revoked, or its user or
/// server erased.
///
/// One that lasts as long as its envelope is accepted for another hour: until then the
/// answer is that the envelope's time is up, which says more.
pub(crate) async fn bearer(
    connection: &mut PgConnection,
    tenant: TenantId,
    digest: &[u8; 32],
) -> Result<Option<Bearer>, Error> {
    let row = sqlx::query(
        "select t.*, e.host_id, e.parent_id, u.external_id as user_name,
            s.external_id as server_name, o.currency, g.models as granted
         from envelope_tokens t
         join tenants o on o.tenant_id = t.tenant_id
         join envelopes e on e.tenant_id = t.tenant_id and e.envelope_id = t.envelope_id
            and e.closed_at is null
         join grants g on g.tenant_id = t.tenant_id and g.grant_id = t.grant_id
            and g.revoked_at is null
         join users u on u.tenant_id = t.tenant_id and u.user_id = e.user_id
         join servers s on s.tenant_id = t.tenant_id and s.server_id = e.server_id
         where t.tenant_id = $1 and t.digest = $2 and t.revoked_at is null
            and now() < t.expires_at
                + case when t.expires_at < e.closes_at then interval '0' else interval '1 hour' end",
    )
    .bind(tenant.uuid())
    .bind(digest.as_slice())
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let currency: &str = row.try_get("currency")?;
    let currency = currency.parse().map_err(|_| Error::Unreadable("tenants.currency"))?;
    Ok(Some(Bearer { token: token(&row)?, currency, granted: row.try_get("granted")? }))
}

/// How many tokens of an envelope are not over.
pub(crate) async fn live(
    connection: &mut PgConnection,
    tenant: TenantId,
    envelope: EnvelopeId,
) -> Result<i64, Error> {
    let count = sqlx::query_scalar(
        "select count(*) from envelope_tokens t
         join envelopes e on e.tenant_id = t.tenant_id and e.envelope_id = t.envelope_id
         where t.tenant_id = $1 and t.revoked_at is null and now() < t.expires_at
            and (t.envelope_id = $2 or (t.is_own_envelope and e.parent_id = $2))",
    );
    Ok(count.bind(tenant.uuid()).bind(envelope.uuid()).fetch_one(connection).await?)
}

/// Adds a token, of which only the digest is kept, and deletes some that ended long ago.
pub(crate) async fn add(
    connection: &mut PgConnection,
    it: &Token,
    digest: &[u8; 32],
) -> Result<(), Error> {
    sqlx::query(
        "insert into envelope_tokens (tenant_id, token_id, digest, envelope_id, is_own_envelope,
            grant_id, models, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(it.tenant.uuid())
    .bind(it.id.uuid())
    .bind(digest.as_slice())
    .bind(it.envelope.uuid())
    .bind(it.inside.is_some())
    .bind(it.grant.uuid())
    .bind(&it.models)
    .bind(Instant(it.created_at))
    .bind(Instant(it.expires_at))
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "delete from envelope_tokens where tenant_id = $1 and token_id in (
            select token_id from envelope_tokens
            where tenant_id = $1 and expires_at < now() - $2::interval
            order by expires_at limit $3)",
    )
    .bind(it.tenant.uuid())
    .bind(KEPT)
    .bind(PURGED)
    .execute(connection)
    .await?;
    Ok(())
}

/// A token by its id, whosever and whether it is accepted or not.
pub(crate) async fn find(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: TokenId,
) -> Result<Option<Token>, Error> {
    let row = sqlx::query(tokens!("where t.tenant_id = $1 and t.token_id = $2"))
        .bind(tenant.uuid())
        .bind(id.uuid())
        .fetch_optional(connection)
        .await?;
    row.map(|it| token(&it)).transpose()
}

/// Which tokens to list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    /// Only those of this host; none: of any.
    pub(crate) host: Option<HostId>,
    /// Only those of this envelope, or inside it.
    pub(crate) envelope: Option<EnvelopeId>,
}

/// Tokens before `before`, newest first.
pub(crate) async fn list(
    connection: &mut PgConnection,
    tenant: TenantId,
    filter: Filter,
    (before, most): (Option<Uuid>, i64),
) -> Result<Vec<Token>, Error> {
    let rows = sqlx::query(tokens!(
        "where t.tenant_id = $1 and ($2::uuid is null or e.host_id = $2)
            and ($3::uuid is null or t.envelope_id = $3 or (t.is_own_envelope and e.parent_id = $3))
            and ($4::uuid is null or t.token_id < $4)
         order by t.token_id desc limit $5"
    ))
    .bind(tenant.uuid())
    .bind(filter.host.map(HostId::uuid))
    .bind(filter.envelope.map(EnvelopeId::uuid))
    .bind(before)
    .bind(most)
    .fetch_all(connection)
    .await?;
    rows.iter().map(token).collect()
}

/// Lets a token last until then, unless it is over by now. False: it is.
pub(crate) async fn extend(
    connection: &mut PgConnection,
    (tenant, id): (TenantId, TokenId),
    until: Timestamp,
) -> Result<bool, Error> {
    let done = sqlx::query(
        "update envelope_tokens set expires_at = greatest(expires_at, $3)
         where tenant_id = $1 and token_id = $2 and revoked_at is null and now() < expires_at",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .bind(Instant(until))
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes a token, once.
pub(crate) async fn revoke(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: TokenId,
) -> Result<(), Error> {
    sqlx::query(
        "update envelope_tokens set revoked_at = coalesce(revoked_at, now())
         where tenant_id = $1 and token_id = $2",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .execute(connection)
    .await?;
    Ok(())
}

fn token(row: &PgRow) -> Result<Token, Error> {
    let id = |name: &str| row.try_get::<Uuid, _>(name);
    let instant = |name: &str| row.try_get::<Instant, _>(name);
    let parent: Option<Uuid> = row.try_get("parent_id")?;
    let is_own: bool = row.try_get("is_own_envelope")?;
    Ok(Token {
        id: id("token_id")?.into(),
        tenant: id("tenant_id")?.into(),
        host: id("host_id")?.into(),
        user: row.try_get("user_name")?,
        server: row.try_get("server_name")?,
        envelope: id("envelope_id")?.into(),
        inside: parent.filter(|_| is_own).map(Into::into),
        grant: id("grant_id")?.into(),
        models: row.try_get("models")?,
        created_at: instant("created_at")?.0,
        expires_at: instant("expires_at")?.0,
        revoked_at: row.try_get::<Option<Instant>, _>("revoked_at")?.map(|it| it.0),
    })
}
