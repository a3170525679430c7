//! What no dialect has a form of its own for: it goes as text, as it was written, or
//! not at all.

use serde_json::value::RawValue;

use super::{Cause, Error};
use crate::domain::message::{Block, JsonText, Resource, ResourceLink, ToolResult};

/// A dialect has no place for something in the prompt. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsupported;

impl From<Unsupported> for Error {
    fn from(Unsupported: Unsupported) -> Self {
        Cause::Unsupported.into()
    }
}

/// JSON as it was written, to stand in a body: long numbers stay whole.
pub(super) fn raw(json: &JsonText) -> Result<&RawValue, Unsupported> {
    serde_json::from_str(json.as_str()).map_err(|_| Unsupported)
}

/// A pointer, each of its parts on a line.
pub(super) fn link(link: &ResourceLink) -> String {
    let ResourceLink { uri, name, description } = link;
    [name, uri, description].map(String::as_str).into_iter().filter(|it| !it.is_empty()).fold(
        String::new(),
        |all, it| if all.is_empty() { it.to_owned() } else { format!("{all}\n{it}") },
    )
}

/// A document's text below its address; one without text is named.
pub(super) fn resource(resource: &Resource) -> String {
    let Resource { uri, mime_type, text } = resource;
    match text {
        Some(text) => format!("{uri}\n{text}"),
        None => format!("{uri} ({mime_type})"),
    }
}

/// A result's structured content, unless its text says it already: tools are asked
/// to say it twice, and once is enough.
pub(super) fn structured(result: &ToolResult) -> Option<&str> {
    let json = result.structured.as_ref().map(JsonText::as_str)?;
    let says = |it: &Block| match it {
        Block::Text(it) => it.trim() == json.trim(),
        Block::Resource(it) => resource(it).trim() == json.trim(),
        Block::ResourceLink(it) => link(it).trim() == json.trim(),
        Block::Image(_) | Block::Audio(_) | Block::ToolUse(_) | Block::ToolResult(_) => false,
    };
    (!result.content.iter().any(says)).then_some(json)
}
