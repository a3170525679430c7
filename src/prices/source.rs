//! What the readers of JSON lists share.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Unreadable;

/// An object whose values have not been looked at.
pub(super) type Object<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// Words that are no JSON, yet written by careless programs.
const NO_NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// Puts numbers that are none into quotes, so that their own row is refused by name and
/// not the whole file by its column.
pub(super) fn mended(text: &str) -> Cow<'_, str> {
    if !NO_NUMBERS.iter().any(|it| text.contains(it)) {
        return Cow::Borrowed(text);
    }
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', 'N', 'I', '-']) {
        let (before, here) = rest.split_at(at);
        mended.push_str(before);
        let length = if here.starts_with('"') {
            string_length(here)
        } else if let Some(word) = NO_NUMBERS.iter().find(|it| here.starts_with(**it)) {
            mended.push('"');
            mended.push_str(word);
            mended.push('"');
            rest = here.get(word.len()..).unwrap_or_default();
            continue;
        } else {
            1
        };
        let (taken, after) = here.split_at(length.min(here.len()));
        mended.push_str(taken);
        rest = after;
    }
    mended.push_str(rest);
    Cow::Owned(mended)
}

/// The bytes of a string of JSON with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Reads what has to be of its shape, or the file is none of this format.
pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Unreadable> {
    serde_json::from_str(text)
        .map_err(|it| Unreadable::Json { line: it.line(), column: it.column() })
}

/// An object; none where it is something else.
pub(super) fn object(json: &RawValue) -> Option<Object<'_>> {
    serde_json::from_str(json.get()).ok()
}

/// The items of a list; none where it is something else.
pub(super) fn items(json: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(json.get()).ok()
}

/// A text; none where it is something else.
pub(super) fn text(json: &RawValue) -> Option<Cow<'_, str>> {
    /// `Cow` alone would always copy.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(json.get()).ok().map(|it| it.0)
}

/// A field that is there and not null.
pub(super) fn get<'a>(object: &Object<'a>, name: &str) -> Option<&'a RawValue> {
    object.get(name).copied().filter(|it| it.get() != "null")
}
