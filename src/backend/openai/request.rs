//! The request as OpenAI writes it.

use async_openai::types::chat::{
    ChatCompletionStreamOptions, ChatCompletionToolChoiceOption, CreateChatCompletionRequest,
    StopConfiguration, ToolChoiceOptions,
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;

use super::messages;
use crate::{
    backend::{
        Prompt,
        prose::{Unsupported, raw},
    },
    domain::{
        message::{Tool, ToolChoice},
        model::Profile,
    },
};

/// The most stop texts that vendors take.
const STOPS_MAX: usize = 4;

/// The crate's request and what its types would spoil: schemas and metadata are
/// values there, which lose long numbers, and the temperature has half the digits.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    request: CreateChatCompletionRequest,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata<'a>,
    /// What of the metadata are parameters of this dialect.
    #[serde(flatten)]
    parameters: Metadata<'a>,
}

/// Metadata that OpenAI knows as parameters beside the others.
const PARAMETERS: [&str; 4] = ["seed", "top_p", "presence_penalty", "frequency_penalty"];

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: &'a RawValue,
}

struct Metadata<'a>(Vec<(&'a str, &'a RawValue)>);

/// The body of a request.
pub(super) fn body(prompt: &Prompt, profile: &Profile) -> Result<Vec<u8>, Unsupported> {
    let all = prompt.metadata.iter().map(|(name, json)| Ok((name.as_str(), raw(json)?)));
    let all: Vec<_> = all.collect::<Result<_, _>>()?;
    let (parameters, metadata) = all.into_iter().partition(|(it, _)| PARAMETERS.contains(it));
    let body = Body {
        request: request(prompt, profile)?,
        temperature: prompt.temperature.filter(|_| !profile.no_temperature),
        tools: prompt.tools.iter().map(tool).collect::<Result<_, _>>()?,
        metadata: Metadata(metadata),
        parameters: Metadata(parameters),
    };
    serde_json::to_vec(&body).map_err(|_| Unsupported)
}

#[expect(deprecated, reason = "older servers know max_tokens alone")]
fn request(prompt: &Prompt, profile: &Profile) -> Result<CreateChatCompletionRequest, Unsupported> {
    let max = Some(u32::try_from(prompt.max_tokens).unwrap_or(u32::MAX));
    let stop: Vec<String> =
        prompt.stop.iter().filter(|it| !it.is_empty()).take(STOPS_MAX).cloned().collect();
    Ok(CreateChatCompletionRequest {
        model: prompt.vendor_model.clone(),
        messages: messages::translate(prompt)?,
        max_tokens: max.filter(|_| !profile.max_completion_tokens),
        max_completion_tokens: max.filter(|_| profile.max_completion_tokens),
        stop: (!stop.is_empty()).then_some(StopConfiguration::StringArray(stop)),
        stream: Some(true),
        stream_options: (!profile.no_stream_options).then_some(ChatCompletionStreamOptions {
            include_usage: Some(true),
            include_obfuscation: None,
        }),
        tool_choice: (!prompt.tools.is_empty()).then(|| choice(prompt.tool_choice)),
        ..CreateChatCompletionRequest::default()
    })
}

fn choice(choice: ToolChoice) -> ChatCompletionToolChoiceOption {
    ChatCompletionToolChoiceOption::Mode(match choice {
        ToolChoice::Auto => ToolChoiceOptions::Auto,
        ToolChoice::Required => ToolChoiceOptions::Required,
        ToolChoice::None => ToolChoiceOptions::None,
    })
}

fn tool(tool: &Tool) -> Result<WireTool<'_>, Unsupported> {
    let Tool { name, description, input_schema } = tool;
    let function = Function { name, description, parameters: raw(input_schema)? };
    Ok(WireTool { r#type: "function", function })
}

// === impl Metadata ===

impl Metadata<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, json) in &self.0 {
            map.serialize_entry(name, json)?;
        }
        map.end()
    }
}
