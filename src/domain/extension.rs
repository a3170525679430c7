//! More for an envelope that has run out: what a grant lets a person add, and what the
//! person says.

use jiff::Timestamp;

use super::{
    ids::CallId,
    money::{AMOUNT_NANOS_MAX, Amount},
};

/// The most extensions that a grant may allow an envelope.
pub const TIMES_MAX: i64 = 100;

/// The most that all extensions of an envelope may add in money, in nano-units.
pub const MONEY_NANOS_MAX: i64 = AMOUNT_NANOS_MAX;

/// Calls, seconds and money on top of what an envelope allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extra {
    /// Calls.
    pub calls: i64,
    /// Seconds.
    pub seconds: i64,
    /// Money.
    pub money: Amount,
}

/// What a grant lets a person add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// At most this much at a time.
    pub extra: Extra,
    /// At most so many answers for one envelope, refusals included, from 1 to [`TIMES_MAX`].
    pub times: i64,
}

/// A question that comes back, with what the person said to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// What the question bore. Not looked at yet.
    pub token: String,
    /// The person's word, as their host asserts it.
    pub said: Said,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Yes, with the form's content as JSON text where there is one. Not looked at yet.
    Yes(Option<String>),
    /// No, or nothing at all.
    No,
}

/// An answer that a person gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// Whether they said yes.
    pub accepted: bool,
    /// What it added.
    pub extra: Extra,
    /// How long the envelope's time stood still while the person was asked, in seconds.
    pub waited_seconds: i64,
    /// When.
    pub given_at: Timestamp,
    /// The call that went on with it.
    pub call: CallId,
}

impl Extra {
    /// Whether it adds nothing at all.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Of each part the lesser.
    #[must_use]
    pub fn at_most(&self, other: &Self) -> Self {
        Self {
            calls: self.calls.min(other.calls),
            seconds: self.seconds.min(other.seconds),
            money: self.money.min(other.money),
        }
    }
}
