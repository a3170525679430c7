//! From the request to what a backend gets: the request's own words and nothing else.

use crate::{
    backend::Prompt,
    domain::{model::Model, request::Params},
};

/// The prompt for `model`, with at most `max_tokens` of answer.
pub(super) fn prompt(params: &Params, model: &Model, max_tokens: u64) -> Prompt {
    Prompt {
        vendor_model: model.vendor_model.clone(),
        system: params.system.clone(),
        messages: params.messages.clone(),
        max_tokens,
        temperature: params.temperature,
        stop: params.stop.clone(),
        tools: params.tools.clone(),
        tool_choice: params.tool_choice.unwrap_or_default(),
        metadata: params.metadata.clone(),
    }
}
