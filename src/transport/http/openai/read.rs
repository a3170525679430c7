//! The body of a chat completion: an allow-list. A parameter passes only if what it asks
//! for can be given as it is meant; all else is refused by name, not dropped.

use super::{
    messages::{self, Conversation},
    problem::Problem,
    tools,
};
use crate::{
    domain::fault::Fault,
    proto::{
        self,
        mcp_json::{
            self, check_bounds,
            node::{Node, Object},
        },
    },
};

/// What is read.
const READ: [&str; 15] = [
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
];

/// What says who asks or helps a provider's caches. Neither is believed or needed.
const IGNORED: [&str; 4] =
    ["user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"];

/// What must be as it is when it is left out, written without spaces.
const ONLY: [(&str, &[&str]); 10] = [
    ("n", &["1"]),
    ("logprobs", &["false"]),
    ("top_logprobs", &["0"]),
    ("logit_bias", &["{}"]),
    ("store", &["false"]),
    ("metadata", &["{}"]),
    ("service_tier", &["\"auto\"", "\"default\""]),
    ("modalities", &["[\"text\"]"]),
    ("response_format", &["{\"type\":\"text\"}"]),
    ("reasoning_effort", &["\"none\""]),
];

/// The longest name of a model, in bytes.
const MODEL_BYTES_MAX: usize = 256;

/// The longest value that is compared with those of [`ONLY`].
const ONLY_BYTES_MAX: usize = 256;

/// Stands for no maximum: what the model can give.
const NO_MAX: i64 = 9_007_199_254_740_991;

/// What is asked.
#[derive(Debug)]
pub(super) struct Asked {
    /// The model's name, which is a wish unless it is an alias.
    pub(super) model: String,
    /// In MCP's words.
    pub(super) params: proto::SamplingParams,
    /// As a stream.
    pub(super) stream: bool,
    /// With the usage as the stream's last word.
    pub(super) include_usage: bool,
    /// At most one tool call in the answer.
    pub(super) one_tool_call: bool,
    /// Where the parts of `params` come from.
    pub(super) places: Places,
}

/// Where the parts of the params stand in the body.
#[derive(Debug)]
pub(super) struct Places {
    max_tokens: &'static str,
    messages: Vec<usize>,
    tools: Vec<usize>,
}

/// Reads a body.
pub(super) fn body(bytes: &[u8]) -> Result<Asked, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|_| Problem::invalid("", "must be UTF-8"))?;
    check_bounds(text)?;
    let it = Node::document(text)?.object()?;
    only_known(&it)?;
    let model = it.string("model")?;
    if model.is_empty() || model.len() > MODEL_BYTES_MAX {
        return Err(Problem::invalid("model", "must be 1 to 256 bytes"));
    }
    let Conversation { system, messages, places } = messages::messages(&it.need("messages")?)?;
    let offer = tools::offer(&it)?;
    let (max_name, max_tokens) = max_tokens(&it)?;
    let hint = proto::ModelHint { name: model.clone() };
    let preferences = proto::ModelPreferences { hints: vec![hint], ..Default::default() };
    let (stream, include_usage) = stream(&it)?;
    Ok(Asked {
        model,
        params: proto::SamplingParams {
            messages,
            model_preferences: Some(preferences),
            system_prompt: system,
            temperature: number(&it, "temperature", (0.0, 2.0))?,
            max_tokens: Some(max_tokens),
            stop_sequences: stop(&it)?,
            metadata_json: passed_on(&it)?,
            tools: offer.tools,
            tool_choice: offer.choice,
            ..Default::default()
        },
        stream,
        include_usage,
        one_tool_call: !flag(&it, "parallel_tool_calls", true)?,
        places: Places { max_tokens: max_name, messages: places, tools: offer.places },
    })
}

fn only_known(it: &Object<'_>) -> Result<(), Problem> {
    for name in it.names() {
        let fixed = ONLY.iter().any(|(known, _)| *known == name);
        if !(fixed || READ.contains(&name) || IGNORED.contains(&name)) {
            return Err(Problem::unknown(name));
        }
    }
    for (name, allowed) in ONLY {
        let Some(value) = it.get(name) else { continue };
        let text = value.any_json();
        let bare: String = match text.len() {
            0..=ONLY_BYTES_MAX => text.chars().filter(|it| !it.is_whitespace()).collect(),
            _ => String::new(),
        };
        if !allowed.contains(&bare.as_str()) {
            let allowed = allowed.join(" or ");
            return Err(Problem::invalid(name, &format!("must be {allowed}, or left out")));
        }
    }
    Ok(())
}

/// The maximum of the answer, and which of its two names was used.
fn max_tokens(it: &Object<'_>) -> Result<(&'static str, i64), Problem> {
    let new = it.get("max_completion_tokens").map(|it| it.integer()).transpose()?;
    let old = it.get("max_tokens").map(|it| it.integer()).transpose()?;
    match (new, old) {
        (Some(new), Some(old)) if new != old => {
            let problem = "must be the same as max_completion_tokens, or left out";
            Err(Problem::invalid("max_tokens", problem))
        }
        (Some(it), _) => Ok(("max_completion_tokens", it)),
        (None, Some(it)) => Ok(("max_tokens", it)),
        (None, None) => Ok(("max_completion_tokens", NO_MAX)),
    }
}

fn stream(it: &Object<'_>) -> Result<(bool, bool), Problem> {
    let stream = flag(it, "stream", false)?;
    let Some(options) = it.get("stream_options") else { return Ok((stream, false)) };
    let options = options.object()?;
    if !stream {
        return Err(Problem::invalid("stream_options", "is allowed only with stream"));
    }
    // Padding against eavesdroppers is not needed where nothing hides the lengths anyway.
    flag(&options, "include_obfuscation", true)?;
    let known = ["include_usage", "include_obfuscation"];
    if let Some(name) = options.names().find(|it| !known.contains(it)) {
        return Err(Problem::unknown(&format!("stream_options.{name}")));
    }
    Ok((stream, flag(&options, "include_usage", false)?))
}

/// One text, or several.
fn stop(it: &Object<'_>) -> Result<Vec<String>, Problem> {
    let Some(stop) = it.get("stop") else { return Ok(Vec::new()) };
    if !stop.is_array() {
        return Ok(vec![stop.string()?]);
    }
    Ok(stop.array()?.iter().map(Node::string).collect::<Result<_, _>>()?)
}

/// What goes to the backend as it is, as a JSON object; empty: nothing.
fn passed_on(it: &Object<'_>) -> Result<String, Problem> {
    number(it, "top_p", (0.0, 1.0))?;
    number(it, "presence_penalty", (-2.0, 2.0))?;
    number(it, "frequency_penalty", (-2.0, 2.0))?;
    it.get("seed").map(|it| it.integer()).transpose()?;
    let mut fields = Vec::new();
    for name in ["seed", "top_p", "presence_penalty", "frequency_penalty"] {
        fields.extend(it.get(name).map(|it| format!("\"{name}\":{}", it.any_json())));
    }
    Ok(if fields.is_empty() { String::new() } else { format!("{{{}}}", fields.join(",")) })
}

fn number(
    it: &Object<'_>,
    name: &str,
    (least, most): (f64, f64),
) -> Result<Option<f64>, mcp_json::Problem> {
    let Some(node) = it.get(name) else { return Ok(None) };
    let value = node.number()?;
    if (least..=most).contains(&value) {
        return Ok(Some(value));
    }
    Err(node.problem(format!("must be a number from {least} to {most}")))
}

fn flag(it: &Object<'_>, name: &str, otherwise: bool) -> Result<bool, mcp_json::Problem> {
    it.get(name).map_or(Ok(otherwise), |it| it.boolean())
}

impl Places {
    /// A fault of the params, with the body's name for what is wrong.
    pub(super) fn problem(&self, fault: Fault) -> Problem {
        let Fault::Invalid { field, problem } = fault else { return fault.into() };
        let field = field.strip_prefix("params.").unwrap_or(&field);
        Problem::invalid(self.name(field), &problem)
    }

    fn name(&self, field: &str) -> String {
        let (first, rest) = field.split_once('.').unwrap_or((field, ""));
        let (name, index) = first.split_once('[').unwrap_or((first, ""));
        let index: Option<usize> = index.trim_end_matches(']').parse().ok();
        let of = |places: &[usize]| index.and_then(|it| places.get(it).copied());
        match name {
            "messages" => match of(&self.messages) {
                Some(at) => format!("messages[{at}]"),
                None => "messages".to_owned(),
            },
            "tools" => match of(&self.tools) {
                Some(at) => {
                    let part = if rest == "input_schema_json" { "parameters" } else { rest };
                    format!("tools[{at}].function.{part}").trim_end_matches('.').to_owned()
                }
                None => "tools".to_owned(),
            },
            "system_prompt" => "messages".to_owned(),
            "max_tokens" => self.max_tokens.to_owned(),
            "stop_sequences" => "stop".to_owned(),
            "model_preferences" => "model".to_owned(),
            "request_id" => "Idempotency-Key".to_owned(),
            "tool_choice" | "temperature" => name.to_owned(),
            _ => String::new(),
        }
    }
}
