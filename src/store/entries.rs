//! Rows of `entries`: what was booked of a hold, and later truths beside it. The
//! entries that resolve holds are written by a lane's batch.

use std::collections::BTreeSet;

use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{
    Error,
    batch::{certainty_word, claim, cut_word, entry_kind_word, signed},
    holds::{fx, limits},
};
use crate::domain::{
    charge::Split,
    entry::{Booking, EntryKind, Resolution},
    fx::{Cost, FxQuote},
    ids::{EntryId, EnvelopeId, HoldId, HostId, PriceVersionId, TenantId},
    limit::LimitKey,
    money::Amount,
};

/// The entry that resolved a hold, as far as a later truth needs it.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    pub(crate) kind: EntryKind,
    /// Whose it is.
    pub(crate) host: HostId,
    pub(crate) envelope: EnvelopeId,
    /// Whether the host ran the model itself.
    pub(crate) by_host: bool,
    pub(crate) fx: FxQuote,
    pub(crate) price_version: Option<PriceVersionId>,
    pub(crate) limits: Vec<LimitKey>,
    /// Tokens that were held.
    pub(crate) held_tokens: i64,
    /// Its own part, later truths left out.
    pub(crate) money: Split,
}

/// All that is booked of a hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Booked {
    /// How many entries there are.
    pub(crate) entries: i64,
    /// Whether one of them is the provider's own count.
    pub(crate) is_exact: bool,
    pub(crate) booking: Booking,
    pub(crate) cost: Cost,
    pub(crate) pico_usd: i128,
}

/// The entry that resolved a hold, if one has.
pub(crate) async fn resolution(
    connection: &mut PgConnection,
    tenant: TenantId,
    hold: HoldId,
) -> Result<Option<Resolved>, Error> {
    let row = sqlx::query(
        "select e.*, array(
                select l.width
                from unnest(e.limit_ids) with ordinality as u (limit_id, n)
                join limits l on l.tenant_id = e.tenant_id and l.limit_id = u.limit_id
                order by u.n) as widths
         from entries e where e.tenant_id = $1 and e.entry_id = $2",
    )
    .bind(tenant.uuid())
    .bind(hold.uuid())
    .fetch_optional(connection)
    .await?;
    row.map(|it| resolved(&it, tenant)).transpose()
}

fn resolved(row: &PgRow, tenant: TenantId) -> Result<Resolved, Error> {
    Ok(Resolved {
        kind: entry_kind(row.try_get("kind")?)?,
        host: row.try_get::<Uuid, _>("host_id")?.into(),
        envelope: row.try_get::<Uuid, _>("envelope_id")?.into(),
        by_host: row.try_get("by_host")?,
        fx: fx(row)?,
        price_version: row.try_get::<Option<Uuid>, _>("price_version_id")?.map(Into::into),
        limits: limits(row, tenant)?,
        held_tokens: row.try_get("held_tokens")?,
        money: Split { charge: row.try_get("charged")?, overrun: row.try_get("overrun")? },
    })
}

/// The holds among these that an entry has resolved.
pub(crate) async fn ended(
    connection: &mut PgConnection,
    ids: &[(TenantId, HoldId)],
) -> Result<BTreeSet<HoldId>, Error> {
    let (tenants, holds): (Vec<Uuid>, Vec<Uuid>) =
        ids.iter().map(|(tenant, id)| (tenant.uuid(), id.uuid())).unzip();
    let found: Vec<Uuid> = sqlx::query_scalar(
        "select e.entry_id from unnest($1::uuid[], $2::uuid[]) as k (tenant_id, hold_id)
         join entries e on e.tenant_id = any(array[k.tenant_id]) and e.entry_id = k.hold_id",
    )
    .bind(tenants)
    .bind(holds)
    .fetch_all(connection)
    .await?;
    Ok(found.into_iter().map(HoldId::from).collect())
}

/// All that is booked of a hold so far.
pub(crate) async fn booked(
    connection: &mut PgConnection,
    tenant: TenantId,
    hold: HoldId,
) -> Result<Booked, Error> {
    let row = sqlx::query(include_str!("sql/booked_so_far.sql"))
        .bind(tenant.uuid())
        .bind(hold.uuid())
        .fetch_one(connection)
        .await?;
    let number = |name: &str| row.try_get::<i64, _>(name);
    let provider = Amount::from_nanos(number("provider_payable")?);
    let buffer = Amount::from_nanos(number("fx_buffer")?);
    let total = provider.plus(buffer).map_err(|_| Error::Unreadable("entries.amounts"))?;
    let pico: &str = row.try_get("pico_usd")?;
    Ok(Booked {
        entries: number("entries")?,
        is_exact: row.try_get("is_exact")?,
        booking: Booking {
            calls: number("calls")?,
            money: Split { charge: number("charged")?, overrun: number("overrun")? },
            tokens: Split { charge: number("tokens_charged")?, overrun: number("tokens_overrun")? },
        },
        cost: Cost { total, provider, buffer },
        pico_usd: pico.parse().map_err(|_| Error::Unreadable("entries.pico_usd"))?,
    })
}

/// Writes a later truth beside the entry of `hold`, with the differences that it
/// makes. The limits are locked by the caller.
pub(crate) async fn add(
    connection: &mut PgConnection,
    (tenant, hold, id): (TenantId, HoldId, EntryId),
    change: &Resolution,
) -> Result<(), Error> {
    let number: i64 = sqlx::query_scalar(
        "insert into batches as b (tenant_id, last_no) values ($1, 1)
         on conflict (tenant_id) do update set last_no = b.last_no + 1 returning last_no",
    )
    .bind(tenant.uuid())
    .fetch_one(&mut *connection)
    .await?;
    let Resolution { kind, truth, booking } = change;
    sqlx::query(include_str!("sql/late_entry.sql"))
        .bind(tenant.uuid())
        .bind(hold.uuid())
        .bind(id.uuid())
        .bind(number)
        .bind(entry_kind_word(*kind))
        .bind(signed(truth.usage.input))
        .bind(signed(truth.usage.cache_read))
        .bind(signed(truth.usage.cache_write))
        .bind(signed(truth.usage.output))
        .bind(signed(truth.usage.reasoning))
        .bind(truth.pico_usd.to_string())
        .bind(booking.tokens.charge)
        .bind(booking.tokens.overrun)
        .bind(booking.money.charge)
        .bind(booking.money.overrun)
        .bind(truth.cost.provider.nanos())
        .bind(truth.cost.buffer.nanos())
        .bind(certainty_word(&truth.certainty))
        .bind(claim(&truth.certainty))
        .bind(truth.cut.map(cut_word))
        .execute(connection)
        .await?;
    Ok(())
}

/// Moves a limit that is locked.
pub(crate) async fn move_limit(
    connection: &mut PgConnection,
    key: LimitKey,
    by: Split,
) -> Result<(), Error> {
    sqlx::query(include_str!("sql/move_limit.sql"))
        .bind(key.tenant.uuid())
        .bind(key.id.uuid())
        .bind(by.charge)
        .bind(by.overrun)
        .execute(connection)
        .await?;
    Ok(())
}

/// A word as a kind.
pub(crate) fn entry_kind(word: &str) -> Result<EntryKind, Error> {
    match word {
        "settle" => Ok(EntryKind::Settle),
        "void" => Ok(EntryKind::Void),
        "expire" => Ok(EntryKind::Expire),
        "late_settle" => Ok(EntryKind::LateSettle),
        "correction" => Ok(EntryKind::Correction),
        _ => Err(Error::Unreadable("entries.kind")),
    }
}
