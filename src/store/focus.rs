//! Sums of a day with prices and names, for exports.

use jiff::civil::Date;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, entries::entry_kind, instant::Day};
use crate::domain::{
    entry::EntryKind,
    ids::{FxRateId, HostId, ModelId, PriceVersionId, ServerId, TenantId},
    price::Prices,
};

/// What one user had of one server and one model on a day, at one price.
#[derive(Debug, Clone)]
pub struct Group {
    /// The server.
    pub server: ServerId,
    /// Its name; empty where it was erased, as all the following.
    pub server_name: String,
    /// The person.
    pub user_name: String,
    /// The client application.
    pub host: HostId,
    /// Its name.
    pub host_name: String,
    /// The model; none where the host ran its own.
    pub model: Option<ModelId>,
    /// Its alias.
    pub alias: String,
    /// What its maker calls it.
    pub vendor_model: String,
    /// The backend's name.
    pub backend_name: String,
    /// The project root.
    pub root: String,
    /// The version of the prices, and the prices.
    pub prices: Option<(PriceVersionId, Prices)>,
    /// The exchange rate.
    pub fx_rate: FxRateId,
    /// Nano-USD that one unit of the tenant's currency buys.
    pub usd_nanos_per_unit: i64,
    /// What the rate's age adds, in hundredths of a percent.
    pub fx_buffer_bp: i32,
    /// Why entries were written.
    pub kind: EntryKind,
    /// Whether tokens times prices are the cost.
    pub priced: bool,
    /// The month of what they correct.
    pub corrected_month: Option<Date>,
    /// How many entries.
    pub entries: i64,
    /// Those of them whose cost is a bound of ours.
    pub estimated: i64,
    /// Tokens: input, cache read, cache write, output, reasoning.
    pub tokens: [i64; 5],
    /// Nano-units: charged, overrun, provider payable, buffer.
    pub money: [i64; 4],
    /// The provider's cost in pico-USD.
    pub pico_usd: i128,
}

/// The groups of a day, at most `most`.
pub(crate) async fn day(
    connection: &mut PgConnection,
    tenant: TenantId,
    (day, most): (Date, i64),
) -> Result<Vec<Group>, Error> {
    let rows = sqlx::query(include_str!("sql/focus_day.sql"))
        .bind(tenant.uuid())
        .bind(Day(day))
        .bind(most)
        .fetch_all(connection)
        .await?;
    rows.iter().map(group).collect()
}

fn group(row: &PgRow) -> Result<Group, Error> {
    let text = |name: &str| -> Result<String, Error> {
        Ok(row.try_get::<Option<String>, _>(name)?.unwrap_or_default())
    };
    let number = |name: &str| row.try_get::<i64, _>(name);
    let id = |name: &str| row.try_get::<Uuid, _>(name);
    let pico: &str = row.try_get("pico_usd_text")?;
    let corrects: bool = row.try_get("is_correction")?;
    let model = Some(id("model_id")?).filter(|it| !it.is_nil());
    Ok(Group {
        server: id("server_id")?.into(),
        server_name: text("server_name")?,
        user_name: text("user_name")?,
        host: id("host_id")?.into(),
        host_name: text("host_name")?,
        model: model.map(Into::into),
        alias: text("alias")?,
        vendor_model: text("vendor_model")?,
        backend_name: text("backend_name")?,
        root: text("root_uri")?,
        prices: prices(row)?,
        fx_rate: id("fx_rate_id")?.into(),
        usd_nanos_per_unit: number("usd_nanos_per_unit")?,
        fx_buffer_bp: row.try_get("fx_buffer_bp")?,
        kind: entry_kind(row.try_get("kind")?)?,
        priced: row.try_get("priced")?,
        corrected_month: if corrects {
            Some(row.try_get::<Day, _>("corrected_month")?.0)
        } else {
            None
        },
        entries: number("entries")?,
        estimated: number("estimated")?,
        tokens: [
            number("input")?,
            number("cache_read")?,
            number("cache_write")?,
            number("output")?,
            number("reasoning")?,
        ],
        money: [
            number("charged")?,
            number("overrun")?,
            number("provider_payable")?,
            number("fx_buffer")?,
        ],
        pico_usd: pico.parse().map_err(|_| Error::Unreadable("rollups.pico_usd"))?,
    })
}

pub(super) fn prices(row: &PgRow) -> Result<Option<(PriceVersionId, Prices)>, Error> {
    if row.try_get::<Option<i64>, _>("price_input")?.is_none() {
        return Ok(None);
    }
    let version = row.try_get::<Uuid, _>("price_version_id")?.into();
    Ok(Some((version, super::prices::prefixed(row, "price_")?)))
}
