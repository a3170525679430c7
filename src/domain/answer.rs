//! What a backend gave, as far as it came.

use super::{message::ToolUse, outcome::Cut, usage::ReportedUsage};

/// How a model says it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// By itself.
    EndTurn,
    /// At one of the request's stop texts.
    StopSequence,
    /// At the maximum of tokens.
    MaxTokens,
    /// To have tools run.
    ToolUse,
    /// The provider would not answer.
    Refusal,
}

/// An answer, whole or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The delivered text.
    pub text: String,
    /// Complete tool calls alone.
    pub tool_uses: Vec<ToolUse>,
    /// How the model ended; none when a cut ended it.
    pub finish: Option<Finish>,
    /// Why it ended early.
    pub cut: Option<Cut>,
    /// What the backend counted.
    pub usage: ReportedUsage,
    /// Whether that count is its last word: the stream came to its end.
    pub is_final: bool,
    /// Bytes of the answer as they came from the backend, hidden reasoning and
    /// dropped tool calls included.
    pub received_bytes: u64,
    /// Bytes of the visible part of those.
    pub visible_bytes: u64,
}

impl Answer {
    /// Whether anything can be handed on.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.tool_uses.is_empty()
    }
}
