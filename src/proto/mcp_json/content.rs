//! The blocks of a message or of a tool's result.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{
    Problem,
    node::{Node, Object},
};
use crate::proto::{
    ContentBlock, EmbeddedResource, MediaContent, ResourceLink, TextContent, ToolResultContent,
    ToolUseContent, content_block::Block, embedded_resource::Contents,
};

/// Some servers leave the padding off; nothing is ambiguous without it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Where a block stands, which decides what it may be.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Message,
    ToolResult,
}

pub(super) fn block(node: &Node<'_>, place: Place) -> Result<ContentBlock, Problem> {
    let it = node.object()?;
    let kind = it.need("type")?;
    let block = match (kind.string()?.as_str(), place) {
        ("text", _) => Block::Text(TextContent { text: it.string("text")? }),
        ("image", _) => Block::Image(media(&it)?),
        ("audio", _) => Block::Audio(media(&it)?),
        ("tool_use", Place::Message) => Block::ToolUse(tool_use(&it)?),
        ("tool_result", Place::Message) => Block::ToolResult(tool_result(&it)?),
        ("resource_link", Place::ToolResult) => Block::ResourceLink(resource_link(&it)?),
        ("resource", Place::ToolResult) => Block::Resource(resource(&it)?),
        (_, Place::Message) => {
            return Err(kind.problem("must be text, image, audio, tool_use or tool_result"));
        }
        (_, Place::ToolResult) => {
            return Err(kind.problem("must be text, image, audio, resource_link or resource"));
        }
    };
    Ok(ContentBlock { block: Some(block) })
}

fn media(it: &Object<'_>) -> Result<MediaContent, Problem> {
    Ok(MediaContent { data: bytes(&it.need("data")?)?, mime_type: it.string("mimeType")? })
}

fn bytes(node: &Node<'_>) -> Result<Vec<u8>, Problem> {
    BASE64.decode(node.string()?).map_err(|_| node.problem("must be base64"))
}

fn tool_use(it: &Object<'_>) -> Result<ToolUseContent, Problem> {
    Ok(ToolUseContent {
        id: it.string("id")?,
        name: it.string("name")?,
        input_json: it.need("input")?.object_json()?,
        meta_json: it.object_json_or_empty("_meta")?,
    })
}

fn tool_result(it: &Object<'_>) -> Result<ToolResultContent, Problem> {
    it.need("content")?;
    Ok(ToolResultContent {
        tool_use_id: it.string("toolUseId")?,
        content: it.list("content", |node| block(node, Place::ToolResult))?,
        structured_content_json: it
            .get_or_null("structuredContent")
            .map(|it| it.any_json())
            .unwrap_or_default(),
        is_error: it.get("isError").map_or(Ok(false), |it| it.boolean())?,
        meta_json: it.object_json_or_empty("_meta")?,
    })
}

fn resource_link(it: &Object<'_>) -> Result<ResourceLink, Problem> {
    Ok(ResourceLink {
        uri: it.string("uri")?,
        name: it.string("name")?,
        mime_type: it.string_or_empty("mimeType")?,
        description: it.string_or_empty("description")?,
    })
}

fn resource(it: &Object<'_>) -> Result<EmbeddedResource, Problem> {
    let it = it.need("resource")?.object()?;
    let contents = match it.get("blob") {
        Some(blob) => Contents::Blob(bytes(&blob)?),
        None => Contents::Text(it.string("text")?),
    };
    Ok(EmbeddedResource {
        uri: it.string("uri")?,
        mime_type: it.string_or_empty("mimeType")?,
        contents: Some(contents),
    })
}
