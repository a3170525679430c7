//! Ledger entries: one for each resolution of a hold, and one for each later truth.

use super::{
    charge::Split,
    fx::Cost,
    hold::Hold,
    ids::EntryId,
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
    /// Tokens as limits count them.
    pub fn tokens(&self) -> i64 {
        i64::try_from(self.usage.total()).unwrap_or(i64::MAX)
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

/// The sides of an entry. They sum to zero, which the table checks too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Postings {
    /// Less what the user is charged.
    pub user_wallet: Amount,
    /// Less what is beyond every limit.
    pub tenant_overrun: Amount,
    /// What the provider is owed.
    pub provider_payable: Amount,
    /// What the rate's age added.
    pub fx_buffer: Amount,
}

impl Postings {
    /// The sides of a cost that was parted into charge and overrun.
    pub fn of(cost: &Cost, money: Split) -> Self {
        Self {
            user_wallet: Amount::from_nanos(money.charge).negated(),
            tenant_overrun: Amount::from_nanos(money.overrun).negated(),
            provider_payable: cost.provider,
            fx_buffer: cost.buffer,
        }
    }

    /// Account names and amounts, in a fixed order.
    pub const fn sides(&self) -> [(&'static str, Amount); 4] {
        [
            ("user_wallet", self.user_wallet),
            ("tenant_overrun", self.tenant_overrun),
            ("provider_payable", self.provider_payable),
            ("fx_buffer", self.fx_buffer),
        ]
    }

    /// Zero for a balanced entry.
    pub fn sum(&self) -> Result<Amount, OutOfRange> {
        self.sides().into_iter().try_fold(Amount::ZERO, |sum, (_, it)| sum.plus(it))
    }
}

/// An entry as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its id: the hold's own for the entry that resolves it.
    pub id: EntryId,
    /// Why.
    pub kind: EntryKind,
    /// The hold it speaks of, with parties, terms and limits.
    pub hold: Hold,
    /// What was used.
    pub truth: Truth,
    /// What it moves.
    pub booking: Booking,
    /// Its sides.
    pub postings: Postings,
    /// The entry that it corrects.
    pub corrects: Option<EntryId>,
}
