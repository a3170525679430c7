//! Bounds of a prompt in tokens: never below the truth.

use super::{
    message::{Block, Message},
    model::Model,
    request::Params,
};

/// Tokens that a chat template may add around each message.
const FRAME_TOKENS: u64 = 16;

/// Tokens that a chat template may add once, such as a default system prompt.
const TEMPLATE_TOKENS: u64 = 64;

/// Tokens that a backend may add around each tool.
const TOOL_FRAME_TOKENS: u64 = 32;

/// Content whose tokens nobody can bound on this model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unbounded {
    /// The model takes no images.
    #[error("takes no images")]
    Image,
    /// The model takes no audio.
    #[error("takes no audio")]
    Audio,
}

/// The most tokens that the prompt of `params` counts on `model`: a token is at
/// least one byte of text, and media count the most that the provider publishes.
pub fn prompt_tokens_max(params: &Params, model: &Model) -> Result<u64, Unbounded> {
    let system = params.system.as_ref().map_or(0, |it| bytes(it) + FRAME_TOKENS);
    let tools = params.tools.iter().map(|it| {
        bytes(&it.name)
            + bytes(&it.description)
            + bytes(it.input_schema.as_str())
            + TOOL_FRAME_TOKENS
    });
    let fixed = TEMPLATE_TOKENS + system + tools.sum::<u64>();
    params.messages.iter().try_fold(fixed, |sum, it| Ok(sum + message_tokens(it, model)?))
}

fn message_tokens(message: &Message, model: &Model) -> Result<u64, Unbounded> {
    message.content.iter().try_fold(FRAME_TOKENS, |sum, it| Ok(sum + block_tokens(it, model)?))
}

fn block_tokens(block: &Block, model: &Model) -> Result<u64, Unbounded> {
    match block {
        Block::Text(text) => Ok(bytes(text) + 1),
        Block::Image(_) => bounded(model.image_tokens_max, Unbounded::Image),
        Block::Audio(_) => bounded(model.audio_tokens_max, Unbounded::Audio),
        Block::ToolUse(it) => {
            Ok(bytes(&it.id) + bytes(&it.name) + bytes(it.input.as_str()) + TOOL_FRAME_TOKENS)
        }
        Block::ToolResult(it) => {
            let structured = it.structured.as_ref().map_or(0, |json| bytes(json.as_str()));
            let fixed = bytes(&it.tool_use_id) + structured + TOOL_FRAME_TOKENS;
            it.content.iter().try_fold(fixed, |sum, it| Ok(sum + block_tokens(it, model)?))
        }
        Block::ResourceLink(it) => {
            Ok(bytes(&it.uri) + bytes(&it.name) + bytes(&it.description) + FRAME_TOKENS)
        }
        Block::Resource(it) => {
            let text = it.text.as_deref().map_or(0, bytes);
            Ok(bytes(&it.uri) + bytes(&it.mime_type) + text + FRAME_TOKENS)
        }
    }
}

fn bounded(most: u64, otherwise: Unbounded) -> Result<u64, Unbounded> {
    if most == 0 { Err(otherwise) } else { Ok(most) }
}

/// A length, which fits.
fn bytes(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX / 4)
}
