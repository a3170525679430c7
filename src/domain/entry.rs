//! Ledger entries: one for each resolution of a hold, and one for each later truth.

use super::{
    charge::Split,
    fx::Cost,
    hold::Hold,
    money::{Amount, OutOfRange},
    outcome::Cut,
    usage::{ReportedUsage, Usage},
};

/// Why an entry was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// The hold was used.
    Settle,
    /// Certainly nothing was used.
    Void,
    /// Nobody resolved the hold in time.
    Expire,
    /// The truth of an expired or estimated call.
    LateSettle,
    /// A correction by hand.
    Correction,
}

/// How sure a cost is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The provider's own count.
    Exact,
    /// Our bound.
    Estimated,
    /// Our bound, since the provider's count cannot be true.
    Disputed(ReportedUsage),
}

/// What a call truly used, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth {
    /// Tokens by class; our bound where estimated.
    pub usage: Usage,
    /// Tokens as limits count them: the usage's total, or the hold's bound where
    /// only that is known.
    pub tokens: i64,
    /// The cost in the tenant's currency.
    pub cost: Cost,
    /// The provider's cost in pico-USD, a memo.
    pub pico_usd: i128,
    /// How sure.
    pub certainty: Certainty,
    /// Why the answer ended early.
    pub cut: Option<Cut>,
}

impl Truth {
    /// All that was held: what is booked when nothing better is known.
    pub fn whole_hold(hold: &Hold, cut: Option<Cut>) -> Result<Self, OutOfRange> {
        Ok(Self {
            usage: Usage::default(),
            tokens: hold.need.tokens,
            cost: hold.terms.fx.split(hold.need.money)?,
            pico_usd: hold.terms.fx.affords(hold.need.money),
            certainty: Certainty::Estimated,
            cut,
        })
    }

    /// Nothing: what is booked when certainly nothing was used.
    pub fn nothing(cut: Option<Cut>) -> Self {
        Self {
            usage: Usage::default(),
            tokens: 0,
            cost: Cost::default(),
            pico_usd: 0,
            certainty: Certainty::Exact,
            cut,
        }
    }
}

/// How far an entry moves the call's bookings; the fold over a call's entries is
/// what the call was charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Booking {
    /// Calls counted.
    pub calls: i64,
    /// Money, in nano-units.
    pub money: Split,
    /// Tokens.
    pub tokens: Split,
}

/// The sides of an entry, by account. They sum to zero, which the table checks too.
pub fn postings(cost: &Cost, money: Split) -> [(&'static str, Amount); 4] {
    [
        ("user_wallet", Amount::from_nanos(money.charge).negated()),
        ("tenant_overrun", Amount::from_nanos(money.overrun).negated()),
        ("provider_payable", cost.provider),
        ("fx_buffer", cost.buffer),
    ]
}

/// What is written when a hold ends. Parties, terms and limits come from the hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// Why.
    pub kind: EntryKind,
    /// What was used.
    pub truth: Truth,
    /// What it moves.
    pub booking: Booking,
}
