//! One bounded counter: calls, money, tokens or calls at once, of an envelope or of a
//! budget's window.

use jiff::Timestamp;

use super::ids::{BudgetId, EnvelopeId, LimitId, TenantId};

/// What a limit counts. Money is in nano-units of the tenant's currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    /// Calls, whatever their size.
    Calls,
    /// The tenant's money.
    Money,
    /// Tokens in and out together.
    Tokens,
    /// Calls under way at once: `held` alone counts, nothing is ever charged.
    ConcurrentCalls,
}

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// One sub-agent's.
    Envelope(EnvelopeId),
    /// An operator's, in one window.
    Budget(BudgetId),
    /// The part of such a one that a single server may have.
    Share(BudgetId),
}

/// Where a limit stands among those of a call. Rows are locked in this order,
/// narrow to wide, so that the most contended row is locked last and shortest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// One envelope, nested or not.
    Envelope,
    /// One user with one server.
    UserServer,
    /// One user.
    User,
    /// One server.
    Server,
    /// One project root.
    Root,
    /// One host application.
    Host,
    /// The whole tenant.
    Tenant,
}

/// Names a limit's row. The order is that of locking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitKey {
    /// Tenants first: one lane may serve several.
    pub tenant: TenantId,
    /// Narrow before wide.
    pub width: Width,
    /// Then by id.
    pub id: LimitId,
}

/// A limit as it stands. `settled`, `overrun` and `held` are kept by the budget
/// engine alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Its row.
    pub key: LimitKey,
    /// Whose it is.
    pub owner: Owner,
    /// What it counts.
    pub kind: LimitKind,
    /// The allowance.
    pub amount: i64,
    /// Charged so far.
    pub settled: i64,
    /// Cost beyond holds that no limit had room for.
    pub overrun: i64,
    /// Reserved by open holds.
    pub held: i64,
    /// False: counts, but never refuses.
    pub enforcing: bool,
    /// The first instant of its window.
    pub opens_at: Timestamp,
    /// The first instant after its window; none: never.
    pub closes_at: Option<Timestamp>,
    /// When it was closed for good, before its time.
    pub closed_at: Option<Timestamp>,
    /// Changes with every write.
    pub revision: i64,
}

impl Limit {
    /// What is neither charged, overrun nor held; never below zero.
    pub fn room(&self) -> i64 {
        let used = [self.settled, self.overrun, self.held].map(i128::from).iter().sum::<i128>();
        i64::try_from((i128::from(self.amount) - used).max(0)).unwrap_or(i64::MAX)
    }

    /// What is left to see: neither charged nor overrun, holds left aside.
    pub fn left(&self) -> i64 {
        let used = i128::from(self.settled) + i128::from(self.overrun);
        i64::try_from((i128::from(self.amount) - used).max(0)).unwrap_or(i64::MAX)
    }

    /// Whether a hold may be taken in its window at this instant.
    pub fn is_open(&self, now: Timestamp) -> bool {
        let before_end = self.closes_at.is_none_or(|it| now < it);
        self.closed_at.is_none() && self.opens_at <= now && before_end
    }
}
