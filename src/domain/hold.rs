//! Reservations: what a call may use at most, and on whose behalf.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    fx::FxQuote,
    ids::{
        BackendId, CallId, EnvelopeId, HoldId, HostId, ModelId, PriceVersionId, RootId, ServerId,
        TenantId, UserId,
    },
    limit::{LimitKey, LimitKind},
    money::Amount,
    price::Prices,
};

/// What is reserved of each kind of limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Need {
    /// One for a call's first attempt, none for the next.
    pub calls: i64,
    /// The bound of the cost.
    pub money: Amount,
    /// The bound of prompt and answer together.
    pub tokens: i64,
}

impl Need {
    /// The part that a limit of this kind counts.
    pub const fn of(&self, kind: LimitKind) -> i64 {
        match kind {
            LimitKind::Calls => self.calls,
            LimitKind::Money => self.money.nanos(),
            LimitKind::Tokens => self.tokens,
            LimitKind::ConcurrentCalls => 1,
        }
    }
}

/// On whose behalf a call is made. Copied to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parties {
    /// The organisation.
    pub tenant: TenantId,
    /// The client application.
    pub host: HostId,
    /// The person.
    pub user: UserId,
    /// The MCP server.
    pub server: ServerId,
    /// The sub-agent's allowance.
    pub envelope: EnvelopeId,
    /// Where the person works, if the host says so.
    pub root: Option<RootId>,
}

/// What a call is priced at: fixed when the hold is taken, used again at settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The model, unless a host runs one of its own.
    pub model: Option<ModelId>,
    /// Its backend.
    pub backend: Option<BackendId>,
    /// The version of its prices.
    pub price_version: Option<PriceVersionId>,
    /// The prices themselves, where there is a version.
    pub prices: Option<Prices>,
    /// The exchange rate.
    pub fx: FxQuote,
}

/// A durable reservation on every limit that applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Its id, and that of the entry that will resolve it.
    pub id: HoldId,
    /// The call.
    pub call: CallId,
    /// Which attempt of the call, from 1.
    pub attempt: i16,
    /// On whose behalf.
    pub parties: Parties,
    /// At which prices.
    pub terms: Terms,
    /// How much.
    pub need: Need,
    /// Why this model was chosen, in words; none where a host runs its own.
    pub route: Option<Arc<str>>,
    /// On which limits, in the order of locking.
    pub limits: Vec<LimitKey>,
    /// Taken by a host that runs its own model.
    pub reserved_by_host: bool,
    /// Postgres time of the hold; decides window, price and rate.
    pub incurred_at: Timestamp,
    /// When the reaper settles it at its full amount.
    pub expires_at: Timestamp,
}
