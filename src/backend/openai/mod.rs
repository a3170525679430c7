//! OpenAI's chat completions, as OpenAI speaks them and as everyone else does.
//!
//! Requests are made of async-openai's types and sent by our own client: the
//! crate's own logs bodies, retries, and refuses half of what vendors answer.

mod answer;
mod messages;
mod request;
mod usage;

use std::sync::Arc;

use async_trait::async_trait;
use http::header;

use self::answer::Answer;
use super::{
    Backend, Error, Events, InvalidBaseUrl, Key, Prompt,
    endpoint::Endpoint,
    failure::{self, Tells},
    reader,
};
use crate::{
    domain::{message::ToolChoice, model::Profile},
    net::Client,
};

/// How this dialect's vendors say what is behind an error.
const TELLS: Tells = Tells {
    filter_codes: &[
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "data_inspection_failed",
    ],
    quota_codes: &[
        "insufficient_quota",
        "insufficient_balance",
        "insufficient_credits",
        "billing_hard_limit_reached",
        "billing_not_active",
    ],
    // Vendors are many: one's sentence may be another's echo of the prompt.
    filter_messages: &[],
    quota_messages: &[],
};

/// A server that speaks OpenAI's chat completions.
pub struct OpenAi {
    endpoint: Endpoint,
    key: Option<Key>,
    profile: Profile,
}

// === impl OpenAi ===

impl OpenAi {
    /// A server at a base URL up to and including `/v1`; a query is kept. Without a
    /// key no `authorization` is sent.
    pub fn new(
        base_url: &str,
        key: Option<Key>,
        profile: Profile,
        client: Client,
    ) -> Result<Self, InvalidBaseUrl> {
        let endpoint = Endpoint::new(base_url, &["chat", "completions"], client)?;
        Ok(Self { endpoint, key, profile })
    }
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpenAi({:?})", self.endpoint.host())
    }
}

#[async_trait]
impl Backend for OpenAi {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn start(&self, prompt: Arc<Prompt>) -> Result<Events, Error> {
        let body = request::body(&prompt, &self.profile)?;
        let key = self.key.as_ref().map(|it| (header::AUTHORIZATION, it.bearer()));
        let response = self.endpoint.post(body, key).await?;
        if response.status().is_success() {
            let answer = Answer::new(prompt.tool_choice != ToolChoice::None);
            return Ok(reader::events(response, answer));
        }
        Err(failure::read(response, &TELLS).await)
    }
}
