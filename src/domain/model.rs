//! Backends and the models they serve.

use std::time::Duration;

use super::{
    book::Key,
    ids::{BackendId, ModelId, PriceVersionId},
    price::Prices,
    vocabulary::{Published, Tokenizer, Vocabulary},
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
    /// The row of the price book that it is priced by; none: it has prices of its own.
    pub book: Option<Key>,
    /// How its prompts are bounded.
    pub bound: Bounding,
}

/// How prompts are bounded on a model, and how that went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounding {
    /// What the operator wants.
    pub tokenizer: Tokenizer,
    /// What is published of it.
    pub published: Published,
    /// How much of that is still relied on.
    pub trust: Trust,
    /// What was held for against what was counted.
    pub record: Record,
}

/// How much is relied on to bound a model's prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Trust {
    /// Its vocabulary and its maker's formulas.
    #[default]
    Fine,
    /// Bytes and declared maxima: a finer bound failed.
    Coarse,
    /// Nothing: that failed too. It is not used until an operator says so.
    Suspended,
}

/// Prompts that a backend counted, against what was held for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record {
    /// Calls with a count that can be.
    pub calls: u64,
    /// Prompt tokens held for them.
    pub held: u64,
    /// Prompt tokens counted.
    pub actual: u64,
    /// The most counted of a thousand held: more than a thousand is a failure.
    pub worst_permille: u64,
    /// Counts above the bound.
    pub failures: u64,
    /// When the last of them was.
    pub last_failure: Option<jiff::Timestamp>,
}

impl Record {
    /// Of one prompt, held for so many tokens, that counted so many.
    pub fn of(held: u64, actual: u64, now: jiff::Timestamp) -> Self {
        let failed = actual > held;
        Self {
            calls: 1,
            held,
            actual,
            worst_permille: actual.saturating_mul(1_000).div_ceil(held.max(1)),
            failures: failed.into(),
            last_failure: failed.then_some(now),
        }
    }

    /// Both together.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            held: self.held.saturating_add(other.held),
            actual: self.actual.saturating_add(other.actual),
            worst_permille: self.worst_permille.max(other.worst_permille),
            failures: self.failures.saturating_add(other.failures),
            last_failure: self.last_failure.max(other.last_failure),
        }
    }
}

impl Bounding {
    /// As an operator wants it, with nothing seen yet.
    pub fn new(tokenizer: Tokenizer, vendor_model: &str) -> Self {
        let published = Published::of(vendor_model);
        Self { tokenizer, published, trust: Trust::Fine, record: Record::default() }
    }

    /// The vocabulary to count in; none: bytes.
    pub const fn vocabulary(&self) -> Option<Vocabulary> {
        match self.tokenizer {
            Tokenizer::Auto => self.published.vocabulary,
            Tokenizer::Bytes => None,
            Tokenizer::Exact(it) => Some(it),
        }
    }
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
