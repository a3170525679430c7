//! Allowances of bounded sub-agents.

use jiff::Timestamp;

use super::{ids::EnvelopeId, money::Amount};

/// The most calls an envelope may allow.
pub const CALLS_MAX: i64 = 1_000_000;

/// The most seconds an envelope may last: a year.
pub const SECONDS_MAX: i64 = 31_536_000;

/// The most tokens an envelope may allow.
pub const TOKENS_MAX: i64 = 1_000_000_000_000;

/// N calls, T seconds and X of the tenant's currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Calls, at least one.
    pub calls: i64,
    /// Seconds from opening.
    pub seconds: i64,
    /// Money.
    pub money: Amount,
    /// Tokens in and out together; none: not limited.
    pub tokens: Option<i64>,
    /// What is kept for a last call to conclude.
    pub landing: Option<Landing>,
}

/// The reserve of the landing call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Landing {
    /// Money kept back.
    pub reserve: Amount,
    /// What the landing may at least generate.
    pub tokens: i64,
}

impl Allowance {
    /// Whether every part is within `outer`.
    pub fn within(&self, outer: &Self) -> bool {
        let tokens_fit = match (self.tokens, outer.tokens) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(theirs)) => mine <= theirs,
        };
        tokens_fit
            && self.calls <= outer.calls
            && self.seconds <= outer.seconds
            && self.money <= outer.money
    }
}

/// An envelope's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Its id.
    pub id: EnvelopeId,
    /// When its seconds began.
    pub opened_at: Timestamp,
    /// When they end.
    pub closes_at: Timestamp,
    /// When it was closed before that.
    pub closed_at: Option<Timestamp>,
}

/// What is left of an envelope, to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Calls.
    pub calls: i64,
    /// Whole seconds.
    pub seconds: i64,
    /// Money.
    pub money: Amount,
    /// Tokens, where they are limited.
    pub tokens: Option<i64>,
}
