//! Rows of the ledger as its readers see them.

use jiff::Timestamp;
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{Error, entries::entry_kind, instant::Instant};
use crate::domain::{
    charge::Split,
    entry::EntryKind,
    fx::Cost,
    ids::{
        CallId, EntryId, EnvelopeId, FxRateId, HostId, PriceVersionId, ServerId, TenantId, UserId,
    },
    money::Amount,
    outcome::Cut,
    usage::Usage,
};

/// An entry with the names that people know. A name that was erased is empty.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// Why it was written.
    pub kind: EntryKind,
    /// Decides window, price and rate.
    pub incurred_at: Timestamp,
    /// Decides the accounting period.
    pub booked_at: Timestamp,
    /// The call.
    pub call: CallId,
    /// Which attempt of the call, from 1.
    pub attempt: i16,
    /// The sub-agent's allowance.
    pub envelope: EnvelopeId,
    /// The person, as hosts know them.
    pub user: String,
    /// The server, as hosts know it.
    pub server: String,
    /// The client application's name.
    pub host: String,
    /// The project root; empty where the host said none.
    pub root: String,
    /// The model's alias; empty where a host ran its own.
    pub model: String,
    /// The backend's name; empty where a host ran its own.
    pub backend: String,
    /// The version of the prices.
    pub price_version: Option<PriceVersionId>,
    /// The exchange rate.
    pub fx_rate: FxRateId,
    /// Why this model was chosen, in words; empty where a host ran its own.
    pub route: String,
    /// Tokens by class.
    pub usage: Usage,
    /// What was held.
    pub hold: Amount,
    /// What the user is charged and what is overrun.
    pub money: Split,
    /// The same by where it goes.
    pub cost: Cost,
    /// The provider's cost in pico-USD, a memo.
    pub pico_usd: i128,
    /// Whether the cost is our own bound.
    pub estimated: bool,
    /// Whether the host reported the usage itself.
    pub by_host: bool,
    /// Why the answer ended early.
    pub cut: Option<Cut>,
    /// The entry that it corrects.
    pub corrects: Option<EntryId>,
}

/// Which entries are wanted; none: all of them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Filter {
    pub(crate) host: Option<HostId>,
    pub(crate) user: Option<UserId>,
    pub(crate) server: Option<ServerId>,
    pub(crate) envelope: Option<EnvelopeId>,
    pub(crate) call: Option<CallId>,
}

/// Entries before `before`, newest first.
pub(crate) async fn page(
    connection: &mut PgConnection,
    tenant: TenantId,
    filter: &Filter,
    (before, most): (Option<Uuid>, i64),
) -> Result<Vec<Entry>, Error> {
    let rows = sqlx::query(include_str!("sql/ledger_page.sql"))
        .bind(tenant.uuid())
        .bind(filter.host.map(HostId::uuid))
        .bind(filter.user.map(UserId::uuid))
        .bind(filter.server.map(ServerId::uuid))
        .bind(filter.envelope.map(EnvelopeId::uuid))
        .bind(filter.call.map(CallId::uuid))
        .bind(before)
        .bind(most)
        .fetch_all(connection)
        .await?;
    rows.iter().map(entry).collect()
}

fn entry(row: &PgRow) -> Result<Entry, Error> {
    let id = |name: &str| row.try_get::<Uuid, _>(name);
    let optional = |name: &str| row.try_get::<Option<Uuid>, _>(name);
    let instant = |name: &str| row.try_get::<Instant, _>(name);
    let text = |name: &str| -> Result<String, Error> {
        Ok(row.try_get::<Option<String>, _>(name)?.unwrap_or_default())
    };
    let pico: &str = row.try_get("pico_usd_text")?;
    Ok(Entry {
        id: id("entry_id")?.into(),
        kind: entry_kind(row.try_get("kind")?)?,
        incurred_at: instant("incurred_at")?.0,
        booked_at: instant("booked_at")?.0,
        call: id("call_id")?.into(),
        attempt: row.try_get("attempt")?,
        envelope: id("envelope_id")?.into(),
        user: text("user_name")?,
        server: text("server_name")?,
        host: text("host_name")?,
        root: text("root_uri")?,
        route: text("route")?,
        model: text("model_alias")?,
        backend: text("backend_name")?,
        price_version: optional("price_version_id")?.map(Into::into),
        fx_rate: id("fx_rate_id")?.into(),
        usage: usage(row)?,
        hold: Amount::from_nanos(row.try_get("held_money")?),
        money: Split { charge: row.try_get("charged")?, overrun: row.try_get("overrun")? },
        cost: cost(row)?,
        pico_usd: pico.parse().map_err(|_| Error::Unreadable("entries.pico_usd"))?,
        estimated: row.try_get::<&str, _>("certainty")? != "exact",
        by_host: row.try_get("by_host")?,
        cut: row.try_get::<Option<&str>, _>("cut")?.map(cut).transpose()?,
        corrects: optional("corrects")?.map(Into::into),
    })
}

fn usage(row: &PgRow) -> Result<Usage, Error> {
    let class = |name: &'static str| -> Result<u64, Error> {
        row.try_get::<i64, _>(name)?.try_into().map_err(|_| Error::Unreadable(name))
    };
    Ok(Usage {
        input: class("input")?,
        cache_read: class("cache_read")?,
        cache_write: class("cache_write")?,
        output: class("output")?,
        reasoning: class("reasoning")?,
    })
}

fn cost(row: &PgRow) -> Result<Cost, Error> {
    let provider = Amount::from_nanos(row.try_get("provider_payable")?);
    let buffer = Amount::from_nanos(row.try_get("fx_buffer")?);
    let total = provider.plus(buffer).map_err(|_| Error::Unreadable("entries.amounts"))?;
    Ok(Cost { total, provider, buffer })
}

fn cut(word: &str) -> Result<Cut, Error> {
    match word {
        "client_gone" => Ok(Cut::ClientGone),
        "deadline" => Ok(Cut::Deadline),
        "idle" => Ok(Cut::Idle),
        "budget" => Ok(Cut::Budget),
        "backend" => Ok(Cut::Backend),
        "cancelled" => Ok(Cut::Cancelled),
        "shutdown" => Ok(Cut::Shutdown),
        _ => Err(Error::Unreadable("entries.cut")),
    }
}
