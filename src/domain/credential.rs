//! API keys and what they may do.

use jiff::Timestamp;

use super::ids::{CredentialId, HostId};

/// What the bearer of a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Make tenants.
    Platform,
    /// Sample, in the name of users.
    Host,
    /// Set budgets, grants, models and keys.
    Operator,
    /// Read the ledger.
    Finance,
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its id.
    pub id: CredentialId,
    /// What people call it.
    pub display_name: String,
    /// What it may do.
    pub role: Role,
    /// The host it speaks for, id and name; only with [`Role::Host`].
    pub host: Option<(HostId, String)>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is no longer accepted.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl Role {
    /// The word in the table and in errors.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Host => "host",
            Self::Operator => "operator",
            Self::Finance => "finance",
        }
    }

    /// A word as a role.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Platform, Self::Host, Self::Operator, Self::Finance]
            .into_iter()
            .find(|it| it.word() == word)
    }
}
