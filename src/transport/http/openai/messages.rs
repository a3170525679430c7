//! OpenAI's messages in MCP's words: what the system says stands apart, and the answers to
//! tool calls are one message of the user.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::problem::Problem;
use crate::proto::{
    self,
    content_block::Block,
    mcp_json::{
        self,
        node::{Node, Object},
    },
};

/// A conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// All that the system and the developer say, in order.
    pub(super) system: String,
    pub(super) messages: Vec<proto::SamplingMessage>,
    /// For each of those, the index of the first message that it was made of.
    pub(super) places: Vec<usize>,
}

/// What the last message was, which decides whether the next one joins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    ToolAnswer,
    Other,
}

/// Reads them.
pub(super) fn messages(list: &Node<'_>) -> Result<Conversation, Problem> {
    let mut read = Conversation::default();
    let mut before = Last::Other;
    for (index, node) in list.array()?.iter().enumerate() {
        let it = node.object()?;
        let role = it.string("role")?;
        match role.as_str() {
            "system" | "developer" => {
                let said = texts(&it.need("content")?)?;
                if !read.system.is_empty() {
                    read.system.push_str("\n\n");
                }
                read.system.push_str(&said);
                continue;
            }
            "user" => read.push(index, proto::Role::User, user(&it)?),
            "assistant" => read.push(index, proto::Role::Assistant, assistant(&it)?),
            "tool" => {
                let answer = tool(&it)?;
                match read.messages.last_mut().filter(|_| before == Last::ToolAnswer) {
                    Some(joined) => joined.content.push(answer),
                    None => read.push(index, proto::Role::User, vec![answer]),
                }
                before = Last::ToolAnswer;
                continue;
            }
            _ => {
                let problem = "must be system, developer, user, assistant or tool";
                return Err(it.need("role")?.problem(problem).into());
            }
        }
        before = Last::Other;
    }
    if read.messages.is_empty() {
        return Err(list.problem("must have a message besides those of the system").into());
    }
    Ok(read)
}

impl Conversation {
    fn push(&mut self, index: usize, role: proto::Role, content: Vec<proto::ContentBlock>) {
        let role = role.into();
        self.messages.push(proto::SamplingMessage { role, content, meta_json: String::new() });
        self.places.push(index);
    }
}

fn user(it: &Object<'_>) -> Result<Vec<proto::ContentBlock>, Problem> {
    let content = it.need("content")?;
    if !content.is_array() {
        return Ok(vec![text(content.string()?)]);
    }
    let parts = content.array()?;
    if parts.is_empty() {
        return Err(content.problem("must not be empty").into());
    }
    parts.iter().map(part).collect()
}

fn part(node: &Node<'_>) -> Result<proto::ContentBlock, Problem> {
    let it = node.object()?;
    let kind = it.need("type")?;
    let block = match kind.string()?.as_str() {
        "text" => Block::Text(proto::TextContent { text: it.string("text")? }),
        "image_url" => Block::Image(image(&it.need("image_url")?)?),
        "input_audio" => Block::Audio(audio(&it.need("input_audio")?)?),
        _ => return Err(kind.problem("must be text, image_url or input_audio").into()),
    };
    Ok(proto::ContentBlock { block: Some(block) })
}

/// Only what the request itself carries: nothing is ever fetched for it.
fn image(node: &Node<'_>) -> Result<proto::MediaContent, Problem> {
    let it = node.object()?;
    if let Some(detail) = it.get("detail")
        && !["auto", "low", "high"].contains(&detail.string()?.as_str())
    {
        return Err(detail.problem("must be auto, low or high").into());
    }
    let node = it.need("url")?;
    let url = node.string()?;
    let wrong = || node.problem("must be a data: URL in base64; other addresses are not fetched");
    let (kind, data) =
        url.strip_prefix("data:").and_then(|it| it.split_once(',')).ok_or_else(wrong)?;
    let mime_type = kind.strip_suffix(";base64").ok_or_else(wrong)?.to_owned();
    let data = STANDARD.decode(data).map_err(|_| wrong())?;
    let is_image =
        mime_type.split_once('/').is_some_and(|(it, _)| it.eq_ignore_ascii_case("image"));
    if !is_image || data.is_empty() {
        return Err(node.problem("must be a data: URL of an image").into());
    }
    Ok(proto::MediaContent { data, mime_type })
}

fn audio(node: &Node<'_>) -> Result<proto::MediaContent, Problem> {
    let it = node.object()?;
    let format = it.need("format")?;
    let mime_type = match format.string()?.as_str() {
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        _ => return Err(format.problem("must be wav or mp3").into()),
    };
    let data = it.need("data")?;
    let bytes = STANDARD.decode(data.string()?).ok().filter(|it| !it.is_empty());
    let bytes = bytes.ok_or_else(|| data.problem("must be base64"))?;
    Ok(proto::MediaContent { data: bytes, mime_type: mime_type.to_owned() })
}

/// What the model said before: text and tool calls.
fn assistant(it: &Object<'_>) -> Result<Vec<proto::ContentBlock>, Problem> {
    for gone in ["function_call", "audio"] {
        if let Some(node) = it.get(gone) {
            return Err(node.problem("is not understood here").into());
        }
    }
    let said = match it.get("content") {
        Some(content) => texts(&content)?,
        None => it.string_or_empty("refusal")?,
    };
    let calls = it.list("tool_calls", tool_call)?;
    if calls.is_empty() {
        // An answer may have been cut before its first word.
        return Ok(vec![text(said)]);
    }
    let said = Some(said).filter(|it| !it.is_empty()).map(text);
    Ok(said.into_iter().chain(calls).collect())
}

fn tool_call(node: &Node<'_>) -> Result<proto::ContentBlock, mcp_json::Problem> {
    let it = node.object()?;
    let kind = it.string_or_empty("type")?;
    if !(kind.is_empty() || kind == "function") {
        return Err(it.need("type")?.problem("must be function"));
    }
    let function = it.need("function")?.object()?;
    // A tool without parameters is called with nothing at all by some.
    let input = function.string_or_empty("arguments")?;
    let input = if input.trim().is_empty() { "{}".to_owned() } else { input };
    let is_object = input.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(&input).is_ok();
    if !is_object {
        return Err(function.need("arguments")?.problem("must be the JSON text of an object"));
    }
    let block = Block::ToolUse(proto::ToolUseContent {
        id: it.string("id")?,
        name: function.string("name")?,
        input_json: input,
        meta_json: String::new(),
    });
    Ok(proto::ContentBlock { block: Some(block) })
}

fn tool(it: &Object<'_>) -> Result<proto::ContentBlock, Problem> {
    let block = Block::ToolResult(proto::ToolResultContent {
        tool_use_id: it.string("tool_call_id")?,
        content: vec![text(texts(&it.need("content")?)?)],
        ..Default::default()
    });
    Ok(proto::ContentBlock { block: Some(block) })
}

/// One text, or parts that are.
fn texts(content: &Node<'_>) -> Result<String, Problem> {
    if !content.is_array() {
        return Ok(content.string()?);
    }
    let mut all = String::new();
    for node in content.array()? {
        let it = node.object()?;
        let kind = it.need("type")?;
        match kind.string()?.as_str() {
            "text" => all.push_str(&it.string("text")?),
            "refusal" => all.push_str(&it.string("refusal")?),
            _ => return Err(kind.problem("must be text").into()),
        }
    }
    Ok(all)
}

fn text(text: String) -> proto::ContentBlock {
    proto::ContentBlock { block: Some(Block::Text(proto::TextContent { text })) }
}
