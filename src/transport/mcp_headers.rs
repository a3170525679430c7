//! MCP's headers: whoever executes a body checks each of them against it, whatever the
//! revision and whatever a gateway in front has already allowed. So nobody can have one
//! thing allowed and another done, and nobody can talk the check away.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderMap;

/// The only method that is executed here.
pub(super) const METHOD: &str = "sampling/createMessage";

/// What all of these headers' names begin with.
const PREFIX: &str = "mcp-";

/// The longest value that is looked at, in bytes.
const VALUE_BYTES_MAX: usize = 8_192;

/// What the body says that headers may repeat.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    /// The method.
    pub(super) method: &'a str,
    /// The name of the originating call.
    pub(super) name: Option<&'a str>,
    /// The revision that is executed.
    pub(super) revision: &'a str,
}

/// The first header that says something else than the body, or that is there twice, or of
/// which the body says nothing.
pub(super) fn disagreement(headers: &HeaderMap, said: &Said<'_>) -> Option<String> {
    let ours = headers.keys().map(http::HeaderName::as_str).filter(|it| it.starts_with(PREFIX));
    let wrong = |name: &&str| {
        let expected = match *name {
            "mcp-method" => Some(said.method),
            "mcp-name" => said.name,
            "mcp-protocol-version" => Some(said.revision),
            // Not a part of what is executed here, so nothing may be decided by it.
            _ => None,
        };
        expected.is_none_or(|it| value(headers, name).is_none_or(|said| said != it))
    };
    ours.into_iter().find(wrong).map(str::to_owned)
}

/// The value of a header that is there once, decoded.
pub(super) fn value(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut all = headers.get_all(name).iter();
    let only = all.next().filter(|_| all.next().is_none())?;
    let text = only.to_str().ok().filter(|it| it.len() <= VALUE_BYTES_MAX)?.trim();
    let encoded = text.strip_prefix("=?base64?").and_then(|it| it.strip_suffix("?="));
    match encoded {
        Some(it) => String::from_utf8(STANDARD.decode(it).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}
