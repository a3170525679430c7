//! Keys that are an envelope.

use jiff::Timestamp;

use super::{
    ids::{EnvelopeId, GrantId, HostId, TenantId, TokenId},
    money::Currency,
};

/// The longest that a token lasts without being refreshed: a day.
pub const TOKEN_SECONDS_MAX: i64 = 86_400;

/// How long it lasts unless the host says otherwise.
pub const TOKEN_SECONDS: i64 = 3_600;

/// The most tokens of one envelope that are not over.
pub const TOKENS_MAX: i64 = 100;

/// Aliases that one may name.
pub const TOKEN_MODELS_MAX: usize = 100;

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// The organisation.
    pub tenant: TenantId,
    /// The client application whose envelope it is.
    pub host: HostId,
    /// The person, as hosts know them.
    pub user: String,
    /// The server, as hosts know it.
    pub server: String,
    /// What its calls count against.
    pub envelope: EnvelopeId,
    /// The envelope that the host named, where that is another: this one was opened for
    /// the token alone, inside it.
    pub inside: Option<EnvelopeId>,
    /// The consent that it is for.
    pub grant: GrantId,
    /// Aliases that it may use of those that the grant allows; empty: all of them.
    pub models: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is no longer accepted.
    pub expires_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A token that is accepted, with what it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// The token.
    pub token: Token,
    /// What its tenant pays in.
    pub currency: Currency,
    /// Aliases that the grant allows; empty: all of the tenant's.
    pub granted: Vec<String>,
}

impl Bearer {
    /// Whether it may use the model of this alias, should there be one.
    pub fn allows(&self, alias: &str) -> bool {
        let among = |list: &[String]| list.is_empty() || list.iter().any(|it| it == alias);
        among(&self.granted) && among(&self.token.models)
    }
}
