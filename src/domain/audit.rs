//! What the audit says of a change.

use std::net::IpAddr;

use jiff::Timestamp;
use uuid::Uuid;

use super::ids::{
    AuditId, BackendId, BudgetId, CredentialId, FxRateId, GrantId, ModelId, ServerId, StopId,
    TenantId, UserId,
};

macro_rules! subjects {
    ($($(#[$doc:meta])* $name:ident($id:ident) = $word:literal;)*) => {
        /// What was changed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Subject {
            $($(#[$doc])* $name($id),)*
        }

        impl Subject {
            /// The word in the table.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name(_) => $word,)* }
            }

            /// The bare id.
            pub const fn id(self) -> Uuid {
                match self { $(Self::$name(it) => it.uuid(),)* }
            }

            /// A word and an id as a subject.
            pub fn of(word: &str, id: Uuid) -> Option<Self> {
                match word {
                    $($word => Some(Self::$name(id.into())),)*
                    _ => None,
                }
            }
        }
    };
}

subjects! {
    /// The organisation itself.
    Tenant(TenantId) = "tenant";
    /// A key.
    Credential(CredentialId) = "credential";
    /// A person.
    User(UserId) = "user";
    /// An MCP server.
    Server(ServerId) = "server";
    /// A consent.
    Grant(GrantId) = "grant";
    /// An allowance.
    Budget(BudgetId) = "budget";
    /// Where models run.
    Backend(BackendId) = "backend";
    /// A model, its price and how it is bound.
    Model(ModelId) = "model";
    /// An exchange rate.
    FxRate(FxRateId) = "fx_rate";
    /// A kill switch.
    Stop(StopId) = "stop";
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its id.
    pub id: AuditId,
    /// When, by Postgres' time.
    pub at: Timestamp,
    /// The key.
    pub credential: CredentialId,
    /// What the key is called; empty for the platform's.
    pub credential_name: String,
    /// From where; none: from inside.
    pub peer: Option<IpAddr>,
    /// The rpc.
    pub method: String,
    /// What was changed.
    pub subject: Subject,
    /// The row before, as JSON, secrets masked; none: there was none.
    pub old: Option<String>,
    /// The row after.
    pub new: Option<String>,
}

/// Which entries are wanted; none: all of them.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// About this.
    pub subject: Option<Subject>,
    /// By this key.
    pub credential: Option<CredentialId>,
    /// By this rpc.
    pub method: Option<String>,
    /// From this instant on.
    pub from: Option<Timestamp>,
    /// Before this instant.
    pub until: Option<Timestamp>,
}
