//! JSON texts: checked here, passed on as they were written.

use serde::de::IgnoredAny;

use super::field::wrong;
use crate::domain::{fault::Fault, message::JsonText};

/// Arrays and objects inside each other.
const DEPTH_MAX: usize = 64;

/// A mebibyte for one JSON text.
const JSON_BYTES_MAX: usize = 1024 * 1024;

/// What a JSON text must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Any JSON.
    Any,
    /// An object.
    Object,
}

/// Reads a JSON text that must be there.
pub(super) fn json(text: &str, shape: Shape) -> Result<JsonText, Fault> {
    if text.len() > JSON_BYTES_MAX {
        return Err(wrong("must be at most 1 MiB of JSON"));
    }
    // Before the parser, whose own recursion then stays within bounds.
    if depth(text) > DEPTH_MAX {
        return Err(wrong("must be JSON at most 64 levels deep"));
    }
    // The parser's own message would quote the text.
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Err(wrong("must be JSON"));
    }
    if shape == Shape::Object && !text.trim_start().starts_with('{') {
        return Err(wrong("must be a JSON object"));
    }
    Ok(JsonText::checked(text))
}

/// Reads a JSON text; empty is absent.
pub(super) fn optional_json(text: &str, shape: Shape) -> Result<Option<JsonText>, Fault> {
    if text.is_empty() { Ok(None) } else { json(text, shape).map(Some) }
}

/// How deep arrays and objects nest, brackets inside strings left aside.
fn depth(text: &str) -> usize {
    let (mut now, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => now += 1,
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(now);
    }
    deepest
}
