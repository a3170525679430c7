//! Months and days on the command line, all in UTC.

use jiff::{ToSpan, civil::Date};

/// A month, by its first day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Month(Date);

impl Month {
    /// Reads `2026-11`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "must be a month such as 2026-11".to_owned();
        let plain = text.len() == 7 && text.bytes().all(|it| it.is_ascii_digit() || it == b'-');
        if !plain {
            return Err(wrong());
        }
        format!("{text}-01").parse().map(Self).map_err(|_| wrong())
    }

    /// Its first instant and the next month's, in RFC 3339.
    pub(super) fn span(self) -> Result<(String, String), String> {
        let next =
            self.0.checked_add(1.month()).map_err(|_| "is outside the calendar".to_owned())?;
        Ok((midnight(self.0), midnight(next)))
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.0.year(), self.0.month())
    }
}

/// Reads `2026-11-30`, or an RFC 3339 time as it stands.
pub(super) fn instant(text: &str) -> Result<String, String> {
    if let Ok(it) = text.parse::<jiff::Timestamp>() {
        return Ok(it.to_string());
    }
    let wrong = |_| "must be a day such as 2026-11-30, or an RFC 3339 time".to_owned();
    text.parse::<Date>().map(midnight).map_err(wrong)
}

fn midnight(day: Date) -> String {
    format!("{day}T00:00:00Z")
}
