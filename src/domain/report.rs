//! What finance asks of the ledger, and what it is told.

use jiff::Timestamp;

use super::{entry::EntryKind, ids::EnvelopeId};

/// By what sums are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// The person.
    User,
    /// The MCP server.
    Server,
    /// The client application.
    Host,
    /// The model.
    Model,
    /// The backend.
    Backend,
    /// The project root.
    Root,
    /// The sub-agent's allowance.
    Envelope,
    /// Why an entry was written.
    Kind,
}

/// How finely time is parted, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grain {
    /// Hours.
    Hour,
    /// Days.
    Day,
    /// Weeks from Monday.
    Week,
    /// Months.
    Month,
}

/// Which entries count; each part may be left out. A name that is not known finds
/// nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The person, as hosts know them.
    pub user: Option<String>,
    /// The server, as hosts know it.
    pub server: Option<String>,
    /// The client application's name.
    pub host: Option<String>,
    /// The model's alias.
    pub model: Option<String>,
    /// The backend's name.
    pub backend: Option<String>,
    /// The project root's URI.
    pub root: Option<String>,
    /// The sub-agent's allowance.
    pub envelope: Option<EnvelopeId>,
    /// Why the entry was written.
    pub kind: Option<EntryKind>,
}

/// The names of a row's dimensions; none where it is not parted by one, or has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// The person, as hosts know them.
    pub user: Option<String>,
    /// The server, as hosts know it.
    pub server: Option<String>,
    /// The client application's name.
    pub host: Option<String>,
    /// The model's alias.
    pub model: Option<String>,
    /// The backend's name.
    pub backend: Option<String>,
    /// The project root's URI.
    pub root: Option<String>,
    /// The sub-agent's allowance.
    pub envelope: Option<EnvelopeId>,
    /// Why entries were written.
    pub kind: Option<EntryKind>,
}

/// Sums of entries. Money in nano-units, tokens by exclusive class; what a correction
/// takes back is subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Entries.
    pub entries: i64,
    /// Those of them whose cost is a bound of ours.
    pub estimated: i64,
    /// Calls counted.
    pub calls: i64,
    /// Prompt tokens that no cache served.
    pub input: i64,
    /// Prompt tokens read from a cache.
    pub cache_read: i64,
    /// Prompt tokens written to a cache.
    pub cache_write: i64,
    /// Visible tokens of answers.
    pub output: i64,
    /// Hidden tokens of answers.
    pub reasoning: i64,
    /// What users were charged.
    pub charged: i64,
    /// What the tenant bears beyond every limit.
    pub overrun: i64,
    /// The providers' cost, in pico-USD.
    pub pico_usd: i128,
}

/// Where a row stands in a report's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The start of its stretch of time, in microseconds from the Unix epoch.
    pub bucket: i64,
    /// Its cost, negated: the dearest is first.
    pub rank: i64,
    /// A digest of its dimensions.
    pub key: u128,
}

/// One row of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Where its stretch of time begins.
    pub at: Timestamp,
    /// Of what it is.
    pub labels: Labels,
    /// What it adds up to.
    pub sums: Sums,
    /// What was charged and overrun in the period before, in nano-units.
    pub before: i64,
    /// Its place.
    pub position: Position,
}
