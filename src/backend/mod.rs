//! Backends: one trait, one adapter a dialect. An adapter translates; it neither
//! decides on budgets nor retries.

pub mod anthropic;
mod calls;
mod endpoint;
mod failure;
mod fields;
mod finish;
mod key;
pub mod openai;
mod prose;
mod reader;
pub mod scripted;
pub mod sse;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::stream::BoxStream;

pub use self::{
    endpoint::InvalidBaseUrl,
    key::{InvalidKey, Key},
};
use crate::domain::{
    answer::Finish,
    message::{JsonText, Message, Tool, ToolChoice, ToolUse},
    model::Profile,
    usage::ReportedUsage,
};

/// A request as a backend gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// What the backend calls the model.
    pub vendor_model: String,
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// What the hold affords, at most what was asked for.
    pub max_tokens: u64,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// All of the request's stop texts; the caller enforces them too, so an
    /// adapter may pass on fewer.
    pub stop: Vec<String>,
    /// Tools on offer.
    pub tools: Vec<Tool>,
    /// How free the model is to use them.
    pub tool_choice: ToolChoice,
    /// Allowed metadata.
    pub metadata: Vec<(String, JsonText)>,
}

/// What comes from a backend, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// More of the text; never empty, always whole characters.
    Text(String),
    /// So many bytes arrived that nobody sees: reasoning, or part of a tool call.
    Hidden(u64),
    /// A complete tool call. An incomplete one is never sent.
    ToolUse(ToolUse),
    /// What the backend has counted so far; the last one stands.
    Usage(ReportedUsage),
    /// How the model ended; always the last event.
    Finish(Finish),
}

/// The answer as it arrives. Dropping it closes the connection to the backend.
/// It ends after the backend's last word; an end without [`Event::Finish`] means
/// that the backend broke off. After an error nothing follows.
pub type Events = BoxStream<'static, Result<Event, Error>>;

/// A reachable endpoint that speaks some dialect.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Its ways.
    fn profile(&self) -> &Profile;

    /// Sends the request and returns when the backend's status is known.
    async fn start(&self, prompt: Arc<Prompt>) -> Result<Events, Error>;
}

/// What went wrong at a backend. Holds no body, no header and no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Error {
    /// What.
    pub cause: Cause,
    /// How long the backend asks to be left alone.
    pub retry_after: Option<Duration>,
}

/// The kinds of failure at a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// No connection was made: no byte was sent.
    #[error("the backend cannot be reached")]
    Unreachable,
    /// It answered with this status.
    #[error("the backend answered with status {0}")]
    Status(u16),
    /// The provider's account is empty; not the caller's fault.
    #[error("the backend's account has no quota left (status {0})")]
    Quota(u16),
    /// The provider's filter would not have the prompt, with this status.
    #[error("the provider's filter refused the prompt (status {0})")]
    Filtered(u16),
    /// The request holds what the backend's dialect cannot say; nothing was sent.
    #[error("the backend cannot take a part of this request")]
    Unsupported,
    /// The connection broke.
    #[error("the backend closed the connection")]
    Disconnected,
    /// It sent an error inside the stream.
    #[error("the backend reported an error while answering")]
    ErrorFrame,
    /// It sent what cannot be understood.
    #[error("the backend sent what is not an answer")]
    Malformed,
    /// It sent a line or a frame beyond every measure.
    #[error("the backend sent too much at once")]
    TooLarge,
    /// This process has no key for it.
    #[error("no key is configured for the backend")]
    NoKey,
}

// === impl Error ===

impl Error {
    /// Whether this certainly cost nothing, by the backend's profile.
    pub fn is_unbilled(&self, profile: &Profile) -> bool {
        match self.cause {
            Cause::Unreachable | Cause::NoKey | Cause::Unsupported => true,
            Cause::Status(it) | Cause::Quota(it) | Cause::Filtered(it) => {
                profile.unbilled_statuses.contains(&it)
            }
            Cause::Disconnected | Cause::ErrorFrame | Cause::Malformed | Cause::TooLarge => false,
        }
    }
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        Self { cause, retry_after: None }
    }
}
