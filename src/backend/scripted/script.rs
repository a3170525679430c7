//! Finding and reading a script.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{
    backend::Prompt,
    domain::{
        message::{Block, JsonText, Role},
        usage::ReportedUsage,
    },
};

/// What stands before the JSON object.
const MARK: &str = "@script";
/// The longest delay in milliseconds.
const DELAY_MS_MAX: u64 = 3_600_000;
/// The longest scripted text in bytes.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// The most pieces that a text is split into.
const DELTAS_MAX: usize = 100_000;
/// The most tool calls.
const TOOL_CALLS_MAX: usize = 128;
/// The longest time in seconds that a backend may ask to be left alone.
const RETRY_AFTER_S_MAX: f64 = 86_400.0;

/// A script, checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    /// What is said; none: the default reply.
    pub(super) text: Option<String>,
    /// Into how many pieces the text is split; none: one a word.
    pub(super) deltas: Option<usize>,
    /// Before the first delta, or before the status of an `http_status`.
    pub(super) first_delay: Duration,
    /// Between two deltas.
    pub(super) delay: Duration,
    /// After so many deltas comes nothing more.
    pub(super) stall_after: Option<usize>,
    /// What goes wrong.
    pub(super) fault: Option<Fault>,
    /// After how many deltas.
    pub(super) fault_after: usize,
    /// What `http_status` answers.
    pub(super) status: u16,
    /// What an `http_status` asks for.
    pub(super) retry_after: Option<Duration>,
    /// What is claimed; none: words are counted.
    pub(super) usage: Option<ReportedUsage>,
    /// The vendor's word for the end, empty if it gives none; none: by what was
    /// delivered.
    pub(super) finish: Option<String>,
    /// Tools that the model calls after the text.
    pub(super) tool_calls: Vec<Call>,
    /// Whether `max_tokens` cuts the answer.
    pub(super) obey_max_tokens: bool,
}

/// A scripted tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// The tool.
    pub(super) name: String,
    /// A JSON object, as written.
    pub(super) input: JsonText,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fault {
    /// The connection breaks.
    Disconnect,
    /// Something comes that is not an answer.
    Malformed,
    /// An error comes inside the stream.
    ErrorFrame,
    /// The answer is a status.
    HttpStatus,
}

/// The script cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// The script as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    text: Option<String>,
    deltas: Option<usize>,
    #[serde(default)]
    first_delay_ms: u64,
    #[serde(default)]
    delay_ms: u64,
    stall_after: Option<usize>,
    fault: Option<Fault>,
    #[serde(default)]
    fault_after: usize,
    status: Option<u16>,
    retry_after: Option<f64>,
    #[serde(default, deserialize_with = "claim")]
    usage: Option<ReportedUsage>,
    #[serde(default, deserialize_with = "reason")]
    finish: Option<String>,
    #[serde(default)]
    tool_calls: Vec<WireCall>,
    obey_max_tokens: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireUsage {
    input: Option<i64>,
    cache_read: Option<i64>,
    cache_write: Option<i64>,
    output: Option<i64>,
    reasoning: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCall {
    name: String,
    input: Option<Box<RawValue>>,
}

/// A null claims nothing; a missing key, which never comes here, has words counted.
fn claim<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ReportedUsage>, D::Error> {
    let wire = Option::<WireUsage>::deserialize(from)?;
    let claim = wire.map_or(ReportedUsage::UNKNOWN, |it| {
        let WireUsage { input, cache_read, cache_write, output, reasoning } = it;
        ReportedUsage { input, cache_read, cache_write, output, reasoning }
    });
    Ok(Some(claim))
}

/// A null is no reason at all; a missing key, which never comes here, the usual one.
fn reason<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Some(Option::<String>::deserialize(from)?.unwrap_or_default()))
}

/// The script of the last user message; the default one if it holds none.
pub(super) fn find(prompt: &Prompt) -> Result<Script, Malformed> {
    let last = prompt.messages.iter().rev().find(|it| it.role == Role::User);
    let text = last.map(|it| it.content.iter().flat_map(texts).collect::<Vec<_>>().join("\n"));
    let Some((_, script)) = text.as_deref().unwrap_or("").split_once(MARK) else {
        return read("{}");
    };
    read(script)
}

/// All text of a block, that of tool results included.
pub(super) fn texts(block: &Block) -> Vec<Cow<'_, str>> {
    match block {
        Block::Text(it) => vec![it.into()],
        Block::ToolResult(it) => it.content.iter().flat_map(texts).collect(),
        Block::Resource(it) => it.text.iter().map(Into::into).collect(),
        Block::ToolUse(it) => vec![it.input.as_str().into()],
        Block::Image(_) | Block::Audio(_) | Block::ResourceLink(_) => Vec::new(),
    }
}

/// Reads one JSON object and leaves what follows it.
fn read(text: &str) -> Result<Script, Malformed> {
    if !text.trim_start().starts_with('{') {
        return Err(Malformed);
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Wire>();
    let wire = values.next().and_then(Result::ok).ok_or(Malformed)?;
    wire.check()
}

// === impl Wire ===

impl Wire {
    fn check(self) -> Result<Script, Malformed> {
        let too_much = self.text.as_ref().is_some_and(|it| it.len() > TEXT_BYTES_MAX)
            || self.deltas.is_some_and(|it| it > DELTAS_MAX)
            || self.tool_calls.len() > TOOL_CALLS_MAX;
        let status = self.status.unwrap_or(500);
        if too_much || !(300..600).contains(&status) {
            return Err(Malformed);
        }
        Ok(Script {
            text: self.text,
            deltas: self.deltas,
            first_delay: delay(self.first_delay_ms)?,
            delay: delay(self.delay_ms)?,
            stall_after: self.stall_after,
            // A status alone can only mean that it is to be answered.
            fault: self.fault.or(self.status.map(|_| Fault::HttpStatus)),
            fault_after: self.fault_after,
            status,
            retry_after: self.retry_after.map(seconds).transpose()?,
            usage: self.usage,
            finish: self.finish,
            tool_calls: self.tool_calls.into_iter().map(call).collect::<Result<_, _>>()?,
            obey_max_tokens: self.obey_max_tokens.unwrap_or(true),
        })
    }
}

fn delay(ms: u64) -> Result<Duration, Malformed> {
    if ms > DELAY_MS_MAX { Err(Malformed) } else { Ok(Duration::from_millis(ms)) }
}

fn seconds(it: f64) -> Result<Duration, Malformed> {
    if it > RETRY_AFTER_S_MAX {
        return Err(Malformed);
    }
    Duration::try_from_secs_f64(it).map_err(|_| Malformed)
}

fn call(it: WireCall) -> Result<Call, Malformed> {
    let input = it.input.as_ref().map_or("{}", |it| it.get());
    if it.name.is_empty() || !input.starts_with('{') {
        return Err(Malformed);
    }
    Ok(Call { name: it.name, input: JsonText::checked(input) })
}
