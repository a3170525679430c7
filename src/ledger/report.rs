//! Sums by any dimensions and grain of time, from what is kept of the ledger as it
//! grows or, where that is too coarse, from the entries.

use jiff::{Span, Timestamp, ToSpan, tz::TimeZone};

use super::rollup;
use crate::{
    domain::{
        fault::Fault,
        ids::TenantId,
        report::{Dimension, Filter, Grain, Position, Row, Sums},
    },
    store::{self, Store, reports},
};

/// Entries that a report reads itself, at most.
pub const ENTRIES_MAX: i64 = 1_000_000;

/// Stretches of time that a report may be parted into, at most.
const BUCKETS_MAX: i64 = 10_000;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// By what it is parted.
    pub by: Vec<Dimension>,
    /// How time is parted; none: not at all.
    pub grain: Option<Grain>,
    /// The first instant of booking.
    pub start: Timestamp,
    /// The first instant after it.
    pub end: Timestamp,
    /// Whether each row is to say what the period before came to.
    pub compare: bool,
    /// Which entries count.
    pub filter: Filter,
}

/// A page of a report.
#[derive(Debug, Clone)]
pub struct Report {
    /// The rows, one more than was asked for where more follow.
    pub rows: Vec<Row>,
    /// What all rows of all pages add up to.
    pub total: Sums,
    /// What the period before came to, in nano-units.
    pub before: i64,
    /// Every entry up to this batch is counted, and no other.
    pub through_batch: i64,
    /// When that was so.
    pub as_of: Timestamp,
}

/// The UTC month of an instant: its first instant and the next month's.
pub fn month_of(at: Timestamp) -> Result<(Timestamp, Timestamp), Fault> {
    let range = || Fault::invalid("month", "is outside the calendar");
    let first = at.to_zoned(TimeZone::UTC).date().first_of_month();
    let next = first.checked_add(1.month()).map_err(|_| range())?;
    let start = |day: jiff::civil::Date| {
        day.to_zoned(TimeZone::UTC).map(|it| it.timestamp()).map_err(|_| range())
    };
    Ok((start(first)?, start(next)?))
}

/// Rows after a position and the totals, as the ledger stands once what was booked until
/// now is counted.
pub async fn report(
    store: &Store,
    tenant: TenantId,
    wanted: &Wanted,
    (after, most): (Option<Position>, i64),
) -> Result<Report, Fault> {
    rollup::catch_up(store, tenant).await?;
    let before = if wanted.compare { period_before(wanted)? } else { wanted.start };
    check(wanted)?;
    let mut tx = store.snapshot_tx(tenant).await?;
    let through_batch = store::rollups::progress(&mut tx, tenant).await?.rolled_to;
    let as_of = store::now(&mut tx).await?;
    let batches = if needs_entries(wanted, before) {
        let found = reports::batches(&mut tx, tenant, (before, wanted.end)).await?;
        if found.entries > ENTRIES_MAX {
            let problem = format!(
                "asks for {} entries one by one, more than {ENTRIES_MAX}: take less time, whole \
                 days and no envelopes",
                found.entries
            );
            return Err(Fault::invalid("start_time", problem));
        }
        let last = found.last.min(through_batch);
        Some(reports::Batches { last, ..found })
    } else {
        None
    };
    let query = reports::Query {
        by: &wanted.by,
        grain: wanted.grain,
        batches,
        start: wanted.start,
        end: wanted.end,
        before,
        filter: &wanted.filter,
    };
    let rows = reports::sums(&mut tx, tenant, &query, (after, most)).await?;
    let whole = reports::Query { by: &[], grain: None, ..query };
    let total = reports::sums(&mut tx, tenant, &whole, (None, 1)).await?;
    store::commit(tx).await?;
    let (total, before) = total.first().map(|it| (it.sums, it.before)).unwrap_or_default();
    Ok(Report { rows, total, before, through_batch, as_of })
}

fn check(wanted: &Wanted) -> Result<(), Fault> {
    let Wanted { start, end, grain, compare, .. } = wanted;
    if end <= start {
        return Err(Fault::invalid("end_time", "must be after start_time"));
    }
    if *compare && grain.is_some() {
        let problem = "has no meaning beside a grain, which shows the periods themselves";
        return Err(Fault::invalid("compare", problem));
    }
    let hours = end.duration_since(*start).as_hours();
    let buckets = match grain {
        None | Some(Grain::Month) => 1,
        Some(Grain::Hour) => hours,
        Some(Grain::Day) => hours / 24,
        Some(Grain::Week) => hours / 168,
    };
    if buckets > BUCKETS_MAX {
        let problem = format!("parts the time into more than {BUCKETS_MAX}");
        return Err(Fault::invalid("grain", problem));
    }
    Ok(())
}

/// Sums are kept by whole days and without envelopes.
fn needs_entries(wanted: &Wanted, before: Timestamp) -> bool {
    const DAY_US: i64 = 86_400_000_000;
    let whole = |it: Timestamp| it.as_microsecond().rem_euclid(DAY_US) == 0;
    wanted.by.contains(&Dimension::Envelope)
        || wanted.filter.envelope.is_some()
        || wanted.grain == Some(Grain::Hour)
        || ![wanted.start, wanted.end, before].into_iter().all(whole)
}

/// Where the period before begins: as many whole months earlier, or as long.
fn period_before(wanted: &Wanted) -> Result<Timestamp, Fault> {
    let range = |_: jiff::Error| Fault::invalid("start_time", "is outside the calendar");
    let (start, end) = (utc(wanted.start), utc(wanted.end));
    let is_month = |it: &jiff::Zoned| it.day() == 1 && it.start_of_day().is_ok_and(|at| at == *it);
    let span = if is_month(&start) && is_month(&end) {
        let months = (i32::from(end.year()) - i32::from(start.year())) * 12
            + i32::from(end.month())
            - i32::from(start.month());
        Span::new().try_months(months).map_err(range)?
    } else {
        let micros = wanted.end.as_microsecond() - wanted.start.as_microsecond();
        Span::new().try_microseconds(micros).map_err(range)?
    };
    start.checked_sub(span).map(|it| it.timestamp()).map_err(range)
}

fn utc(at: Timestamp) -> jiff::Zoned {
    at.to_zoned(TimeZone::UTC)
}
