//! The result of a request.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Problem, REVISION_WITH_TOOLS};
use crate::proto::{
    ContentBlock, CreateMessageResult, MediaContent, Role, content_block::Block as WireBlock,
};

/// The revision that brought audio.
const REVISION_WITH_AUDIO: &str = "2025-03-26";

/// Writes an MCP `CreateMessageResult` that is valid in `revision` (a date such
/// as `2025-06-18`; empty: 2025-11-25).
///
/// One block is an object, several are an array. Before 2025-11-25 there are no
/// arrays: several texts become one. No block at all becomes an empty text. What
/// the revision cannot say (a tool call, sound) is a problem at its path, as is
/// JSON that is none.
pub fn result_to_json(result: &CreateMessageResult, revision: &str) -> Result<String, Problem> {
    let revision = if revision.is_empty() { REVISION_WITH_TOOLS } else { revision };
    let json = ResultJson {
        role: if result.role() == Role::User { "user" } else { "assistant" },
        content: content(&result.content, revision)?,
        model: &result.model,
        stop_reason: Some(result.stop_reason.as_str()).filter(|it| !it.is_empty()),
        meta: object("_meta", &result.meta_json)?,
    };
    serde_json::to_string(&json).map_err(|_| at("content", "cannot be written as JSON"))
}

#[derive(Serialize)]
struct ResultJson<'a> {
    role: &'static str,
    content: Content<'a>,
    model: &'a str,
    #[serde(rename = "stopReason", skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    One(Block<'a>),
    Many(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: &'a str,
    },
    Audio {
        data: String,
        #[serde(rename = "mimeType")]
        mime_type: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a RawValue,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<&'a RawValue>,
    },
}

fn content<'a>(blocks: &'a [ContentBlock], revision: &str) -> Result<Content<'a>, Problem> {
    if revision < REVISION_WITH_TOOLS && blocks.len() > 1 {
        let text = blocks.iter().enumerate().map(|(i, it)| only_text(i, it));
        return Ok(Content::One(Block::Text { text: text.collect::<Result<String, _>>()?.into() }));
    }
    let blocks = blocks.iter().enumerate();
    let mut blocks = blocks.map(|(i, it)| block(i, it, revision)).collect::<Result<Vec<_>, _>>()?;
    if blocks.len() > 1 {
        return Ok(Content::Many(blocks));
    }
    Ok(Content::One(blocks.pop().unwrap_or(Block::Text { text: Cow::Borrowed("") })))
}

fn only_text(index: usize, block: &ContentBlock) -> Result<&str, Problem> {
    match &block.block {
        Some(WireBlock::Text(it)) => Ok(&it.text),
        _ => Err(at(&format!("content[{index}]"), "cannot stand beside others in this revision")),
    }
}

fn block<'a>(index: usize, block: &'a ContentBlock, revision: &str) -> Result<Block<'a>, Problem> {
    let path = format!("content[{index}]");
    let since = |first: &str| {
        if revision < first { Err(at(&path, "is not in this revision of MCP")) } else { Ok(()) }
    };
    match &block.block {
        Some(WireBlock::Text(it)) => Ok(Block::Text { text: Cow::Borrowed(&it.text) }),
        Some(WireBlock::Image(it)) => {
            Ok(Block::Image { data: base64(it), mime_type: &it.mime_type })
        }
        Some(WireBlock::Audio(it)) => {
            since(REVISION_WITH_AUDIO)?;
            Ok(Block::Audio { data: base64(it), mime_type: &it.mime_type })
        }
        Some(WireBlock::ToolUse(it)) => {
            since(REVISION_WITH_TOOLS)?;
            let path = format!("{path}.input");
            let input =
                object(&path, &it.input_json)?.ok_or_else(|| at(&path, "must be a JSON object"))?;
            let meta = object(&format!("content[{index}]._meta"), &it.meta_json)?;
            Ok(Block::ToolUse { id: &it.id, name: &it.name, input, meta })
        }
        Some(WireBlock::ToolResult(_) | WireBlock::ResourceLink(_) | WireBlock::Resource(_))
        | None => Err(at(&path, "cannot be part of a result")),
    }
}

fn base64(it: &MediaContent) -> String {
    STANDARD.encode(&it.data)
}

/// An object's text, kept as it is; none where it is empty.
fn object<'a>(path: &str, text: &'a str) -> Result<Option<&'a RawValue>, Problem> {
    if text.is_empty() {
        return Ok(None);
    }
    let refused = || at(path, "must be a JSON object");
    let raw: &RawValue = serde_json::from_str(text).map_err(|_| refused())?;
    if raw.get().starts_with('{') { Ok(Some(raw)) } else { Err(refused()) }
}

fn at(path: &str, problem: &str) -> Problem {
    Problem { path: path.to_owned(), problem: problem.to_owned() }
}
