//! A sampling request once it was read: well-formed, within limits, not yet allowed.

use super::{
    extension::Resume,
    ids::{EnvelopeId, TenantId},
    message::{Message, Tool, ToolChoice},
    preferences::Preferences,
};

/// What a host asks for in a server's name.
#[derive(Debug, Clone, PartialEq)]
pub struct SamplingRequest {
    /// The person, as the host knows them.
    pub user: String,
    /// The server, as the host knows it.
    pub server: String,
    /// Which allowance it counts against.
    pub envelope: EnvelopeChoice,
    /// Where it comes from.
    pub origin: Origin,
    /// What of the server led to it.
    pub originating: Option<OriginatingCall>,
    /// The project root in use, a `file://` URI that does not climb.
    pub root: Option<String>,
    /// Its key in a map of input requests.
    pub input_key: Option<String>,
    /// Makes a retry safe.
    pub request_id: Option<String>,
    /// Whether the host can put a question to its user.
    pub accepts_input_required: bool,
    /// The answer to a question that this same request was given; none: it is new.
    pub resume: Option<Box<Resume>>,
    /// The revision whose result is wanted.
    pub revision: Revision,
    /// The MCP params.
    pub params: Params,
    /// What was ignored or changed while reading, in words.
    pub warnings: Vec<String>,
}

/// The call that the host made of the server, each part as far as it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginatingCall {
    /// Repeats between conversations.
    pub id: Option<String>,
    /// Such as `tools/call`.
    pub method: Option<String>,
    /// The tool, prompt or resource.
    pub name: Option<String>,
}

/// Which envelope a call counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvelopeChoice {
    /// This one.
    Named {
        /// The tenant of a full name; another than the caller's own is to look missing.
        tenant: Option<TenantId>,
        /// Its id.
        id: EnvelopeId,
    },
    /// The one of a scope, got or created.
    Scoped(Scope),
}

/// What an unnamed envelope belongs to, within host, user and server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// One originating call; its id repeats between conversations.
    Call {
        /// The host's conversation, or empty.
        conversation: String,
        /// The originating call's id.
        call: String,
    },
    /// One conversation; ends after ten idle minutes.
    Conversation(String),
    /// Host, user and server alone; ends after ten idle minutes.
    Default,
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// The host does not say.
    #[default]
    Unknown,
    /// A tool of the server is running.
    ToolCall,
    /// An app of the server.
    App,
    /// Nobody is waiting.
    Background,
}

/// A revision of MCP, by its date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// 2024-11-05
    R20241105,
    /// 2025-03-26
    R20250326,
    /// 2025-06-18
    R20250618,
    /// 2025-11-25
    R20251125,
    /// 2026-07-28
    R20260728,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::R20241105, Self::R20250326, Self::R20250618, Self::R20251125, Self::R20260728];

    /// The date that names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::R20241105 => "2024-11-05",
            Self::R20250326 => "2025-03-26",
            Self::R20250618 => "2025-06-18",
            Self::R20251125 => "2025-11-25",
            Self::R20260728 => "2026-07-28",
        }
    }

    /// Whether messages and results may hold several blocks, and tools exist.
    pub fn has_tools(self) -> bool {
        self >= Self::R20251125
    }
}

/// The params of `sampling/createMessage`.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The conversation; at least one message.
    pub messages: Vec<Message>,
    /// Wishes about the model.
    pub preferences: Preferences,
    /// The system prompt.
    pub system: Option<String>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// At least 1. Never raised.
    pub max_tokens: u64,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// Allowed metadata alone: names and JSON values.
    pub metadata: Vec<(String, super::message::JsonText)>,
    /// Tools on offer.
    pub tools: Vec<Tool>,
    /// How free the model is to use them; none: the request did not say.
    pub tool_choice: Option<ToolChoice>,
}

impl Params {
    /// Whether MCP demands a result of exactly one block: neither tools nor a
    /// tool choice were sent.
    pub fn wants_single_block(&self) -> bool {
        self.tools.is_empty() && self.tool_choice.is_none()
    }
}
