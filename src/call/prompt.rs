//! From the request to what a backend gets: the request's own words and nothing else,
//! but for the landing's note, which the result names.

use crate::{
    backend::Prompt,
    domain::{message::ToolChoice, model::Model, request::Params},
};

/// What the last call of an envelope is told besides.
const LANDING: &str = "This is the last answer that the budget allows. Do not start anything \
    new and call no tool. Conclude now: give the result as far as it has come.";

/// The most tokens that the landing's note adds to a prompt: its bytes, and a frame.
pub(super) fn landing_tokens_max() -> u64 {
    u64::try_from(LANDING.len()).unwrap_or(0).saturating_add(32)
}

/// The prompt for `model`, with at most `max_tokens` of answer.
pub(super) fn prompt(
    params: &Params,
    model: &Model,
    (max_tokens, is_landing): (u64, bool),
) -> Prompt {
    let own = params.system.clone();
    let choice = params.tool_choice.unwrap_or_default();
    let (system, tool_choice) = if is_landing {
        let system = own.map_or_else(|| LANDING.to_owned(), |it| format!("{it}\n\n{LANDING}"));
        (Some(system), ToolChoice::None)
    } else {
        (own, choice)
    };
    Prompt {
        vendor_model: model.vendor_model.clone(),
        system,
        messages: params.messages.clone(),
        max_tokens,
        temperature: params.temperature,
        stop: params.stop.clone(),
        tools: params.tools.clone(),
        tool_choice,
        metadata: params.metadata.clone(),
    }
}
