//! A month as a file: piece by piece, each from a short transaction, then a manifest.

pub mod focus;
mod journal;
mod manifest;
pub mod prove;

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use sha2::{Digest as _, Sha256};

pub use self::manifest::Totals;
use self::{focus::Focus, journal::Journal, manifest::Chain};
use super::{chain, line, report::month_of, rollup};
use crate::{
    domain::{fault::Fault, tenant::Tenant},
    store::{self, Store, reports, rollups},
};

/// What the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// FOCUS 1.2.
    Focus12,
    /// FOCUS 1.4.
    Focus14,
    /// Every entry, with the chain.
    Journal,
}

impl Format {
    /// As manifests and the command line name it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Focus12 => "focus-1.2",
            Self::Focus14 => "focus-1.4",
            Self::Journal => "journal",
        }
    }
}

/// A calendar month in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Month {
    first: Date,
    /// Its first instant.
    pub start: Timestamp,
    /// The next one's.
    pub end: Timestamp,
}

impl Month {
    /// Reads `2026-11`.
    pub fn parse(field: &str, text: &str) -> Result<Self, Fault> {
        let wrong = || Fault::invalid(field, "must be a month such as 2026-11");
        let plain = text.len() == 7 && text.bytes().all(|it| it.is_ascii_digit() || it == b'-');
        let first: Date = Some(format!("{text}-01"))
            .filter(|_| plain)
            .and_then(|it| it.parse().ok())
            .ok_or_else(wrong)?;
        let at = first.to_zoned(TimeZone::UTC).map_err(|_| wrong())?;
        let (start, end) = month_of(at.timestamp())?;
        Ok(Self { first, start, end })
    }

    /// Its first day.
    pub const fn first(self) -> Date {
        self.first
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.first.year(), self.first.month())
    }
}

/// A piece of the file: whole lines, or at the end the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The next lines.
    Lines(String),
    /// What was written, as JSON.
    Manifest(String),
}

enum Rows {
    Focus(Focus),
    Journal(Journal),
}

/// An export under way.
pub struct Export {
    store: Store,
    tenant: Tenant,
    format: Format,
    month: Month,
    made_at: Timestamp,
    rows: Rows,
    hash: Sha256,
    bytes: u64,
    totals: Totals,
    chain: Option<Chain>,
    through_batch: i64,
    /// Entries that the month has, as far as is known.
    pub entries_total: i64,
    has_ended: bool,
}

impl Export {
    /// Begins: counts and seals what was booked until now.
    pub async fn begin(
        store: &Store,
        tenant: &Tenant,
        (format, month): (Format, Month),
    ) -> Result<Self, Fault> {
        rollup::catch_up(store, tenant.id).await?;
        let mut tx = store.report_tx(tenant.id).await?;
        let made_at = store::now(&mut tx).await?;
        let span = (month.start, month.end);
        let batches = reports::batches(&mut tx, tenant.id, span).await?;
        let through_batch = rollups::progress(&mut tx, tenant.id).await?.rolled_to;
        store::commit(tx).await?;
        if month.start > made_at {
            return Err(Fault::invalid("month", "has not begun"));
        }
        let (rows, chain) = if format == Format::Journal {
            chain::seal(store, tenant.id, true).await?;
            let (journal, chain) = Journal::begin(store, tenant.id, (month, batches)).await?;
            (Rows::Journal(journal), Some(chain))
        } else {
            (Rows::Focus(Focus::begin(tenant, format, month)), None)
        };
        Ok(Self {
            store: store.clone(),
            tenant: tenant.clone(),
            format,
            month,
            made_at,
            rows,
            hash: Sha256::new(),
            bytes: 0,
            totals: Totals::default(),
            chain,
            through_batch,
            entries_total: batches.entries,
            has_ended: false,
        })
    }

    /// The next piece; none after the manifest.
    pub async fn next(&mut self) -> Result<Option<Piece>, Fault> {
        if self.has_ended {
            return Ok(None);
        }
        let (store, totals) = (&self.store, &mut self.totals);
        let lines = match &mut self.rows {
            Rows::Focus(it) => it.next(store, (totals, &mut self.through_batch)).await?,
            Rows::Journal(it) => it.next(store, totals).await?,
        };
        if let Some(lines) = lines {
            self.hash.update(lines.as_bytes());
            self.bytes = self.bytes.saturating_add(u64::try_from(lines.len()).unwrap_or(u64::MAX));
            return Ok(Some(Piece::Lines(lines)));
        }
        self.has_ended = true;
        let sha256 = line::hex(&self.hash.clone().finalize());
        Ok(Some(Piece::Manifest(self.manifest(&sha256))))
    }

    /// Entries written so far.
    pub const fn entries_done(&self) -> i64 {
        self.totals.entries
    }

    /// What was written so far.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }
}
