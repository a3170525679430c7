//! A backend's key.

use http::HeaderValue;

/// A key that is printed nowhere.
#[derive(Clone)]
pub struct Key(HeaderValue);

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
        let header = HeaderValue::try_from(format!("Bearer {text}"));
        let mut header = header.map_err(|_| InvalidKey)?;
        header.set_sensitive(true);
        Ok(Self(header))
    }

    /// The value of `authorization`, marked as sensitive.
    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(redacted)")
    }
}
