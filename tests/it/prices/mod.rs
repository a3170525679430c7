//! The price book: what is read of others' lists, what a call costs by it, and how it
//! comes into effect.

mod book;
mod calls;
mod guards;
mod numbers;
mod readers;
mod tariffs;

use bursar::{
    domain::book::Listing,
    prices::{Format, List, read},
};

/// What a list of this format says.
pub(crate) fn list(format: Format, text: &str) -> List {
    read(format, text.as_bytes()).unwrap()
}

/// A row by the text of its key, and its first day.
pub(crate) fn row<'a>(list: &'a List, key: &str, from: Option<&str>) -> &'a Listing {
    let from = from.map(|it| it.parse().unwrap());
    let found = list.rows.iter().find(|it| it.key.to_string() == key && it.from == from);
    found.unwrap_or_else(|| panic!("no {key} of {from:?} in {list:#?}"))
}

/// The refused rows as row, field and problem.
pub(crate) fn refusals(list: &List) -> Vec<(&str, &str, &str)> {
    list.refused
        .iter()
        .map(|it| (it.row.as_str(), it.field.as_str(), it.problem.as_str()))
        .collect()
}
