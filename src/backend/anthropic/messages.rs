//! The conversation as Anthropic writes it.

use std::{borrow::Cow, fmt::Write as _};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    backend::prose::{self, Unsupported, raw},
    domain::message::{Block, Media, Message, Role, ToolResult, ToolUse},
};

/// One turn; two of one role never follow each other.
#[derive(Serialize)]
pub(super) struct Turn<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Self>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source {
    r#type: &'static str,
    media_type: &'static str,
    data: String,
}

/// Whether a text may be sent: the vendor refuses one of spaces alone.
pub(super) fn says_something(text: &str) -> bool {
    !text.trim().is_empty()
}

/// All turns. What comes of messages without a word is left out, and messages of one
/// role become one turn, so that the results of several tools stand together.
pub(super) fn translate(messages: &[Message]) -> Result<Vec<Turn<'_>>, Unsupported> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for message in messages {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let parts = message.content.iter().filter_map(|it| part(it, message.role).transpose());
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        match turns.last_mut().filter(|it| it.role == role) {
            Some(turn) => turn.content.extend(parts),
            None if parts.is_empty() => {}
            None => turns.push(Turn { role, content: parts }),
        }
    }
    for turn in &mut turns {
        // Results must come before anything else; the order among them stays.
        turn.content.sort_by_key(|it| !matches!(it, Part::ToolResult { .. }));
    }
    trim_end(&mut turns);
    if turns.is_empty() { Err(Unsupported) } else { Ok(turns) }
}

/// Words for the model to go on from must not end in space.
fn trim_end(turns: &mut [Turn<'_>]) {
    let last = turns.last_mut().filter(|it| it.role == "assistant");
    if let Some(Part::Text { text }) = last.and_then(|it| it.content.last_mut()) {
        *text = text.trim_end().to_owned().into();
    }
}

/// A block as the vendor knows it; none if it says nothing. Only people show
/// pictures, and only models call tools.
fn part(block: &Block, role: Role) -> Result<Option<Part<'_>>, Unsupported> {
    let part = match (block, role) {
        (Block::Text(it), _) => return Ok(text(it.into())),
        (Block::Image(it), Role::User) => image(it)?,
        (Block::ResourceLink(it), Role::User) => return Ok(text(prose::link(it).into())),
        (Block::Resource(it), Role::User) => return Ok(text(prose::resource(it).into())),
        (Block::ToolResult(it), Role::User) => tool_result(it)?,
        (Block::ToolUse(it), Role::Assistant) => tool_use(it)?,
        (
            Block::Image(_)
            | Block::Audio(_)
            | Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::ResourceLink(_)
            | Block::Resource(_),
            Role::User | Role::Assistant,
        ) => return Err(Unsupported),
    };
    Ok(Some(part))
}

fn text(text: Cow<'_, str>) -> Option<Part<'_>> {
    says_something(&text).then_some(Part::Text { text })
}

/// The vendor names four formats.
fn image(media: &Media) -> Result<Part<'static>, Unsupported> {
    let essence = media.mime_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let media_type = match essence.as_str() {
        "image/jpeg" | "image/jpg" => "image/jpeg",
        "image/png" => "image/png",
        "image/gif" => "image/gif",
        "image/webp" => "image/webp",
        _ => return Err(Unsupported),
    };
    let data = BASE64_STANDARD.encode(&media.data);
    Ok(Part::Image { source: Source { r#type: "base64", media_type, data } })
}

fn tool_use(it: &ToolUse) -> Result<Part<'_>, Unsupported> {
    Ok(Part::ToolUse { id: id(&it.id), name: &it.name, input: raw(&it.input)? })
}

fn tool_result(result: &ToolResult) -> Result<Part<'_>, Unsupported> {
    let mut content = Vec::new();
    for block in &result.content {
        if matches!(block, Block::ToolResult(_)) {
            return Err(Unsupported);
        }
        content.extend(part(block, Role::User)?);
    }
    content.extend(prose::structured(result).and_then(|it| text(it.into())));
    let (tool_use_id, is_error) = (id(&result.tool_use_id), result.is_error);
    Ok(Part::ToolResult { tool_use_id, content, is_error })
}

/// The vendor's ids are letters, digits, `_` and `-`. A conversation that another
/// model began may have others, which are written out, alike in call and result.
fn id(id: &str) -> Cow<'_, str> {
    let fine = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
    if !id.is_empty() && id.bytes().all(fine) {
        return id.into();
    }
    let mut written = String::from("id_");
    for byte in id.bytes() {
        if fine(byte) {
            written.push(byte.into());
        } else {
            // Writing into a string cannot fail.
            let _ = write!(written, "-{byte:02x}");
        }
    }
    written.into()
}
