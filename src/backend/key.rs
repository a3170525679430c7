//! A backend's key.

use http::HeaderValue;

/// A key that is printed nowhere.
#[derive(Clone)]
pub struct Key {
    bare: HeaderValue,
    bearer: HeaderValue,
}

/// The text cannot be a key: it is empty, or no header can hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key is empty or holds characters that no header can hold")]
pub struct InvalidKey;

// === impl Key ===

impl Key {
    /// Takes a key; space around it is dropped.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidKey);
        }
        Ok(Self { bare: header(text)?, bearer: header(&format!("Bearer {text}"))? })
    }

    /// The key alone, marked as sensitive.
    pub(super) fn bare(&self) -> HeaderValue {
        self.bare.clone()
    }

    /// The value of `authorization`, marked as sensitive.
    pub(super) fn bearer(&self) -> HeaderValue {
        self.bearer.clone()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(redacted)")
    }
}

fn header(text: &str) -> Result<HeaderValue, InvalidKey> {
    let mut header = HeaderValue::try_from(text).map_err(|_| InvalidKey)?;
    header.set_sensitive(true);
    Ok(header)
}
