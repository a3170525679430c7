//! Messages and their blocks.

use bytes::Bytes;

use super::{
    field::{At, at_most, each, required, wrong},
    json::{Shape, json, optional_json},
    params::Reading,
};
use crate::{
    domain::{
        fault::Fault,
        message::{Block, Media, Message, Resource, ResourceLink, Role, ToolResult, ToolUse},
    },
    proto::{self, content_block::Block as WireBlock, embedded_resource::Contents},
};

const MESSAGES_MAX: usize = 2_000;
const BLOCKS_MAX: usize = 1_000;
const NAME_BYTES_MAX: usize = 256;
const URI_BYTES_MAX: usize = 8_192;
const MIME_BYTES_MAX: usize = 128;

/// Where a block stands, which decides what it may be.
#[derive(Debug, Clone, Copy)]
enum Place {
    User,
    Assistant,
    ToolResult,
}

/// Reads the conversation, which must not be empty.
pub(super) fn messages(
    wire: Vec<proto::SamplingMessage>,
    reading: &mut Reading,
) -> Result<Vec<Message>, Fault> {
    if wire.is_empty() {
        return Err(Fault::invalid("messages", "must have at least one message"));
    }
    at_most("messages", &wire, MESSAGES_MAX)?;
    each("messages", wire, |it| message(it, reading))
}

fn message(it: proto::SamplingMessage, reading: &mut Reading) -> Result<Message, Fault> {
    let (role, place) = match proto::Role::try_from(it.role) {
        Ok(proto::Role::User) => (Role::User, Place::User),
        Ok(proto::Role::Assistant) => (Role::Assistant, Place::Assistant),
        Ok(proto::Role::Unspecified) | Err(_) => {
            return Err(Fault::invalid("role", "must be ROLE_USER or ROLE_ASSISTANT"));
        }
    };
    if it.content.is_empty() {
        return Err(Fault::invalid("content", "must have at least one block"));
    }
    optional_json(&it.meta_json, Shape::Object).at("meta_json")?;
    Ok(Message { role, content: blocks(it.content, place, reading)? })
}

fn blocks(
    wire: Vec<proto::ContentBlock>,
    place: Place,
    reading: &mut Reading,
) -> Result<Vec<Block>, Fault> {
    at_most("content", &wire, BLOCKS_MAX)?;
    each("content", wire, |it| block(it, place, reading))
}

fn block(it: proto::ContentBlock, place: Place, reading: &mut Reading) -> Result<Block, Fault> {
    match it.block.ok_or_else(|| wrong("must have a type that is known"))? {
        WireBlock::Text(it) => {
            reading.count(it.text.len()).at("text")?;
            Ok(Block::Text(it.text))
        }
        WireBlock::Image(it) => media(it, "image", reading).at("image").map(Block::Image),
        WireBlock::Audio(it) => media(it, "audio", reading).at("audio").map(Block::Audio),
        WireBlock::ToolUse(it) => match place {
            Place::Assistant => tool_use(&it, reading).at("tool_use").map(Block::ToolUse),
            Place::User => Err(only("tool_use", "in messages of the assistant")),
            Place::ToolResult => Err(only("tool_use", "outside of tool results")),
        },
        WireBlock::ToolResult(it) => match place {
            Place::User => tool_result(it, reading).at("tool_result").map(Block::ToolResult),
            Place::Assistant => Err(only("tool_result", "in messages of the user")),
            Place::ToolResult => Err(only("tool_result", "outside of tool results")),
        },
        WireBlock::ResourceLink(it) => {
            inside_result(place, "resource_link")?;
            resource_link(it, reading).at("resource_link").map(Block::ResourceLink)
        }
        WireBlock::Resource(it) => {
            inside_result(place, "resource")?;
            resource(it, reading).at("resource").map(Block::Resource)
        }
    }
}

fn only(field: &'static str, place: &str) -> Fault {
    Fault::invalid(field, format!("is allowed only {place}"))
}

fn inside_result(place: Place, field: &'static str) -> Result<(), Fault> {
    match place {
        Place::ToolResult => Ok(()),
        Place::User | Place::Assistant => Err(only(field, "inside of tool results")),
    }
}

fn media(it: proto::MediaContent, kind: &str, reading: &mut Reading) -> Result<Media, Fault> {
    // Parameters such as codecs are dropped, and the rest is strict, for the type
    // becomes a part of a data URL.
    let mime_type = it.mime_type.split(';').next().unwrap_or_default().trim_end();
    let fine = |it: u8| it.is_ascii_alphanumeric() || b".+-_".contains(&it);
    let subtype = mime_type.split_once('/').filter(|(it, _)| it.eq_ignore_ascii_case(kind));
    let known = subtype.is_some_and(|(_, it)| !it.is_empty() && it.bytes().all(fine));
    if !known || mime_type.len() > MIME_BYTES_MAX {
        return Err(Fault::invalid("mime_type", format!("must be {kind}/ and a subtype")));
    }
    if it.data.is_empty() {
        return Err(Fault::invalid("data", "is required"));
    }
    reading.count(it.data.len()).at("data")?;
    Ok(Media { mime_type: mime_type.to_owned(), data: Bytes::from(it.data) })
}

fn tool_use(it: &proto::ToolUseContent, reading: &mut Reading) -> Result<ToolUse, Fault> {
    let id = required("id", &it.id, NAME_BYTES_MAX)?;
    let name = required("name", &it.name, NAME_BYTES_MAX)?;
    reading.count(it.input_json.len()).at("input_json")?;
    let input = json(&it.input_json, Shape::Object).at("input_json")?;
    optional_json(&it.meta_json, Shape::Object).at("meta_json")?;
    Ok(ToolUse { id, name, input })
}

fn tool_result(it: proto::ToolResultContent, reading: &mut Reading) -> Result<ToolResult, Fault> {
    let tool_use_id = required("tool_use_id", &it.tool_use_id, NAME_BYTES_MAX)?;
    let content = blocks(it.content, Place::ToolResult, reading)?;
    let field = "structured_content_json";
    reading.count(it.structured_content_json.len()).at(field)?;
    let structured = optional_json(&it.structured_content_json, Shape::Any).at(field)?;
    optional_json(&it.meta_json, Shape::Object).at("meta_json")?;
    Ok(ToolResult { tool_use_id, content, structured, is_error: it.is_error })
}

fn resource_link(it: proto::ResourceLink, reading: &mut Reading) -> Result<ResourceLink, Fault> {
    let uri = required("uri", &it.uri, URI_BYTES_MAX)?;
    reading.count(uri.len() + it.name.len()).at("name")?;
    reading.count(it.description.len()).at("description")?;
    Ok(ResourceLink { uri, name: it.name, description: it.description })
}

fn resource(it: proto::EmbeddedResource, reading: &mut Reading) -> Result<Resource, Fault> {
    let uri = required("uri", &it.uri, URI_BYTES_MAX)?;
    let text = match it.contents {
        Some(Contents::Text(text)) => {
            reading.count(text.len()).at("text")?;
            Some(text)
        }
        Some(Contents::Blob(blob)) => {
            reading.count(blob.len()).at("blob")?;
            None
        }
        None => return Err(wrong("must have a text or a blob")),
    };
    if it.mime_type.len() > MIME_BYTES_MAX {
        return Err(Fault::invalid("mime_type", format!("must be at most {MIME_BYTES_MAX} bytes")));
    }
    Ok(Resource { uri, mime_type: it.mime_type, text })
}
