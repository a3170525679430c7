//! The request as Anthropic writes it.

use serde::Serialize;
use serde_json::value::RawValue;

use super::messages::{self, Turn};
use crate::{
    backend::{
        Prompt, fields,
        prose::{Unsupported, raw},
    },
    domain::{
        message::{Tool, ToolChoice},
        model::Profile,
    },
};

/// The highest temperature; OpenAI's goes to 2.
const TEMPERATURE_MAX: f64 = 1.0;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata>,
    stream: bool,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Serialize)]
struct WireChoice {
    r#type: &'static str,
}

#[derive(Serialize)]
struct Metadata {
    user_id: String,
}

/// The body of a request.
pub(super) fn body(prompt: &Prompt, profile: &Profile) -> Result<Vec<u8>, Unsupported> {
    let body = Body {
        model: &prompt.vendor_model,
        max_tokens: prompt.max_tokens,
        system: prompt.system.as_deref().filter(|it| messages::says_something(it)),
        messages: messages::translate(&prompt.messages)?,
        temperature: prompt
            .temperature
            .filter(|_| !profile.no_temperature)
            .map(|it| it.min(TEMPERATURE_MAX)),
        stop_sequences: stops(prompt),
        tools: prompt.tools.iter().map(tool).collect::<Result<_, _>>()?,
        tool_choice: (!prompt.tools.is_empty()).then(|| choice(prompt.tool_choice)),
        metadata: metadata(prompt),
        stream: true,
    };
    serde_json::to_vec(&body).map_err(|_| Unsupported)
}

/// Those that are not space alone, which the vendor refuses.
fn stops(prompt: &Prompt) -> Vec<&str> {
    prompt.stop.iter().map(String::as_str).filter(|it| messages::says_something(it)).collect()
}

fn choice(choice: ToolChoice) -> WireChoice {
    WireChoice {
        r#type: match choice {
            ToolChoice::Auto => "auto",
            ToolChoice::Required => "any",
            ToolChoice::None => "none",
        },
    }
}

fn tool(tool: &Tool) -> Result<WireTool<'_>, Unsupported> {
    let Tool { name, description, input_schema } = tool;
    Ok(WireTool { name, description, input_schema: raw(input_schema)? })
}

/// The vendor refuses every other name and whatever is no text.
fn metadata(prompt: &Prompt) -> Option<Metadata> {
    let (_, json) = prompt.metadata.iter().rfind(|(name, _)| name == "user_id")?;
    fields::text(json.as_str()).map(|user_id| Metadata { user_id })
}
