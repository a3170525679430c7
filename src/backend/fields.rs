//! JSON objects of which only what is asked for is read. A field of an unexpected
//! kind is as good as missing, of two with one name the last counts, and numbers
//! stay as they were written.

use std::{
    borrow::{Borrow, Cow},
    collections::BTreeMap,
};

use serde::Deserialize;
use serde_json::value::RawValue;

/// An object's fields.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(BTreeMap<Name<'a>, &'a RawValue>);

/// A field's name, copied only where the JSON escapes it: every piece of every answer
/// is read through here.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl Borrow<str> for Name<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// Reads an object; `None` if it is none.
    pub(super) fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok().map(Self)
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A field's JSON; null is missing.
    pub(super) fn json(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|it| it.get()).filter(|it| *it != "null")
    }

    /// A field that is an object; empty if missing.
    pub(super) fn object(&self, name: &str) -> Fields<'a> {
        self.json(name).and_then(Fields::parse).unwrap_or_default()
    }

    /// The members of a field that is an array.
    pub(super) fn array(&self, name: &str) -> Vec<&'a str> {
        self.json(name).map(members).unwrap_or_default()
    }

    /// A field that is text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.json(name).and_then(text)
    }

    /// A field that is a whole number. One beyond every measure stays beyond it.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        let json = self.json(name)?;
        json.parse().ok().or_else(|| {
            // 12.0 and 1e30 are numbers too.
            let rounded = format!("{:.0}", json.parse::<f64>().ok()?);
            let beyond = if rounded.starts_with('-') { i64::MIN } else { i64::MAX };
            Some(rounded.parse().unwrap_or(beyond))
        })
    }
}

/// The members of an array.
pub(super) fn members(json: &str) -> Vec<&str> {
    let members: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    members.into_iter().map(RawValue::get).collect()
}

/// A JSON string's text.
pub(super) fn text(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}
