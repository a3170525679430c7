//! The params of `sampling/createMessage`, of every revision.

use super::{
    content,
    field::{At, at_most, optional, within, wrong},
    json::{Shape, optional_json},
    metadata, tools,
};
use crate::{
    domain::{
        balance,
        fault::Fault,
        preferences::{Preferences, Priority},
        request::{Params, Revision},
    },
    proto,
};

/// Texts, media and JSON of one request together.
const CONTENT_BYTES_MAX: usize = 48 * 1024 * 1024;

/// 2^53 - 1: the largest whole number that every JSON reader keeps.
const MAX_TOKENS_MAX: i64 = 9_007_199_254_740_991;

const HINTS_MAX: usize = 32;
const HINT_BYTES_MAX: usize = 256;
const STOPS_MAX: usize = 64;
const STOP_BYTES_MAX: usize = 1_024;

const CONTEXT_WARNING: &str =
    "includeContext is treated as none: Bursar adds nothing that the server did not send";

/// What reading depends on besides the params.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    /// The revision in use.
    pub(super) revision: Revision,
    /// False only where the host says that it did not declare `sampling.tools`.
    pub(super) tools_declared: bool,
}

/// What a reading gathers as it goes along.
#[derive(Debug)]
pub(super) struct Reading {
    bytes_left: usize,
    warnings: Vec<String>,
}

impl Reading {
    /// Counts a text or a medium against the request's size.
    pub(super) fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left
            .ok_or_else(|| wrong("texts and media of a request must be at most 48 MiB together"))?;
        Ok(())
    }

    /// Notes what was ignored or changed.
    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }
}

/// Reads params; the warnings say what was ignored.
pub(super) fn params(
    it: proto::SamplingParams,
    host: Host,
) -> Result<(Params, Vec<String>), Fault> {
    let mut reading = Reading { bytes_left: CONTENT_BYTES_MAX, warnings: Vec::new() };
    let messages = content::messages(it.messages, &mut reading)?;
    balance::check(&messages).map_err(|unbalanced| {
        Fault::invalid(format!("messages[{}]", unbalanced.message), unbalanced.to_string())
    })?;
    let preferences = preferences(&it.model_preferences.unwrap_or_default(), &mut reading)
        .at("model_preferences")?;
    reading.count(it.system_prompt.len()).at("system_prompt")?;
    let system = Some(it.system_prompt).filter(|it| !it.is_empty());
    warn_of_context(it.include_context, &mut reading);
    let temperature = it.temperature.map(temperature).transpose()?;
    let max_tokens = max_tokens(it.max_tokens)?;
    let stop = stop_sequences(it.stop_sequences, &mut reading)?;
    let metadata = metadata::metadata(&it.metadata_json, &mut reading).at("metadata_json")?;
    let offer = tools::Offer { tools: it.tools, choice: it.tool_choice };
    let (tools, tool_choice) = tools::tools(offer, host, &mut reading)?;
    optional_json(&it.meta_json, Shape::Object).at("meta_json")?;
    let params = Params {
        messages,
        preferences,
        system,
        temperature,
        max_tokens,
        stop,
        metadata,
        tools,
        tool_choice,
    };
    Ok((params, reading.warnings))
}

fn preferences(it: &proto::ModelPreferences, reading: &mut Reading) -> Result<Preferences, Fault> {
    at_most("hints", &it.hints, HINTS_MAX)?;
    let mut hints = Vec::with_capacity(it.hints.len());
    for (index, hint) in it.hints.iter().enumerate() {
        let name = optional("name", &hint.name, HINT_BYTES_MAX);
        hints.extend(name.at(format_args!("hints[{index}]"))?);
    }
    if hints.len() < it.hints.len() {
        reading.warn("model hints without a name are ignored");
    }
    Ok(Preferences {
        hints,
        cost: priority("cost_priority", it.cost_priority)?,
        speed: priority("speed_priority", it.speed_priority)?,
        intelligence: priority("intelligence_priority", it.intelligence_priority)?,
    })
}

fn priority(field: &'static str, value: Option<f64>) -> Result<Option<Priority>, Fault> {
    let read = |it| Priority::parse(unsigned_zero(it));
    value.map(read).transpose().map_err(|it| Fault::invalid(field, it.to_string()))
}

/// Negative zero is zero.
fn unsigned_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

fn warn_of_context(number: i32, reading: &mut Reading) {
    match proto::IncludeContext::try_from(number).unwrap_or_default() {
        proto::IncludeContext::Unspecified | proto::IncludeContext::None => {}
        proto::IncludeContext::ThisServer | proto::IncludeContext::AllServers => {
            reading.warn(CONTEXT_WARNING);
        }
    }
}

fn temperature(value: f64) -> Result<f64, Fault> {
    // NaN and the infinities are in no range.
    if !(0.0..=2.0).contains(&value) {
        return Err(Fault::invalid("temperature", "must be a number from 0 to 2"));
    }
    Ok(unsigned_zero(value))
}

fn max_tokens(value: Option<i64>) -> Result<u64, Fault> {
    let value = value.ok_or_else(|| Fault::invalid("max_tokens", "is required"))?;
    let value = within("max_tokens", value, 1..=MAX_TOKENS_MAX)?;
    Ok(value.unsigned_abs())
}

fn stop_sequences(texts: Vec<String>, reading: &mut Reading) -> Result<Vec<String>, Fault> {
    at_most("stop_sequences", &texts, STOPS_MAX)?;
    if let Some(index) = texts.iter().position(|it| it.len() > STOP_BYTES_MAX) {
        let problem = format!("must be at most {STOP_BYTES_MAX} bytes");
        return Err(Fault::invalid(format!("stop_sequences[{index}]"), problem));
    }
    let given = texts.len();
    let texts: Vec<String> = texts.into_iter().filter(|it| !it.is_empty()).collect();
    if texts.len() < given {
        reading.warn("empty stop sequences are ignored");
    }
    Ok(texts)
}
