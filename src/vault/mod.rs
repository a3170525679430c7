//! Sealing of what is kept for a while and is nobody else's to read: AES-256-GCM with
//! a key that the database never sees. The only module that names ring.

use std::{fmt, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest,
};

use crate::clock::random;

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// Keys at once: the one in use and those of before.
const KEYS_MAX: usize = 4;

/// Bytes that say which key sealed, before the nonce.
const KEY_ID_BYTES: usize = 4;

type KeyId = [u8; KEY_ID_BYTES];

/// Seals and opens. Cheap to clone. Nonces are random, so a key is good for 2^32
/// sealings: about seven weeks at a thousand a second. Then it is to be rotated.
#[derive(Clone)]
pub struct Vault {
    keys: Arc<[(KeyId, LessSafeKey)]>,
}

/// A text that is no list of keys. It says nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 32 bytes in base64, or up to 4 such separated by commas, the newest first")]
pub struct NotKeys;

/// Something could not be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("could not be sealed")]
pub struct Unsealable;

impl Vault {
    /// Reads keys in base64, separated by commas: the first one seals, all of them open.
    pub fn parse(text: &str) -> Result<Self, NotKeys> {
        let parts: Vec<&str> = text.trim().splitn(KEYS_MAX + 1, ',').collect();
        if parts.len() > KEYS_MAX {
            return Err(NotKeys);
        }
        let keys: Result<Vec<_>, NotKeys> = parts.into_iter().map(key).collect();
        Ok(Self { keys: keys?.into() })
    }

    /// A fresh key, as [`Self::parse`] reads it.
    pub fn generate() -> String {
        STANDARD.encode(random::<KEY_BYTES>())
    }

    /// Seals. `about` has to be the same when it is opened: what was sealed about one
    /// thing is no use with another.
    pub fn seal(&self, about: &[u8], plain: &[u8]) -> Result<Vec<u8>, Unsealable> {
        let (id, key) = self.keys.first().ok_or(Unsealable)?;
        let nonce: [u8; NONCE_LEN] = random();
        let mut sealed = plain.to_vec();
        key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(about),
            &mut sealed,
        )
        .map_err(|_| Unsealable)?;
        Ok([id.as_slice(), &nonce, &sealed].concat())
    }

    /// Opens; none when it was sealed with a key that is not known, about something
    /// else, or was changed.
    pub fn open(&self, about: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (id, rest) = sealed.split_first_chunk::<KEY_ID_BYTES>()?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE_LEN>()?;
        let (_, key) = self.keys.iter().find(|(known, _)| known == id)?;
        let mut bytes = rest.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let plain = key.open_in_place(nonce, Aad::from(about), &mut bytes).ok()?.len();
        bytes.truncate(plain);
        Some(bytes)
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault(..)")
    }
}

/// A key and its name, which is the start of its digest: 32 bits of a hash of 256
/// random ones help nobody to find them.
fn key(text: &str) -> Result<(KeyId, LessSafeKey), NotKeys> {
    let bytes = STANDARD.decode(text.trim()).map_err(|_| NotKeys)?;
    let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| NotKeys)?;
    let digest = digest::digest(&digest::SHA256, &bytes);
    let id = digest.as_ref().first_chunk::<KEY_ID_BYTES>().ok_or(NotKeys)?;
    Ok((*id, LessSafeKey::new(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_the_same_key_about_the_same_thing_only() {
        let (old, new) = (Vault::generate(), Vault::generate());
        let vault = Vault::parse(&old).unwrap();
        let sealed = vault.seal(b"this", b"a secret").unwrap();
        assert!(!sealed.windows(6).any(|it| it == b"secret"));
        assert_eq!(vault.open(b"this", &sealed).unwrap(), b"a secret");
        assert_eq!(vault.open(b"that", &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(vault.open(b"this", &changed), None, "byte {at}");
            assert_eq!(vault.open(b"this", &sealed[..at]), None, "only {at} bytes");
        }
        assert_ne!(sealed, vault.seal(b"this", b"a secret").unwrap());
        let rotated = Vault::parse(&format!("{new},{old}")).unwrap();
        assert_eq!(rotated.open(b"this", &sealed).unwrap(), b"a secret");
        let sealed = rotated.seal(b"this", b"a secret").unwrap();
        assert_eq!(vault.open(b"this", &sealed), None);
        assert_eq!(Vault::parse(&new).unwrap().open(b"this", &sealed).unwrap(), b"a secret");
    }

    #[test]
    fn a_text_that_is_no_key_is_refused() {
        let key = Vault::generate();
        assert!(Vault::parse(&format!(" {key}\n")).is_ok());
        for wrong in ["", "short", &key[1..], &format!("{key},"), &[key.as_str(); 5].join(",")] {
            assert_eq!(Vault::parse(wrong).unwrap_err(), NotKeys);
        }
    }
}
