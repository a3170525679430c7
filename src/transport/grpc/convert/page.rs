//! Pages of lists: keyset positions behind opaque tokens.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

use crate::domain::fault::Fault;

const SIZE_DEFAULT: i64 = 50;
const SIZE_MAX: i64 = 500;

/// The first byte of a token, so that its form can change.
const VERSION: u8 = 1;

/// Longer than any token of ours.
const TOKEN_BYTES_MAX: usize = 64;

/// Which part of a list is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Items at most, 1 to 500.
    pub size: i64,
    /// The last item of the page before; none: from the start.
    pub after: Option<Uuid>,
}

/// Reads `page_size` (0: 50, more than 500: 500) and `page_token`.
pub fn page(size: i32, token: &str) -> Result<Page, Fault> {
    let size = match i64::from(size) {
        ..0 => return Err(Fault::invalid("page_size", "must not be negative")),
        0 => SIZE_DEFAULT,
        size => size.min(SIZE_MAX),
    };
    let after = if token.is_empty() { None } else { Some(position(token)?) };
    Ok(Page { size, after })
}

/// The token of the page that follows `last`; empty when nothing does.
pub fn next_page_token(last: Option<Uuid>) -> String {
    last.map_or_else(String::new, |it| {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(it.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    })
}

fn position(token: &str) -> Result<Uuid, Fault> {
    let read = || {
        let short = Some(token).filter(|it| it.len() <= TOKEN_BYTES_MAX)?;
        let bytes = URL_SAFE_NO_PAD.decode(short).ok()?;
        let (version, position) = bytes.split_first()?;
        (*version == VERSION).then(|| Uuid::from_slice(position).ok()).flatten()
    };
    let problem = "must be the next_page_token of an earlier reply, or empty";
    read().ok_or_else(|| Fault::invalid("page_token", problem))
}
