//! Months that are closed.

use jiff::{Timestamp, civil::Date};
use sqlx::{PgConnection, Row};

use super::{
    Error,
    instant::{Day, Instant},
    seals::Digest,
};
use crate::domain::ids::TenantId;

/// What a month comes to, and what stands in the way of closing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) entries: i64,
    pub(crate) estimated: i64,
    /// Charged, overrun, provider payable, buffer, in nano-units.
    pub(crate) money: [i128; 4],
    /// Entries of a model without a price, or without an exchange rate.
    pub(crate) unpriced: i64,
    pub(crate) without_rate: i64,
    /// Whether it ended more than a minute ago, which is longer than any transaction.
    pub(crate) is_over: bool,
    pub(crate) closed_at: Option<Timestamp>,
    /// An earlier month with entries that is open.
    pub(crate) open_before: Option<String>,
    /// Holds from before its end.
    pub(crate) open_holds: i64,
    /// The last batch that has entries of it, or of a month before.
    pub(crate) last_batch: i64,
}

/// How a month stands.
pub(crate) async fn standing(
    connection: &mut PgConnection,
    tenant: TenantId,
    month: Date,
) -> Result<Standing, Error> {
    let row = sqlx::query(include_str!("sql/month_checks.sql"))
        .bind(tenant.uuid())
        .bind(Day(month))
        .fetch_one(connection)
        .await?;
    let money = |name: &'static str| -> Result<i128, Error> {
        row.try_get::<&str, _>(name)?.parse().map_err(|_| Error::Unreadable(name))
    };
    Ok(Standing {
        entries: row.try_get("entries")?,
        estimated: row.try_get("estimated")?,
        money: [
            money("charged")?,
            money("overrun")?,
            money("provider_payable")?,
            money("fx_buffer")?,
        ],
        unpriced: row.try_get("unpriced")?,
        without_rate: row.try_get("without_rate")?,
        is_over: row.try_get("is_over")?,
        closed_at: row.try_get::<Option<Instant>, _>("closed_at")?.map(|it| it.0),
        open_before: row.try_get("open_before")?,
        open_holds: row.try_get("open_holds")?,
        last_batch: row.try_get("last_batch")?,
    })
}

/// Closes a month with what it came to.
pub(crate) async fn close(
    connection: &mut PgConnection,
    tenant: TenantId,
    (month, head): (Date, Digest),
    standing: &Standing,
) -> Result<Timestamp, Error> {
    let [charged, overrun, payable, buffer] = standing.money;
    let at: Instant = sqlx::query_scalar(
        "insert into periods (tenant_id, month, last_batch, head, entries, charged, overrun,
            provider_payable, fx_buffer)
         values ($1, $2, $3, $4, $5, $6::text::numeric, $7::text::numeric, $8::text::numeric, $9::text::numeric)
         returning closed_at",
    )
    .bind(tenant.uuid())
    .bind(Day(month))
    .bind(standing.last_batch)
    .bind(head.as_slice())
    .bind(standing.entries)
    .bind(charged.to_string())
    .bind(overrun.to_string())
    .bind(payable.to_string())
    .bind(buffer.to_string())
    .fetch_one(connection)
    .await?;
    Ok(at.0)
}
