//! Backends and the models they serve.

use std::time::Duration;

use super::{
    ids::{BackendId, ModelId, PriceVersionId},
    price::Prices,
};

/// A priced thing that a backend serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its id.
    pub id: ModelId,
    /// What servers and hints call it.
    pub alias: String,
    /// Who serves it.
    pub backend: BackendId,
    /// What the backend calls it.
    pub vendor_model: String,
    /// Tokens of prompt and answer together.
    pub context_tokens: u64,
    /// Tokens of an answer.
    pub max_output_tokens: u64,
    /// Whether it can call tools.
    pub tools: bool,
    /// The most tokens that one image counts; 0: it takes none.
    pub image_tokens_max: u64,
    /// The most tokens that one audio clip counts; 0: it takes none.
    pub audio_tokens_max: u64,
    /// 0 to 100.
    pub intelligence: u8,
    /// 0 to 100.
    pub speed: u8,
    /// What it costs now; none: unknown, so never used.
    pub price: Option<(PriceVersionId, Prices)>,
}

/// What kind of endpoint a backend is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// Plays what the request scripts; for demonstration and tests.
    Scripted,
    /// Speaks OpenAI's chat completions.
    OpenAi,
    /// Speaks Anthropic's Messages API.
    Anthropic,
}

/// A reachable endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// Its id.
    pub id: BackendId,
    /// The operator's name for it.
    pub name: String,
    /// What it speaks.
    pub kind: BackendKind,
    /// Up to and including `/v1`; empty for the scripted one.
    pub base_url: String,
    /// The environment variable that holds its key; empty: no key is sent.
    pub key_env: String,
    /// Its ways.
    pub profile: Profile,
}

/// What is known of a backend's ways.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each switch is a fact of its own")]
pub struct Profile {
    /// Statuses that certainly cost nothing.
    pub unbilled_statuses: Vec<u16>,
    /// Whether it stops billing when the connection closes.
    pub stops_on_disconnect: bool,
    /// It wants `max_completion_tokens` in place of `max_tokens`.
    pub max_completion_tokens: bool,
    /// It refuses `stream_options`.
    pub no_stream_options: bool,
    /// It refuses `temperature`.
    pub no_temperature: bool,
    /// The longest silence between two chunks.
    pub idle: Duration,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            unbilled_statuses: vec![400, 401, 402, 403, 404, 429],
            stops_on_disconnect: false,
            max_completion_tokens: false,
            no_stream_options: false,
            no_temperature: false,
            idle: Duration::from_secs(30),
        }
    }
}
