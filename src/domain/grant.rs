//! Consent that a server may sample in a user's name. Without one: refused.

use std::time::Duration;

use super::{
    envelope::Allowance,
    extension::Terms,
    ids::{GrantId, ServerId, UserId},
};

/// The longest that one call takes when the grant does not say: it ends before
/// the shortest of the hosts' own timers, which is 60 s.
pub const CALL_SECONDS: u64 = 45;

/// A user's (or an operator's) consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// Whose name.
    pub user: UserId,
    /// Which server.
    pub server: ServerId,
    /// Aliases that may be used; empty: all of the tenant's.
    pub models: Vec<String>,
    /// The envelope of a call that names none.
    pub default_envelope: Allowance,
    /// The largest that a host may open.
    pub max_envelope: Allowance,
    /// Whether requests may carry tools.
    pub tools: bool,
    /// Whether requests in the background are allowed.
    pub background: bool,
    /// Whether the server may learn the real model.
    pub reveal_model: bool,
    /// The longest that one call may take.
    pub call_time: Duration,
    /// What a person may add to an envelope that has run out; none: nobody is asked.
    pub extension: Option<Terms>,
}
