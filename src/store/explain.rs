//! What an entry stands on.

use jiff::{Timestamp, civil::Date};
use sqlx::{PgConnection, Row};

use super::{
    Error,
    instant::{Day, Instant},
    prices,
};
use crate::domain::{
    ids::{CallId, EntryId, PriceVersionId, TenantId},
    price::Prices,
};

/// The versions behind an entry, and what was booked of its hold before.
#[derive(Debug, Clone)]
pub(crate) struct Grounds {
    pub(crate) call: CallId,
    pub(crate) usd_nanos_per_unit: i64,
    pub(crate) fx_buffer_bp: i32,
    pub(crate) fixing_date: Option<Date>,
    pub(crate) prices: Option<(PriceVersionId, Prices)>,
    pub(crate) effective_at: Option<Timestamp>,
    /// Entries of the hold before it, and their sums: pico-USD, and in nano-units the
    /// provider's share and the buffer.
    pub(crate) before: (i64, i128, i64, i64),
}

/// What an entry stands on; none: there is no such entry.
pub(crate) async fn grounds(
    connection: &mut PgConnection,
    tenant: TenantId,
    entry: EntryId,
) -> Result<Option<Grounds>, Error> {
    let row = sqlx::query(include_str!("sql/explain.sql"))
        .bind(tenant.uuid())
        .bind(entry.uuid())
        .fetch_optional(&mut *connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let pico: &str = row.try_get("before_pico")?;
    let pico = pico.parse().map_err(|_| Error::Unreadable("entries.pico_usd"))?;
    let version = row.try_get::<Option<uuid::Uuid>, _>("price_version_id")?;
    let version = version.map(PriceVersionId::from);
    Ok(Some(Grounds {
        call: row.try_get::<uuid::Uuid, _>("call_id")?.into(),
        usd_nanos_per_unit: row.try_get("usd_nanos_per_unit")?,
        fx_buffer_bp: row.try_get("fx_buffer_bp")?,
        fixing_date: row.try_get::<Option<Day>, _>("fixing_date")?.map(|it| it.0),
        prices: match version {
            Some(id) => prices::price_version(connection, tenant, id).await?.map(|it| (id, it)),
            None => None,
        },
        effective_at: row.try_get::<Option<Instant>, _>("effective_at")?.map(|it| it.0),
        before: (
            row.try_get("before_entries")?,
            pico,
            row.try_get("before_provider")?,
            row.try_get("before_buffer")?,
        ),
    }))
}
