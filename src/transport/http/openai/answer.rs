//! An answer in OpenAI's words: whole, or the pieces that a stream is made of.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    domain::ids::CallId,
    proto::{self, ContentBlock, content_block::Block},
};

/// A whole answer.
#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: Usage,
    /// What is left of the envelope, as MCP's results say it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    message: Message<'a>,
    logprobs: (),
    finish_reason: &'static str,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    refusal: (),
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    /// Only in streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// Tokens of the bearer's own call. What of them came from a cache is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_field_names, reason = "they are OpenAI's")]
struct Usage {
    prompt_tokens: i64,
    completion_tokens: i64,
    total_tokens: i64,
}

/// Usage in a stream: null until the last piece.
#[derive(Serialize)]
#[serde(untagged)]
enum Told {
    NotYet,
    Now(Usage),
}

/// What an answer consists of.
pub(super) struct Parts<'a> {
    pub(super) text: String,
    pub(super) tool_calls: Vec<&'a proto::ToolUseContent>,
    pub(super) finish: &'static str,
    pub(super) model: &'a str,
}

/// A piece of a stream.
#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: &'a [ChunkChoice<'a>],
    /// None: not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Told>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: u8,
    delta: Delta<'a>,
    logprobs: (),
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

/// What all pieces of a stream say.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) model: String,
    pub(super) include_usage: bool,
}

/// What ends a stream.
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// The id of a call as OpenAI's clients know such ids.
pub(super) fn id(call: CallId) -> String {
    format!("chatcmpl-{}", call.uuid().simple())
}

/// A whole answer as JSON.
pub(super) fn whole(
    (call, created): (CallId, i64),
    reply: &proto::CreateMessageResponse,
    one_tool_call: bool,
) -> String {
    let Parts { text, tool_calls, finish, model } = parts(reply, one_tool_call);
    let content = Some(text.as_str()).filter(|it| !it.is_empty() || tool_calls.is_empty());
    let message = Message {
        role: "assistant",
        content,
        refusal: (),
        tool_calls: tool_calls.iter().map(|it| tool_call(it, None)).collect(),
    };
    let completion = Completion {
        id: id(call),
        object: "chat.completion",
        created,
        model,
        choices: [Choice { index: 0, message, logprobs: (), finish_reason: finish }],
        usage: usage(reply),
        meta: meta(reply),
    };
    serde_json::to_string(&completion).unwrap_or_default()
}

/// What an answer consists of.
pub(super) fn parts(reply: &proto::CreateMessageResponse, one_tool_call: bool) -> Parts<'_> {
    let result = reply.result.as_ref();
    let blocks: &[ContentBlock] = result.map_or(&[], |it| &it.content);
    let mut text = String::new();
    let mut tool_calls = Vec::new();
    for block in blocks {
        match &block.block {
            Some(Block::Text(it)) => text.push_str(&it.text),
            Some(Block::ToolUse(it)) if !one_tool_call || tool_calls.is_empty() => {
                tool_calls.push(it);
            }
            Some(_) | None => {}
        }
    }
    let finish = finish(result.map_or("", |it| &it.stop_reason));
    Parts { text, tool_calls, finish, model: result.map_or("", |it| &it.model) }
}

/// Whatever ended an answer before the model did is `length`: that is the word for an
/// answer which goes on, and clients are ready for it.
fn finish(stop_reason: &str) -> &'static str {
    match stop_reason {
        "endTurn" | "stopSequence" => "stop",
        "toolUse" => "tool_calls",
        "refusal" => "content_filter",
        _ => "length",
    }
}

fn usage(reply: &proto::CreateMessageResponse) -> Usage {
    let it = reply.usage.unwrap_or_default();
    let sum = |all: &[i64]| all.iter().copied().fold(0, i64::saturating_add);
    let prompt_tokens = sum(&[it.input, it.cache_read, it.cache_write]);
    let completion_tokens = sum(&[it.output, it.reasoning]);
    let total_tokens = sum(&[prompt_tokens, completion_tokens]);
    Usage { prompt_tokens, completion_tokens, total_tokens }
}

fn meta(reply: &proto::CreateMessageResponse) -> Option<&RawValue> {
    let text = reply.result.as_ref().map(|it| it.meta_json.as_str())?;
    serde_json::from_str(text).ok()
}

fn tool_call(it: &proto::ToolUseContent, index: Option<usize>) -> ToolCall<'_> {
    let function = Function { name: &it.name, arguments: &it.input_json };
    ToolCall { index, id: &it.id, r#type: "function", function }
}

// === impl Frame ===

impl Frame {
    /// The first piece: who speaks.
    pub(super) fn head(&self) -> String {
        let delta = Delta { role: Some("assistant"), content: Some(""), tool_calls: Vec::new() };
        self.piece(delta, None)
    }

    /// More of the text.
    pub(super) fn text(&self, text: &str) -> String {
        self.piece(Delta { content: Some(text), ..Delta::default() }, None)
    }

    /// What comes after the text, of which so many bytes have been sent: the rest of it,
    /// the tool calls, how it ended and what was used.
    pub(super) fn tail(
        &self,
        reply: &proto::CreateMessageResponse,
        (sent, one_tool_call): (usize, bool),
    ) -> String {
        let parts = parts(reply, one_tool_call);
        let mut all = String::new();
        // A reader who was too slow for the last words gets them here.
        if let Some(rest) = parts.text.get(sent..).filter(|it| !it.is_empty()) {
            all.push_str(&self.text(rest));
        }
        for (index, it) in parts.tool_calls.iter().enumerate() {
            let tool_calls = vec![tool_call(it, Some(index))];
            all.push_str(&self.piece(Delta { tool_calls, ..Delta::default() }, None));
        }
        let delta = Delta::default();
        let end = ChunkChoice { index: 0, delta, logprobs: (), finish_reason: Some(parts.finish) };
        all.push_str(&self.event(&[end], None, meta(reply)));
        if self.include_usage {
            all.push_str(&self.event(&[], Some(usage(reply)), None));
        }
        all.push_str(DONE);
        all
    }

    fn piece(&self, delta: Delta<'_>, finish_reason: Option<&'static str>) -> String {
        let choice = ChunkChoice { index: 0, delta, logprobs: (), finish_reason };
        self.event(&[choice], None, None)
    }

    fn event(
        &self,
        choices: &[ChunkChoice<'_>],
        usage: Option<Usage>,
        meta: Option<&RawValue>,
    ) -> String {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            choices,
            usage: self.include_usage.then(|| usage.map_or(Told::NotYet, Told::Now)),
            meta,
        };
        event(&serde_json::to_string(&chunk).unwrap_or_default())
    }
}

/// An event of a stream.
pub(super) fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}
