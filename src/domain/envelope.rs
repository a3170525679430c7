//! Allowances of bounded sub-agents.

use jiff::Timestamp;

use super::{ids::EnvelopeId, money::Amount};

/// How deep envelopes may stand in each other, the outermost not counted.
pub const DEPTH_MAX: usize = 4;

/// The most envelopes that may be open inside one at a time.
pub const CHILDREN_MAX: i64 = 1_000;

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
    /// Calls at once, at least one; none: not limited.
    pub concurrent_calls: Option<i64>,
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
        let fits = |mine: Option<i64>, theirs: Option<i64>| {
            theirs.is_none_or(|most| mine.is_some_and(|it| it <= most))
        };
        fits(self.tokens, outer.tokens)
            && fits(self.concurrent_calls, outer.concurrent_calls)
            && self.calls <= outer.calls
            && self.seconds <= outer.seconds
            && self.money <= outer.money
    }

    /// The part of it that an envelope can still give of which so much is left. The
    /// landing's reserve never exceeds the money it is kept from.
    #[must_use]
    pub fn at_most(&self, left: &Left) -> Self {
        let money = self.money.min(left.money);
        Self {
            calls: self.calls.min(left.calls),
            seconds: self.seconds.min(left.seconds),
            money,
            tokens: self.tokens.map_or(left.tokens, |it| Some(it.min(left.tokens.unwrap_or(it)))),
            concurrent_calls: self.concurrent_calls,
            landing: self.landing.map(|it| Landing { reserve: it.reserve.min(money), ..it }),
        }
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
