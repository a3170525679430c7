//! Allowances of operators.

use jiff::Timestamp;

use super::{
    ids::{BudgetId, HostId, RootId, ServerId, UserId},
    limit::{LimitKind, Width},
    period::Period,
};

/// An operator's allowance over a scope and a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// Its id.
    pub id: BudgetId,
    /// What people call it.
    pub display_name: String,
    /// Only this user's calls; none: everybody's.
    pub user: Option<UserId>,
    /// Only this server's calls; none: every server's.
    pub server: Option<ServerId>,
    /// Only this host application's calls; none: every host's.
    pub host: Option<HostId>,
    /// Only calls from this project root; none: from everywhere.
    pub root: Option<RootId>,
    /// How often it starts anew.
    pub period: Period,
    /// The time zone of its calendar: an IANA name, empty for UTC.
    pub time_zone: String,
    /// Calls in a period.
    pub calls: Option<i64>,
    /// Nano-units of the tenant's currency in a period.
    pub money: Option<i64>,
    /// Tokens in a period.
    pub tokens: Option<i64>,
    /// Calls at once, whatever the period.
    pub concurrent_calls: Option<i64>,
    /// How much of all this one server may have, 1 to 99 in a hundred; none: all.
    pub server_share_percent: Option<u8>,
    /// False: counts but never refuses.
    pub enforcing: bool,
    /// What it allows more for a while.
    pub raised: Raised,
    /// Changes with every change.
    pub revision: i64,
    /// Since when it counts.
    pub created_at: Timestamp,
    /// When it was taken out of force.
    pub deleted_at: Option<Timestamp>,
}

/// What all raises of a budget come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Raised {
    /// Calls.
    pub calls: i64,
    /// Nano-units of the tenant's currency.
    pub money: i64,
    /// Tokens.
    pub tokens: i64,
}

/// One raise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raise {
    /// Of which budget.
    pub budget: BudgetId,
    /// So many calls more.
    pub calls: Option<i64>,
    /// So many nano-units more.
    pub money: Option<i64>,
    /// So many tokens more.
    pub tokens: Option<i64>,
    /// Why, in the operator's words.
    pub reason: String,
    /// When it is taken back; none: it is not in force yet.
    pub ends_at: Option<Timestamp>,
}

impl Budget {
    /// What tells one state of it from the next.
    pub fn etag(&self) -> String {
        format!("r{}", self.revision)
    }

    /// How wide its scope is.
    pub const fn width(&self) -> Width {
        match (self.user, self.server) {
            (Some(_), Some(_)) => Width::UserServer,
            (Some(_), None) => Width::User,
            (None, Some(_)) => Width::Server,
            (None, None) if self.root.is_some() => Width::Root,
            (None, None) if self.host.is_some() => Width::Host,
            (None, None) => Width::Tenant,
        }
    }

    /// Its amounts by kind, with what they are raised by.
    pub fn amounts(&self) -> impl Iterator<Item = (LimitKind, i64)> {
        let Raised { calls, money, tokens } = self.raised;
        let all = [
            (LimitKind::Calls, self.calls, calls),
            (LimitKind::Money, self.money, money),
            (LimitKind::Tokens, self.tokens, tokens),
            (LimitKind::ConcurrentCalls, self.concurrent_calls, 0),
        ];
        all.into_iter().filter_map(|(kind, it, more)| Some((kind, it?.saturating_add(more))))
    }

    /// One server's part of an amount, if it has only a part: rounded down, but at
    /// least one.
    pub fn share_of(&self, amount: i64) -> Option<i64> {
        let percent = i128::from(self.server_share_percent?);
        let part = i128::from(amount) * percent / 100;
        Some(i64::try_from(part).unwrap_or(amount).clamp(1, amount.max(1)))
    }
}
