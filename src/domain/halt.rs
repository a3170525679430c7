//! Kill switches: whom nothing is held for while one is in force.

use jiff::Timestamp;

use super::ids::{CredentialId, ServerId, StopId, TenantId, UserId};

/// Whom a stop is about; without a user every one, without a server every one, without
/// either the whole tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// The person.
    pub user: Option<UserId>,
    /// The MCP server.
    pub server: Option<ServerId>,
}

/// Whose call it is, as far as stops ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// The organisation.
    pub tenant: TenantId,
    /// The person.
    pub user: UserId,
    /// The MCP server.
    pub server: ServerId,
}

/// A stop, in force until it is lifted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    /// Its id.
    pub id: StopId,
    /// Whom it is about.
    pub scope: Scope,
    /// The user, as hosts know them; empty: every one.
    pub user: String,
    /// The server, as hosts know it; empty: every one.
    pub server: String,
    /// Why, in the operator's words.
    pub reason: String,
    /// The key that set it, and when by Postgres' time.
    pub stopped: (CredentialId, Timestamp),
    /// The key that lifted it, and when; none: it is in force.
    pub lifted: Option<(CredentialId, Timestamp)>,
}
