//! Windows of budgets, by arithmetic in a named time zone. No job ever resets one.

use jiff::{
    Span, Timestamp, Unit, Zoned, ZonedRound,
    civil::{Weekday, date},
    tz::TimeZone,
};

/// How often a budget starts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// At each full minute of UTC.
    Minute,
    /// At each full hour of UTC.
    Hour,
    /// At local midnight.
    Day,
    /// On Monday (ISO 8601).
    Week,
    /// On the first.
    Month,
    /// On the first of January, April, July and October.
    Quarter,
    /// On the first of January.
    Year,
    /// Never.
    Lifetime,
}

/// A half-open stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its first instant.
    pub opens_at: Timestamp,
    /// The first instant after it; none: it has no end.
    pub closes_at: Option<Timestamp>,
}

/// A time zone that is not known, or a date beyond the calendar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoWindow {
    /// Not an IANA name.
    #[error("unknown time zone; use an IANA name such as Europe/Amsterdam")]
    TimeZone,
    /// Beyond the years 1 to 9999.
    #[error("the date is outside the calendar")]
    Range,
}

/// Looks a time zone up by its IANA name; empty is UTC.
pub fn time_zone(name: &str) -> Result<TimeZone, NoWindow> {
    if name.is_empty() {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(name).map_err(|_| NoWindow::TimeZone)
}

impl Period {
    /// The window that holds `now`, in the calendar of `zone`.
    pub fn window(self, now: Timestamp, zone: &TimeZone) -> Result<Window, NoWindow> {
        if self == Self::Lifetime {
            return Ok(Window { opens_at: Timestamp::UNIX_EPOCH, closes_at: None });
        }
        if let Some(seconds) = self.seconds() {
            let since = now.as_second().rem_euclid(seconds);
            let opens = now.as_second().saturating_sub(since);
            let at = |second: i64| Timestamp::from_second(second).map_err(|_| NoWindow::Range);
            let closes_at = Some(at(opens.saturating_add(seconds))?);
            return Ok(Window { opens_at: at(opens)?, closes_at });
        }
        self.calendar_window(&now.to_zoned(zone.clone())).map_err(|_| NoWindow::Range)
    }

    /// The length of what is no part of a calendar.
    const fn seconds(self) -> Option<i64> {
        match self {
            Self::Minute => Some(60),
            Self::Hour => Some(3_600),
            Self::Day | Self::Week | Self::Month | Self::Quarter | Self::Year | Self::Lifetime => {
                None
            }
        }
    }

    fn calendar_window(self, now: &Zoned) -> Result<Window, jiff::Error> {
        let today = now.date();
        let (first, length) = match self {
            Self::Minute | Self::Hour | Self::Day | Self::Lifetime => (today, Span::new().days(1)),
            Self::Week => {
                let since = today.weekday().since(Weekday::Monday);
                (today.checked_sub(Span::new().days(since))?, Span::new().weeks(1))
            }
            Self::Month => (today.first_of_month(), Span::new().months(1)),
            Self::Quarter => {
                let month = (today.month() - 1) / 3 * 3 + 1;
                (date(today.year(), month, 1), Span::new().months(3))
            }
            Self::Year => (date(today.year(), 1, 1), Span::new().years(1)),
        };
        // The start of a day, which daylight saving can move away from midnight.
        let start = |day: jiff::civil::Date| day.to_zoned(now.time_zone().clone())?.start_of_day();
        Ok(Window {
            opens_at: start(first)?.timestamp(),
            closes_at: Some(start(first.checked_add(length)?)?.timestamp()),
        })
    }
}

/// Whole days from a fixing date to an instant, in UTC.
pub fn days_since(fixing: jiff::civil::Date, now: Timestamp) -> i32 {
    let today = now.to_zoned(TimeZone::UTC).date();
    today.since((Unit::Day, fixing)).map_or(i32::MAX, |it| it.get_days())
}

/// An instant to the second, in RFC 3339: what people are shown.
pub fn to_the_second(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC)
        .round(ZonedRound::new().smallest(Unit::Second).mode(jiff::RoundMode::Trunc))
        .map_or_else(|_| at.to_string(), |it| it.timestamp().to_string())
}
