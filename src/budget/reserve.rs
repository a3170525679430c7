//! The landing: what an envelope keeps so that a sub-agent can conclude instead of
//! breaking off. One last call, and money for it.

use super::offer::Offer;
use crate::domain::{
    envelope::Landing,
    ids::EnvelopeId,
    limit::{Limit, LimitKind, Owner},
    money::Amount,
};

/// What is kept.
#[derive(Debug, Clone)]
pub struct Reserve {
    /// Whose.
    pub envelope: EnvelopeId,
    /// Money at least.
    pub money: Amount,
    /// What the last call may at least generate, at the price of the model asked.
    pub tokens: u64,
    /// A tool must be called, so the call cannot be one that concludes.
    pub tool_required: bool,
    /// A person is asked for more first, so no call may be the landing yet.
    pub is_withheld: bool,
}

/// What a call is that is made out of the reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// The envelope's last one.
    Landing,
    /// Its first one: there is nothing to conclude yet.
    First,
}

impl Reserve {
    /// What an envelope keeps whose calls may end in a landing.
    pub fn of(envelope: EnvelopeId, landing: &Landing) -> Self {
        let tokens = u64::try_from(landing.tokens).unwrap_or(0);
        Self { envelope, money: landing.reserve, tokens, tool_required: false, is_withheld: false }
    }

    /// Whether this is one of the envelope's own limits.
    pub(super) fn is_of(&self, limit: &Limit) -> bool {
        limit.owner == Owner::Envelope(self.envelope)
    }

    /// Money that an ordinary call leaves alone: what was set aside, or what a call
    /// like this one would need to conclude.
    pub(super) fn kept_for(&self, offer: &Offer) -> i64 {
        self.money.nanos().max(offer.bound_for(self.tokens))
    }

    /// Whether a call would be left after this one.
    pub(super) fn leaves_a_call(&self, limits: &[&Limit], calls: i64) -> bool {
        self.calls(limits).is_none_or(|it| it.room() > calls)
    }

    /// What a call out of the reserve would be; none: it may not be made. `calls`: none
    /// for a later attempt of a call that is among the settled ones already.
    pub(super) fn last(&self, limits: &[&Limit], calls: i64) -> Option<Last> {
        let own = 1_i64.saturating_sub(calls);
        let is_first = self.calls(limits).is_some_and(|it| it.settled == own && it.held == 0);
        match (is_first, self.tool_required || self.is_withheld) {
            (true, _) => Some(Last::First),
            (false, false) => Some(Last::Landing),
            (false, true) => None,
        }
    }

    /// The envelope's own limit of calls.
    pub(super) fn calls<'a>(&self, limits: &[&'a Limit]) -> Option<&'a Limit> {
        limits.iter().find(|it| it.kind == LimitKind::Calls && self.is_of(it)).copied()
    }
}
