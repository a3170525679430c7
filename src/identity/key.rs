//! API keys: the tenant's id, so that the tenant is set before the key is looked
//! up, and 256 bits of randomness. Only a digest is ever stored.

use std::{fmt, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{clock::random, domain::ids::TenantId};

/// What every key begins with, so that scanners for secrets can find one.
const PREFIX: &str = "bursar_";

/// What every envelope token begins with. No key does: what follows its prefix is a
/// tenant, which `env` is not.
const TOKEN_PREFIX: &str = "bursar_env_";

/// Bytes of randomness.
const SECRET_BYTES: usize = 32;

/// A key. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    tenant: TenantId,
    text: String,
}

/// A key that is an envelope: for the door that serves those, and refused by all others
/// for its looks alone. Its `Debug` shows nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenKey(Key);

/// A text that cannot be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key")]
pub struct NotAKey;

impl Key {
    /// A fresh key of a tenant.
    pub fn generate(tenant: TenantId) -> Self {
        Self::fresh(PREFIX, tenant)
    }

    fn fresh(prefix: &str, tenant: TenantId) -> Self {
        let secret = URL_SAFE_NO_PAD.encode(random::<SECRET_BYTES>());
        let text = format!("{prefix}{}_{secret}", tenant.uuid().simple());
        Self { tenant, text }
    }

    fn read(prefix: &str, text: &str) -> Result<Self, NotAKey> {
        let (tenant, secret) =
            text.strip_prefix(prefix).and_then(|it| it.split_once('_')).ok_or(NotAKey)?;
        let bytes = URL_SAFE_NO_PAD.decode(secret).map_err(|_| NotAKey)?;
        if tenant.len() != 32 || bytes.len() != SECRET_BYTES {
            return Err(NotAKey);
        }
        let tenant = Uuid::parse_str(tenant).map_err(|_| NotAKey)?;
        Ok(Self { tenant: tenant.into(), text: text.to_owned() })
    }

    /// Whose it claims to be.
    pub const fn tenant(&self) -> TenantId {
        self.tenant
    }

    /// What is stored of it. The secret has full entropy, so a plain hash will do.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// The key itself, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl FromStr for Key {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        Self::read(PREFIX, text)
    }
}

impl TokenKey {
    /// A fresh token of a tenant.
    pub fn generate(tenant: TenantId) -> Self {
        Self(Key::fresh(TOKEN_PREFIX, tenant))
    }

    /// The key that it is.
    pub const fn key(&self) -> &Key {
        &self.0
    }
}

impl FromStr for TokenKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        Key::read(TOKEN_PREFIX, text).map(Self)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}
