//! How price books are shown.

use super::super::{
    describe,
    record::{Record, Value},
};
use crate::proto::{
    ImportPricesResponse, ListedPrice, PriceBook, PriceBookState, PriceChange, PriceSource,
    PriceTurn, RefusedPrice,
};

/// Columns of versions.
pub(super) const BOOKS: &[&str] = &[
    "name",
    "state",
    "in_effect",
    "format",
    "source",
    "source_date",
    "age_days",
    "listings",
    "effective_time",
];

/// Columns of rows.
pub(super) const PRICES: &[&str] = &[
    "provider",
    "model",
    "service_tier",
    "effective_date",
    "price.input",
    "price.cache_read",
    "price.cache_write",
    "price.output",
    "tiers",
    "platform",
];

const CHANGES: &[&str] = &["turn", "provider", "model", "service_tier", "input", "output", "flags"];

const REFUSED: &[&str] = &["row", "field", "problem"];

/// Rows that a person is shown of a long list.
const ROWS_MAX: usize = 40;

/// A table with a title.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) records: Vec<Record>,
    pub(super) columns: &'static [&'static str],
}

pub(super) fn book(it: &PriceBook) -> Record {
    let state = match it.state() {
        PriceBookState::Pending => "PENDING",
        PriceBookState::Approved => "APPROVED",
        PriceBookState::Reverted => "REVERTED",
        PriceBookState::Unspecified => "UNKNOWN",
    };
    Record::new()
        .with("name", Value::text_or_null(&it.name))
        .with("state", state.to_owned())
        .with("in_effect", it.in_effect)
        .with("platform", it.platform)
        .with("format", it.format.clone())
        .with("source", it.source.clone())
        .with("source_date", it.source_date.clone())
        .with("age_days", i64::from(it.age_days))
        .with("stale", it.stale)
        .with("content_sha256", it.content_sha256.clone())
        .with("listings", i64::from(it.listings))
        .with("refused", i64::from(it.refused))
        .with("passed_over", i64::from(it.passed_over))
        .with("create_time", it.create_time.clone())
        .with("effective_time", Value::text_or_null(&it.effective_time))
        .with("approve_time", Value::text_or_null(&it.approve_time))
        .with("revert_time", Value::text_or_null(&it.revert_time))
        .with("created_by", Value::text_or_null(&it.created_by))
        .with("approved_by", Value::text_or_null(&it.approved_by))
        .with("reverted_by", Value::text_or_null(&it.reverted_by))
}

pub(super) fn listed(it: &ListedPrice) -> Record {
    let tiers = it.price.as_ref().map(|it| {
        let above = it.tiers.iter().map(|it| format!("above {}", it.above_tokens));
        above.collect::<Vec<_>>().join(", ")
    });
    source(it.source.as_ref())
        .with("effective_date", Value::text_or_null(&it.effective_date))
        .with("price", it.price.as_ref().map(describe::price))
        .with("tiers", Value::text_or_null(&tiers.unwrap_or_default()))
        .with("book", it.book.clone())
        .with("platform", it.platform)
        .with("rounded", it.rounded)
}

fn source(it: Option<&PriceSource>) -> Record {
    let text = |of: fn(&PriceSource) -> &String| it.map(|it| of(it).clone());
    Record::new()
        .with("provider", text(|it| &it.provider))
        .with("model", text(|it| &it.model))
        .with("service_tier", text(|it| &it.service_tier))
}

/// All that an import says, for programs.
pub(super) fn imported(it: &ImportPricesResponse) -> Record {
    Record::new()
        .with("book", it.book.as_ref().map(book))
        .with("added", i64::from(it.added))
        .with("changed", i64::from(it.changed))
        .with("removed", i64::from(it.removed))
        .with("flagged", i64::from(it.flagged))
        .with("changes", it.changes.iter().map(change).collect::<Vec<_>>())
        .with("refused", it.refused.iter().map(refused).collect::<Vec<_>>())
}

/// The same in a line or two for a person.
pub(super) fn summary(it: &ImportPricesResponse) -> String {
    let book = it.book.clone().unwrap_or_default();
    format!(
        "{} prices of {} ({}): {} added, {} changed, {} removed; {} need an explicit yes.\n\
         {} rows were refused; {} models have no price per token.\n",
        book.listings,
        super::super::output::plain(&book.source),
        book.source_date,
        it.added,
        it.changed,
        it.removed,
        it.flagged,
        book.refused,
        book.passed_over,
    )
}

/// What a person should look at.
pub(super) fn tables(it: &ImportPricesResponse) -> Vec<(String, Table)> {
    let changes: Vec<Record> = it.changes.iter().take(ROWS_MAX).map(change).collect();
    let refused: Vec<Record> = it.refused.iter().take(ROWS_MAX).map(refused).collect();
    let title = |what: &str, shown: usize, all: i32| {
        let all = usize::try_from(all).unwrap_or(shown);
        if shown < all {
            format!("{what}, the first {shown} of {all}:")
        } else {
            format!("{what}:")
        }
    };
    let all = it.added.saturating_add(it.changed).saturating_add(it.removed);
    let book = it.book.clone().unwrap_or_default();
    let mut tables = Vec::new();
    if !changes.is_empty() {
        let title = title("Changes, what needs a yes first", changes.len(), all);
        tables.push((title, Table { name: "changes", records: changes, columns: CHANGES }));
    }
    if !refused.is_empty() {
        let title = title("Refused", refused.len(), book.refused);
        tables.push((title, Table { name: "refused", records: refused, columns: REFUSED }));
    }
    tables
}

fn change(it: &PriceChange) -> Record {
    let turn = match it.turn() {
        PriceTurn::Added => "ADDED",
        PriceTurn::Changed => "CHANGED",
        PriceTurn::Removed => "REMOVED",
        PriceTurn::Unspecified => "UNKNOWN",
    };
    let step = |of: fn(&crate::proto::Price) -> &String| {
        let (before, after) = (it.before.as_ref().map(of), it.after.as_ref().map(of));
        match (before, after) {
            (Some(before), Some(after)) if before != after => format!("{before} -> {after}"),
            (_, Some(it)) | (Some(it), None) => it.clone(),
            (None, None) => String::new(),
        }
    };
    let flags: Vec<String> = it.flags.clone();
    Record::new()
        .with("turn", turn.to_owned())
        .with("provider", it.source.as_ref().map(|it| it.provider.clone()))
        .with("model", it.source.as_ref().map(|it| it.model.clone()))
        .with("service_tier", it.source.as_ref().map(|it| it.service_tier.clone()))
        .with("effective_date", Value::text_or_null(&it.effective_date))
        .with("input", step(|it| &it.input))
        .with("output", step(|it| &it.output))
        .with("before", it.before.as_ref().map(describe::price))
        .with("after", it.after.as_ref().map(describe::price))
        .with("flags", Value::text_or_null(&flags.join("; ")))
}

fn refused(it: &RefusedPrice) -> Record {
    Record::new()
        .with("row", it.row.clone())
        .with("field", it.field.clone())
        .with("problem", it.problem.clone())
}
