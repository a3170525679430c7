//! One shape for what is shown: named fields in a fixed order, printed as JSON
//! or for a person. So both always say the same.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;

use super::output::plain;

/// A value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing; null in JSON.
    Null,
    /// Words, a decimal or a time.
    Text(String),
    /// A count.
    Count(i64),
    /// Yes or no.
    Flag(bool),
    /// Several values.
    List(Vec<Value>),
    /// JSON as it was written; numbers keep their digits.
    Json(String),
    /// Fields of its own.
    Record(Record),
}

/// Named fields in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record(Vec<(&'static str, Value)>);

impl Record {
    /// No fields yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// A field's value, or with `field.part` a part's; null where there is none of the name.
    pub fn get(&self, name: &str) -> &Value {
        let (field, part) =
            name.split_once('.').map_or((name, None), |(it, part)| (it, Some(part)));
        let found = self.0.iter().find(|(it, _)| *it == field).map(|(_, value)| value);
        match (found, part) {
            (Some(Value::Record(it)), Some(part)) => it.get(part),
            (Some(it), None) => it,
            (Some(_), Some(_)) | (None, _) => &Value::Null,
        }
    }

    /// Lines of `name  value` for a person, without what is null or empty.
    pub fn to_lines(&self) -> String {
        let shown = self.0.iter().map(|(name, value)| (*name, value.to_plain()));
        let shown: Vec<_> = shown.filter(|(_, value)| !value.is_empty()).collect();
        let width = shown.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let lines = shown.iter().map(|(name, value)| format!("{name:width$}  {value}\n"));
        lines.collect::<Vec<_>>().concat()
    }
}

impl Value {
    /// Text that is null when empty, as the wire says "none".
    pub fn text_or_null(text: &str) -> Self {
        if text.is_empty() { Self::Null } else { Self::Text(text.to_owned()) }
    }

    /// For a person, on one line; nothing for null, `no` is left unsaid.
    pub fn to_plain(&self) -> String {
        match self {
            Self::Null | Self::Flag(false) => String::new(),
            Self::Flag(true) => "yes".to_owned(),
            Self::Text(it) | Self::Json(it) => plain(it),
            Self::Count(it) => it.to_string(),
            Self::List(items) => items.iter().map(Self::to_plain).collect::<Vec<_>>().join(", "),
            Self::Record(Record(fields)) => {
                let shown = fields.iter().map(|(name, value)| (*name, value.to_plain()));
                let shown = shown.filter(|(_, value)| !value.is_empty());
                shown.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(it: Option<T>) -> Self {
        it.map_or(Self::Null, Into::into)
    }
}

impl From<String> for Value {
    fn from(it: String) -> Self {
        Self::Text(it)
    }
}

impl From<i64> for Value {
    fn from(it: i64) -> Self {
        Self::Count(it)
    }
}

impl From<i32> for Value {
    fn from(it: i32) -> Self {
        Self::Count(it.into())
    }
}

impl From<bool> for Value {
    fn from(it: bool) -> Self {
        Self::Flag(it)
    }
}

impl From<Record> for Value {
    fn from(it: Record) -> Self {
        Self::Record(it)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(it: Vec<T>) -> Self {
        Self::List(it.into_iter().map(Into::into).collect())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_unit(),
            Self::Text(it) => to.serialize_str(it),
            Self::Count(it) => to.serialize_i64(*it),
            Self::Flag(it) => to.serialize_bool(*it),
            Self::List(it) => it.serialize(to),
            Self::Json(it) => match serde_json::from_str::<&RawValue>(it) {
                Ok(json) => json.serialize(to),
                Err(_) => to.serialize_str(it),
            },
            Self::Record(it) => it.serialize(to),
        }
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
