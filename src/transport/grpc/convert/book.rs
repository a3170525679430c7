//! Price books on the wire.

use jiff::{Timestamp, civil::Date};

use super::{
    field::{label, optional, required, timestamp},
    name::{self, Name},
    prices::{source_to_wire, to_wire},
};
use crate::{
    admin::prices::{Import, Which, shipped},
    domain::{
        book::{Change, Key, Refused, STANDARD, Turn},
        fault::Fault,
        ids::{BookId, TenantId},
        period::{days_since, to_the_second},
    },
    prices::{BYTES_MAX, Format},
    proto,
    store::{
        books::{Book, Deed},
        listings::Listed,
    },
};

/// Changes and refused rows that a reply names.
const SHOWN_MAX: usize = 2_000;

/// From when on a source's word is stale, in days.
const STALE_DAYS: i32 = 90;

const MODEL_BYTES_MAX: usize = 256;
const PROVIDER_BYTES_MAX: usize = 64;
const TIER_BYTES_MAX: usize = 32;

/// Reads what is to be imported.
pub fn import(it: proto::ImportPricesRequest) -> Result<Import, Fault> {
    let wanted_at = timestamp("effective_time", &it.effective_time)?;
    let source_date = day("source_date", &it.source_date)?;
    let format = match proto::PriceFormat::try_from(it.format) {
        Ok(proto::PriceFormat::Shipped) => return import_shipped(&it, wanted_at),
        Ok(proto::PriceFormat::GenaiPrices) => Format::GenaiPrices,
        Ok(proto::PriceFormat::ModelsDev) => Format::ModelsDev,
        Ok(proto::PriceFormat::Litellm) => Format::Litellm,
        Ok(proto::PriceFormat::Table) => Format::Table,
        Ok(proto::PriceFormat::Unspecified) | Err(_) => {
            return Err(Fault::invalid("format", "must be one of PRICE_FORMAT_..."));
        }
    };
    if it.content.is_empty() {
        return Err(Fault::invalid("content", "is required"));
    }
    if it.content.len() > BYTES_MAX {
        return Err(Fault::invalid("content", "must be at most 24 MiB"));
    }
    Ok(Import {
        format,
        content: it.content,
        source: label("source", &it.source)?.unwrap_or_else(|| "not said".to_owned()),
        source_date,
        wanted_at,
        keeps_missing: it.keep_missing,
        is_preview: it.validate_only,
    })
}

fn import_shipped(
    it: &proto::ImportPricesRequest,
    wanted_at: Option<Timestamp>,
) -> Result<Import, Fault> {
    if !it.content.is_empty() {
        return Err(Fault::invalid("content", "must be empty: the program has it"));
    }
    Ok(Import { wanted_at, keeps_missing: it.keep_missing, ..shipped(it.validate_only) })
}

/// A day; empty: none.
fn day(field: &str, text: &str) -> Result<Option<Date>, Fault> {
    if text.is_empty() {
        return Ok(None);
    }
    let problem = "must be a day such as 2026-07-28";
    text.parse().map(Some).map_err(|_| Fault::invalid(field, problem))
}

/// Reads the name of a version.
pub fn name_of(field: &str, text: &str) -> Result<Name<BookId>, Fault> {
    name::parse(field, text)
}

/// Reads which version is wanted. A bare id is the tenant's own, or the platform's where
/// that is said.
pub fn which(it: &proto::ListPricesRequest, tenant: TenantId) -> Result<Which, Fault> {
    optional("provider", &it.provider, PROVIDER_BYTES_MAX)?;
    optional("model", &it.model, MODEL_BYTES_MAX)?;
    let owner = if it.platform { TenantId::PLATFORM } else { tenant };
    if it.book.is_empty() {
        return Ok(Which::InEffect(owner));
    }
    let named = name_of("book", &it.book)?;
    let owner = named.tenant.filter(|it| *it == TenantId::PLATFORM).unwrap_or(owner);
    Ok(Which::Version(owner, named.of(owner, "price book")?))
}

/// Reads what a row is of: all of it is needed, but for the service tier.
pub fn key(it: Option<&proto::PriceSource>) -> Result<Key, Fault> {
    let it = it.ok_or_else(|| Fault::invalid("source", "is required"))?;
    let tier = optional("source.service_tier", &it.service_tier, TIER_BYTES_MAX)?;
    Ok(Key {
        provider: required("source.provider", &it.provider, PROVIDER_BYTES_MAX)?,
        model: required("source.model", &it.model, MODEL_BYTES_MAX)?,
        service_tier: tier.unwrap_or_else(|| STANDARD.to_owned()),
    })
}

/// A version for the wire.
pub fn book(it: &Book, in_effect: bool, now: Timestamp) -> proto::PriceBook {
    let state = match (it.approved, it.reverted) {
        (_, Some(_)) => proto::PriceBookState::Reverted,
        (Some(_), None) => proto::PriceBookState::Approved,
        (None, None) => proto::PriceBookState::Pending,
    };
    let at = |it: Option<Deed>| it.map(|it| to_the_second(it.at)).unwrap_or_default();
    let by = |deed: Option<Deed>| {
        let named = deed.filter(|it| !it.by.uuid().is_nil());
        named.map(|deed| name::format(it.owner, &deed.by)).unwrap_or_default()
    };
    let age_days = days_since(it.source_date, now);
    proto::PriceBook {
        name: name::format(it.owner, &it.id),
        state: state.into(),
        in_effect,
        platform: it.owner == TenantId::PLATFORM,
        format: it.format.clone(),
        source: it.source.clone(),
        source_date: it.source_date.to_string(),
        age_days,
        stale: age_days > STALE_DAYS,
        content_sha256: it.content_sha256.iter().map(|it| format!("{it:02x}")).collect(),
        listings: it.counts.listings,
        refused: it.counts.refused,
        passed_over: it.counts.passed_over,
        create_time: to_the_second(it.created.at),
        effective_time: it.effective_at.or(it.wanted_at).map(to_the_second).unwrap_or_default(),
        approve_time: at(it.approved),
        revert_time: at(it.reverted),
        created_by: by(Some(it.created)),
        approved_by: by(it.approved),
        reverted_by: by(it.reverted),
    }
}

/// Changes for the wire, those that need a yes first.
pub fn changes(all: &[Change]) -> Vec<proto::PriceChange> {
    let flagged = all.iter().filter(|it| !it.guards.is_empty());
    let others = all.iter().filter(|it| it.guards.is_empty());
    flagged.chain(others).take(SHOWN_MAX).map(change).collect()
}

fn change(it: &Change) -> proto::PriceChange {
    let turn = match it.turn {
        Turn::Added => proto::PriceTurn::Added,
        Turn::Changed => proto::PriceTurn::Changed,
        Turn::Removed => proto::PriceTurn::Removed,
    };
    proto::PriceChange {
        turn: turn.into(),
        source: Some(source_to_wire(&it.key)),
        effective_date: it.from.map(|it| it.to_string()).unwrap_or_default(),
        before: it.before.as_ref().map(|it| to_wire(it, String::new())),
        after: it.after.as_ref().map(|it| to_wire(it, String::new())),
        flags: it.guards.iter().map(ToString::to_string).collect(),
    }
}

/// Refused rows for the wire.
pub fn refused(all: &[Refused]) -> Vec<proto::RefusedPrice> {
    let shown = all.iter().take(SHOWN_MAX).cloned();
    let shown =
        shown.map(|Refused { row, field, problem }| proto::RefusedPrice { row, field, problem });
    shown.collect()
}

/// A row for the wire.
pub fn listed(it: &Listed) -> proto::ListedPrice {
    let Listed { version, owner, book, listing } = it;
    proto::ListedPrice {
        source: Some(source_to_wire(&listing.key)),
        effective_date: listing.from.map(|it| it.to_string()).unwrap_or_default(),
        price: Some(to_wire(&listing.prices, version.to_string())),
        book: name::format(*owner, book),
        platform: *owner == TenantId::PLATFORM,
        rounded: listing.is_rounded,
    }
}
