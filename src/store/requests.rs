//! Rows of `requests`: what came of requests that bear an id.

use std::time::Duration;

use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::{Error, Store};
use crate::domain::ids::{CallId, HostId, TenantId};

/// How long what came of a request is known.
const KEPT: Duration = Duration::from_mins(10);

/// After its last entry a call that still runs has ended its row long before this, or has
/// another hold: see [`crate::budget::decide::Ask::not_after`].
const SILENCE: Duration = Duration::from_mins(1);

/// Whose request, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) tenant: TenantId,
    pub(crate) host: HostId,
    /// Digest of the host's id for it.
    pub(crate) request: [u8; 32],
}

/// A call that wants to answer a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    /// Digest of what is asked.
    pub(crate) body: [u8; 32],
    pub(crate) call: CallId,
    /// After so much time the call is over, whatever happens.
    pub(crate) time: Duration,
}

/// A request that was claimed before.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) body: [u8; 32],
    pub(crate) call: CallId,
    /// None: nobody has said yet.
    pub(crate) ended: Option<Ended>,
    /// The call is over, whether it said so or not.
    pub(crate) is_over: bool,
    /// It only waits for the purge.
    pub(crate) is_due: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// A reply, sealed.
    Kept(Vec<u8>),
    /// A reply that was not kept.
    Unkept,
    /// A fault, although something was held or booked.
    Lost,
}

/// What the books know of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace {
    /// A hold is open, or something other than nothing was booked.
    pub(crate) has_cost: bool,
    /// All is booked, and has been for a while.
    pub(crate) is_over: bool,
}

// === claims ===

/// Claims a request; false when it is claimed already.
pub(crate) async fn claim(
    connection: &mut PgConnection,
    key: &Key,
    claim: &Claim,
) -> Result<bool, Error> {
    let done = sqlx::query(
        "insert into requests (tenant_id, host_id, request, body, call_id, expires_at, purge_at)
         values ($1, $2, $3, $4, $5,
            now() + $6 * interval '1 ms', now() + ($6 + $7) * interval '1 ms')
         on conflict (tenant_id, host_id, request) do nothing",
    )
    .bind(key.tenant.uuid())
    .bind(key.host.uuid())
    .bind(key.request.as_slice())
    .bind(claim.body.as_slice())
    .bind(claim.call.uuid())
    .bind(ms(claim.time))
    .bind(ms(KEPT))
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Puts a claim in the place of one of `dead`, a call that certainly costs nothing any
/// more. False when somebody else was first.
pub(crate) async fn take_over(
    connection: &mut PgConnection,
    key: &Key,
    dead: CallId,
    claim: &Claim,
) -> Result<bool, Error> {
    let done = sqlx::query(
        "update requests set body = $4, call_id = $5, ended = null, reply = null,
            claimed_at = now(), expires_at = now() + $6 * interval '1 ms',
            purge_at = now() + ($6 + $7) * interval '1 ms'
         where tenant_id = $1 and host_id = $2 and request = $3 and call_id = $8",
    )
    .bind(key.tenant.uuid())
    .bind(key.host.uuid())
    .bind(key.request.as_slice())
    .bind(claim.body.as_slice())
    .bind(claim.call.uuid())
    .bind(ms(claim.time))
    .bind(ms(KEPT))
    .bind(dead.uuid())
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// What is known of a request.
pub(crate) async fn find(connection: &mut PgConnection, key: &Key) -> Result<Option<Row>, Error> {
    let row = sqlx::query(
        "select body, call_id, ended, reply, expires_at <= now() as is_over,
            purge_at <= now() as is_due
         from requests where tenant_id = $1 and host_id = $2 and request = $3",
    )
    .bind(key.tenant.uuid())
    .bind(key.host.uuid())
    .bind(key.request.as_slice())
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let reply: Option<Vec<u8>> = row.try_get("reply")?;
    let ended = match (row.try_get::<Option<&str>, _>("ended")?, reply) {
        (None, None) => None,
        (Some("kept"), Some(reply)) => Some(Ended::Kept(reply)),
        (Some("unkept"), None) => Some(Ended::Unkept),
        (Some("lost"), None) => Some(Ended::Lost),
        _ => return Err(Error::Unreadable("requests.ended")),
    };
    let body = row.try_get::<&[u8], _>("body")?.try_into();
    Ok(Some(Row {
        body: body.map_err(|_| Error::Unreadable("requests.body"))?,
        call: row.try_get::<Uuid, _>("call_id")?.into(),
        ended,
        is_over: row.try_get("is_over")?,
        is_due: row.try_get("is_due")?,
    }))
}

/// What the books know of a call.
pub(crate) async fn trace(
    connection: &mut PgConnection,
    tenant: TenantId,
    call: CallId,
) -> Result<Trace, Error> {
    let holds = call.holds();
    let row = sqlx::query(
        "select held, held or coalesce(billed, false) as has_cost,
            not held and coalesce(last < now() - $4 * interval '1 ms', false) as is_over
         from (select exists (select from holds
                where tenant_id = $1 and hold_id between $2 and $3) as held) h,
            (select bool_or(kind <> 'void') as billed, max(booked_at) as last from entries
                where tenant_id = $1 and entry_id between $2 and $3) e",
    )
    .bind(tenant.uuid())
    .bind(holds.start().uuid())
    .bind(holds.end().uuid())
    .bind(ms(SILENCE))
    .fetch_one(connection)
    .await?;
    Ok(Trace { has_cost: row.try_get("has_cost")?, is_over: row.try_get("is_over")? })
}

// === ends ===

/// Says what came of a claimed request. Nothing happens if it is another call's by now.
pub(crate) async fn end(
    connection: &mut PgConnection,
    key: &Key,
    call: CallId,
    ended: Ended,
) -> Result<(), Error> {
    let (word, reply) = match ended {
        Ended::Kept(reply) => ("kept", Some(reply)),
        Ended::Unkept => ("unkept", None),
        Ended::Lost => ("lost", None),
    };
    sqlx::query(
        "update requests set ended = $5, reply = $6, purge_at = now() + $7 * interval '1 ms'
         where tenant_id = $1 and host_id = $2 and request = $3 and call_id = $4",
    )
    .bind(key.tenant.uuid())
    .bind(key.host.uuid())
    .bind(key.request.as_slice())
    .bind(call.uuid())
    .bind(word)
    .bind(reply)
    .bind(ms(KEPT))
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives a claimed request back: the next one with its id is as the first.
pub(crate) async fn free(
    connection: &mut PgConnection,
    key: &Key,
    call: CallId,
) -> Result<(), Error> {
    sqlx::query(
        "delete from requests
         where tenant_id = $1 and host_id = $2 and request = $3 and call_id = $4",
    )
    .bind(key.tenant.uuid())
    .bind(key.host.uuid())
    .bind(key.request.as_slice())
    .bind(call.uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes at most `most` rows that are due, of any tenant, the oldest first. That
/// they are due is asked twice: one may be taken over meanwhile.
pub(crate) async fn purge(store: &Store, most: u64) -> Result<u64, Error> {
    let done = sqlx::query(
        "delete from requests where purge_at <= now() and (tenant_id, host_id, request) in (
            select tenant_id, host_id, request from requests
            where purge_at <= now() order by purge_at limit $1)",
    )
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .execute(store.duties())
    .await?;
    Ok(done.rows_affected())
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
