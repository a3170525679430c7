//! Rows of `extensions`: the tokens that were used, and what was given for each.

use jiff::Timestamp;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, instant::Instant};
use crate::domain::{
    extension::{Extension, Extra, TIMES_MAX},
    hold::Parties,
    ids::{CallId, CredentialId, EnvelopeId, ExtensionId, GrantId, TenantId},
    money::Amount,
};

/// An answer to be written down, as of Postgres' time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fresh<'a> {
    pub(crate) id: ExtensionId,
    /// The envelope, and whose it is.
    pub(crate) parties: &'a Parties,
    /// The key that the answer came with.
    pub(crate) credential: CredentialId,
    pub(crate) grant: GrantId,
    pub(crate) call: CallId,
    pub(crate) asked: Extra,
    pub(crate) asked_at: Timestamp,
    /// None: the person said no.
    pub(crate) given: Option<Extra>,
    pub(crate) waited_seconds: i64,
}

/// Writes an answer down. False: its token was used before.
pub(crate) async fn add(connection: &mut PgConnection, it: &Fresh<'_>) -> Result<bool, Error> {
    let given = it.given.unwrap_or_default();
    let done = sqlx::query(
        "insert into extensions (tenant_id, extension_id, envelope_id, grant_id, host_id,
            credential_id, user_id, server_id, call_id, asked_calls, asked_seconds, asked_money,
            calls, seconds, money, waited_seconds, accepted, asserted_by, asked_at, given_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 'host', $18, now())
         on conflict (tenant_id, extension_id) do nothing",
    )
    .bind(it.parties.tenant.uuid())
    .bind(it.id.uuid())
    .bind(it.parties.envelope.uuid())
    .bind(it.grant.uuid())
    .bind(it.parties.host.uuid())
    .bind(it.credential.uuid())
    .bind(it.parties.user.uuid())
    .bind(it.parties.server.uuid())
    .bind(it.call.uuid())
    .bind(it.asked.calls)
    .bind(it.asked.seconds)
    .bind(it.asked.money.nanos())
    .bind(given.calls)
    .bind(given.seconds)
    .bind(given.money.nanos())
    .bind(it.waited_seconds)
    .bind(it.given.is_some())
    .bind(Instant(it.asked_at))
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The answers that an envelope got, oldest first.
pub(crate) async fn of_envelope(
    connection: &mut PgConnection,
    tenant: TenantId,
    envelope: EnvelopeId,
) -> Result<Vec<Extension>, Error> {
    let rows = sqlx::query(
        "select * from extensions where tenant_id = $1 and envelope_id = $2
         order by given_at, extension_id limit $3",
    )
    .bind(tenant.uuid())
    .bind(envelope.uuid())
    .bind(TIMES_MAX)
    .fetch_all(connection)
    .await?;
    rows.iter().map(extension).collect()
}

fn extension(row: &PgRow) -> Result<Extension, Error> {
    Ok(Extension {
        extra: Extra {
            calls: row.try_get("calls")?,
            seconds: row.try_get("seconds")?,
            money: Amount::from_nanos(row.try_get("money")?),
        },
        waited_seconds: row.try_get("waited_seconds")?,
        accepted: row.try_get("accepted")?,
        given_at: row.try_get::<Instant, _>("given_at")?.0,
        call: row.try_get::<Uuid, _>("call_id")?.into(),
    })
}
