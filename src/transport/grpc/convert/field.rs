//! Single fields: presence, length, characters, range.

use std::{fmt::Display, ops::RangeInclusive};

use jiff::Timestamp;

use crate::domain::fault::Fault;

/// The longest id that a host may assert, in bytes.
const ID_BYTES_MAX: usize = 256;

/// The longest alias, in bytes.
const ALIAS_BYTES_MAX: usize = 128;

/// Tells a fault where it happened. Readers name fields relative to what they
/// read, so that a path is only put together when there is something to report.
pub(super) trait At {
    /// Puts `parent` before the path of a fault.
    fn at(self, parent: impl Display) -> Self;
}

impl<T> At for Result<T, Fault> {
    fn at(self, parent: impl Display) -> Self {
        self.map_err(|fault| {
            if let Fault::Invalid { field, problem } = fault {
                let dot = if field.is_empty() { "" } else { "." };
                Fault::Invalid { field: format!("{parent}{dot}{field}"), problem }
            } else {
                fault
            }
        })
    }
}

/// A fault of the very thing that is being read.
pub(super) fn wrong(problem: impl Into<String>) -> Fault {
    Fault::invalid("", problem)
}

/// Reads each item of a list; the first fault names its index.
pub(super) fn each<T, U>(
    name: &'static str,
    items: Vec<T>,
    mut read: impl FnMut(T) -> Result<U, Fault>,
) -> Result<Vec<U>, Fault> {
    let read_one = |(index, it)| read(it).at(format_args!("{name}[{index}]"));
    items.into_iter().enumerate().map(read_one).collect()
}

/// Refuses a list that is too long.
pub(super) fn at_most<T>(name: &'static str, items: &[T], max: usize) -> Result<(), Fault> {
    if items.len() > max {
        return Err(Fault::invalid(name, format!("must have at most {max} items")));
    }
    Ok(())
}

/// An id that a host asserts: 1 to 256 bytes without control characters.
pub fn id(field: &str, text: &str) -> Result<String, Fault> {
    required(field, text, ID_BYTES_MAX)
}

/// A text that may be absent: at most 256 bytes without control characters.
pub fn label(field: &str, text: &str) -> Result<Option<String>, Fault> {
    optional(field, text, ID_BYTES_MAX)
}

/// A name of 1 to 128 letters, digits and `._:/-`.
pub(super) fn alias(field: &str, text: &str) -> Result<String, Fault> {
    let fine = |it: u8| it.is_ascii_alphanumeric() || b"._:/-".contains(&it);
    if text.is_empty() || text.len() > ALIAS_BYTES_MAX || !text.bytes().all(fine) {
        let problem = "must be 1 to 128 letters, digits and . _ : / -";
        return Err(Fault::invalid(field, problem));
    }
    Ok(text.to_owned())
}

/// A text of 1 to `max` bytes without control characters.
pub(super) fn required(field: &str, text: &str, max: usize) -> Result<String, Fault> {
    optional(field, text, max)?.ok_or_else(|| Fault::invalid(field, "is required"))
}

/// A text of at most `max` bytes without control characters; empty is absent.
pub(super) fn optional(field: &str, text: &str, max: usize) -> Result<Option<String>, Fault> {
    if text.len() > max {
        return Err(Fault::invalid(field, format!("must be at most {max} bytes")));
    }
    if text.chars().any(char::is_control) {
        return Err(Fault::invalid(field, "must not contain control characters"));
    }
    Ok(Some(text).filter(|it| !it.is_empty()).map(ToOwned::to_owned))
}

/// A number within a range.
pub(super) fn within(field: &str, value: i64, range: RangeInclusive<i64>) -> Result<i64, Fault> {
    if range.contains(&value) {
        return Ok(value);
    }
    let problem = format!("must be from {} to {}", range.start(), range.end());
    Err(Fault::invalid(field, problem))
}

/// A number within a range of no negatives.
pub(super) fn count(field: &str, value: i64, range: RangeInclusive<i64>) -> Result<u64, Fault> {
    let value = within(field, value, range)?;
    u64::try_from(value).map_err(|_| Fault::invalid(field, "must not be negative"))
}

/// An instant in RFC 3339; empty is absent.
pub fn timestamp(field: &str, text: &str) -> Result<Option<Timestamp>, Fault> {
    if text.is_empty() {
        return Ok(None);
    }
    let problem = "must be an RFC 3339 time such as 2026-07-28T12:00:00Z";
    text.parse().map(Some).map_err(|_| Fault::invalid(field, problem))
}
