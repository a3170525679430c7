//! Finish reasons as vendors write them.

use crate::domain::answer::Finish;

/// What a vendor's word for the end means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reason {
    /// Nothing yet.
    None,
    /// The model ended.
    Ended(Finish),
    /// The vendor failed and says so here.
    Failed,
}

/// Reads a finish reason, whatever its case. Vendors invent new ones for a normal
/// end more often than for anything else, so an unknown word is one.
pub(super) fn read(word: &str) -> Reason {
    let finish = match word.trim().to_ascii_lowercase().as_str() {
        "" | "null" => return Reason::None,
        "error" | "network_error" | "abort" | "cancelled" | "insufficient_system_resource" => {
            return Reason::Failed;
        }
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "model_length"
        | "model_context_window_exceeded" => Finish::MaxTokens,
        "tool_calls" | "tool_use" | "function_call" => Finish::ToolUse,
        "stop_sequence" => Finish::StopSequence,
        "content_filter" | "refusal" | "safety" | "recitation" | "prohibited_content"
        | "blocklist" | "spii" | "sensitive" => Finish::Refusal,
        _ => Finish::EndTurn,
    };
    Reason::Ended(finish)
}
