//! Rows of envelopes and of the scopes that find them.

use jiff::Timestamp;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, instant::Instant};
use crate::domain::{
    envelope::{Allowance, Landing, Lifetime},
    extension::Extra,
    hold::Parties,
    ids::{EnvelopeId, GrantId, TenantId},
    money::Amount,
};

/// An envelope as it is kept.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// Whose it is, itself included.
    pub parties: Parties,
    /// What it allows, extensions included.
    pub allowance: Allowance,
    /// When.
    pub life: Lifetime,
    /// The envelopes that it stands in, the nearest first.
    pub ancestors: Vec<EnvelopeId>,
    /// How often a person has added to it.
    pub extended: i64,
    /// When that was last.
    pub extended_at: Option<Timestamp>,
}

/// An envelope found by its scope.
#[derive(Debug, Clone)]
pub(crate) struct Scoped {
    pub(crate) envelope: Envelope,
    /// Postgres' time.
    pub(crate) now: Timestamp,
    /// When a limit of it was last moved.
    pub(crate) used_at: Timestamp,
    /// Whether a call is under way.
    pub(crate) busy: bool,
}

macro_rules! named {
    () => {
        "select e.* from unnest($2::uuid[]) as k (envelope_id)
         join envelopes e on e.tenant_id = $1 and e.envelope_id = k.envelope_id"
    };
}

/// An envelope by its id, of whichever host, user and server.
pub(crate) async fn find(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: EnvelopeId,
) -> Result<Option<Envelope>, Error> {
    let row = sqlx::query("select * from envelopes where tenant_id = $1 and envelope_id = $2")
        .bind(tenant.uuid())
        .bind(id.uuid())
        .fetch_optional(connection)
        .await?;
    row.map(|it| envelope(&it)).transpose()
}

/// The same, locked: it is neither closed nor extended until the transaction ends. Its
/// limits are locked after it, never before.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: EnvelopeId,
) -> Result<Option<Envelope>, Error> {
    let row = sqlx::query(
        "select * from envelopes where tenant_id = $1 and envelope_id = $2 for no key update",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .fetch_optional(connection)
    .await?;
    row.map(|it| envelope(&it)).transpose()
}

/// Adds to an envelope that is locked, `seconds` all told; its limits are the caller's to
/// raise. Returns when it ends now.
pub(crate) async fn extend(
    connection: &mut PgConnection,
    (tenant, id): (TenantId, EnvelopeId),
    extra: &Extra,
    seconds: i64,
) -> Result<Timestamp, Error> {
    let closes_at: Instant = sqlx::query_scalar(
        "update envelopes set extended_times = extended_times + 1, extended_at = now(),
            extended_calls = extended_calls + $3, extended_money = extended_money + $4,
            extended_seconds = extended_seconds + $5, closes_at = closes_at + $5 * interval '1 second'
         where tenant_id = $1 and envelope_id = $2 returning closes_at",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .bind(extra.calls)
    .bind(extra.money.nanos())
    .bind(seconds)
    .fetch_one(connection)
    .await?;
    Ok(closes_at.0)
}

/// Which envelopes to list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter {
    /// Only those of this host; none: of any.
    pub(crate) host: Option<Uuid>,
    pub(crate) user: Option<Uuid>,
    pub(crate) server: Option<Uuid>,
    /// Only those that stand in this one at first hand.
    pub(crate) parent: Option<Uuid>,
}

/// Envelopes before `before`, newest first.
pub(crate) async fn list(
    connection: &mut PgConnection,
    tenant: TenantId,
    filter: Filter,
    (before, most): (Option<Uuid>, i64),
) -> Result<Vec<Envelope>, Error> {
    let rows = sqlx::query(
        "select * from envelopes
         where tenant_id = $1 and ($2::uuid is null or host_id = $2) and ($3::uuid is null or user_id = $3)
             and ($4::uuid is null or server_id = $4) and ($5::uuid is null or envelope_id < $5)
             and ($7::uuid is null or parent_id = $7)
         order by envelope_id desc limit $6",
    )
    .bind(tenant.uuid())
    .bind(filter.host)
    .bind(filter.user)
    .bind(filter.server)
    .bind(before)
    .bind(most)
    .bind(filter.parent)
    .fetch_all(connection)
    .await?;
    rows.iter().map(envelope).collect()
}

/// Whether envelopes may be closed while a transaction looks at them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// They may.
    Allowed,
    /// Not until it ends.
    Held,
}

/// These envelopes, by id.
pub(crate) async fn all_of(
    connection: &mut PgConnection,
    tenant: TenantId,
    ids: &[EnvelopeId],
    closing: Closing,
) -> Result<Vec<Envelope>, Error> {
    let ids: Vec<Uuid> = ids.iter().map(|it| it.uuid()).collect();
    let statement = match closing {
        Closing::Allowed => concat!(named!(), " order by e.envelope_id"),
        Closing::Held => concat!(named!(), " order by e.envelope_id for share of e"),
    };
    let rows = sqlx::query(statement).bind(tenant.uuid()).bind(ids).fetch_all(connection).await?;
    rows.iter().map(envelope).collect()
}

/// How many envelopes stand open in this one at first hand.
pub(crate) async fn open_children(
    connection: &mut PgConnection,
    tenant: TenantId,
    parent: EnvelopeId,
) -> Result<i64, Error> {
    let count = sqlx::query_scalar(
        "select count(*) from envelopes
         where tenant_id = $1 and parent_id = $2 and closed_at is null and closes_at > now()",
    );
    Ok(count.bind(tenant.uuid()).bind(parent.uuid()).fetch_one(connection).await?)
}

/// Opens an envelope as of Postgres' time, in those that it stands in. Its limits are
/// the caller's to create.
pub(crate) async fn open(
    connection: &mut PgConnection,
    (parties, ancestors): (&Parties, &[EnvelopeId]),
    grant: GrantId,
    allowance: &Allowance,
) -> Result<Envelope, Error> {
    let ancestors: Vec<Uuid> = ancestors.iter().map(|it| it.uuid()).collect();
    let row = sqlx::query(
        "insert into envelopes (tenant_id, envelope_id, host_id, user_id, server_id, grant_id,
            calls, seconds, money, tokens, landing_reserve, landing_tokens, opened_at, closes_at,
            concurrent_calls, ancestors)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
            now(), now() + $8 * interval '1 second', $13, $14)
         returning *",
    )
    .bind(parties.tenant.uuid())
    .bind(parties.envelope.uuid())
    .bind(parties.host.uuid())
    .bind(parties.user.uuid())
    .bind(parties.server.uuid())
    .bind(grant.uuid())
    .bind(allowance.calls)
    .bind(allowance.seconds)
    .bind(allowance.money.nanos())
    .bind(allowance.tokens)
    .bind(allowance.landing.map(|it| it.reserve.nanos()))
    .bind(allowance.landing.map(|it| it.tokens))
    .bind(allowance.concurrent_calls)
    .bind(ancestors)
    .fetch_one(connection)
    .await?;
    envelope(&row)
}

/// Marks an envelope and all that stand in it as closed, once, and returns them. Their
/// limits are the caller's to close.
pub(crate) async fn close(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: EnvelopeId,
) -> Result<Vec<EnvelopeId>, Error> {
    // In a statement of its own: whoever is opening one in it has it locked, and only what
    // begins once that has ended sees the new one.
    sqlx::query(
        "select from envelopes where tenant_id = $1 and envelope_id = $2 for no key update",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .execute(&mut *connection)
    .await?;
    let ids: Vec<Uuid> = sqlx::query_scalar(include_str!("sql/close_envelopes.sql"))
        .bind(tenant.uuid())
        .bind(id.uuid())
        .fetch_all(connection)
        .await?;
    Ok(ids.into_iter().map(Into::into).collect())
}

/// The envelope that a scope points at, if it points at one.
pub(crate) async fn of_scope(
    connection: &mut PgConnection,
    parties: &Parties,
    scope: &[u8; 32],
) -> Result<Option<Scoped>, Error> {
    let row = sqlx::query(
        "select e.*, now() as now,
            (select max(used_at) from limits l
                where l.tenant_id = e.tenant_id and l.envelope_id = e.envelope_id) as used_at,
            exists (select from limits l where l.tenant_id = e.tenant_id
                and l.envelope_id = e.envelope_id and l.held > 0) as busy
         from envelope_scopes s
         join envelopes e on e.tenant_id = s.tenant_id and e.envelope_id = s.envelope_id
         where s.tenant_id = $1 and s.host_id = $2 and s.user_id = $3 and s.server_id = $4 and s.scope = $5",
    )
    .bind(parties.tenant.uuid())
    .bind(parties.host.uuid())
    .bind(parties.user.uuid())
    .bind(parties.server.uuid())
    .bind(scope.as_slice())
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let envelope = envelope(&row)?;
    Ok(Some(Scoped {
        used_at: row
            .try_get::<Option<Instant>, _>("used_at")?
            .map_or(envelope.life.opened_at, |it| it.0),
        envelope,
        now: row.try_get::<Instant, _>("now")?.0,
        busy: row.try_get("busy")?,
    }))
}

/// Points a scope at `parties.envelope` if it still points at `instead_of`. False
/// when somebody else was first.
pub(crate) async fn point_scope(
    connection: &mut PgConnection,
    parties: &Parties,
    scope: &[u8; 32],
    instead_of: Option<EnvelopeId>,
) -> Result<bool, Error> {
    let result = sqlx::query(
        "insert into envelope_scopes as s (tenant_id, host_id, user_id, server_id, scope, envelope_id)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (tenant_id, host_id, user_id, server_id, scope)
         do update set envelope_id = excluded.envelope_id where s.envelope_id = $7",
    )
    .bind(parties.tenant.uuid())
    .bind(parties.host.uuid())
    .bind(parties.user.uuid())
    .bind(parties.server.uuid())
    .bind(scope.as_slice())
    .bind(parties.envelope.uuid())
    .bind(instead_of.map(EnvelopeId::uuid))
    .execute(connection)
    .await?;
    Ok(result.rows_affected() == 1)
}

fn envelope(row: &PgRow) -> Result<Envelope, Error> {
    let id = |name: &str| row.try_get::<Uuid, _>(name);
    let instant = |name: &str| row.try_get::<Instant, _>(name);
    let optional = |name: &str| row.try_get::<Option<i64>, _>(name);
    let extended = |opened: &str, added: &str| -> Result<i64, Error> {
        let added: i64 = row.try_get(added)?;
        Ok(added.saturating_add(row.try_get(opened)?))
    };
    let envelope: EnvelopeId = id("envelope_id")?.into();
    let ancestors: Vec<Uuid> = row.try_get("ancestors")?;
    let landing = optional("landing_reserve")?.zip(optional("landing_tokens")?);
    let landing = landing.map(|(it, tokens)| Landing { reserve: Amount::from_nanos(it), tokens });
    Ok(Envelope {
        parties: Parties {
            tenant: id("tenant_id")?.into(),
            host: id("host_id")?.into(),
            user: id("user_id")?.into(),
            server: id("server_id")?.into(),
            envelope,
            root: None,
        },
        allowance: Allowance {
            calls: extended("calls", "extended_calls")?,
            seconds: extended("seconds", "extended_seconds")?,
            money: Amount::from_nanos(extended("money", "extended_money")?),
            tokens: optional("tokens")?,
            concurrent_calls: optional("concurrent_calls")?,
            landing,
        },
        life: Lifetime {
            id: envelope,
            opened_at: instant("opened_at")?.0,
            closes_at: instant("closes_at")?.0,
            closed_at: row.try_get::<Option<Instant>, _>("closed_at")?.map(|it| it.0),
        },
        ancestors: ancestors.into_iter().map(Into::into).collect(),
        extended: row.try_get("extended_times")?,
        extended_at: row.try_get::<Option<Instant>, _>("extended_at")?.map(|it| it.0),
    })
}
