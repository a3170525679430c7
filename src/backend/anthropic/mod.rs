//! Anthropic's Messages API, as Anthropic speaks it and as those do who offer it too.
//!
//! What it says otherwise than OpenAI: a maximum of tokens is required; the
//! temperature ends at 1, so a higher one is lowered to 1; there is no sound; a text
//! of spaces alone is refused, so it is left out; the results of tools come first in
//! the turn that follows their calls; and its count of prompt tokens leaves out the
//! cached ones. Of metadata it knows `user_id` alone.

mod answer;
mod messages;
mod request;
mod usage;

use std::sync::Arc;

use async_trait::async_trait;
use http::{HeaderName, HeaderValue};

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

/// The only version there is.
const VERSION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
const KEY: HeaderName = HeaderName::from_static("x-api-key");

/// How the vendor says what is behind an error. For an empty account and for its
/// filter it has only the code of any bad request, and a sentence of its own.
const TELLS: Tells = Tells {
    filter_codes: &[],
    quota_codes: &["billing_error"],
    filter_messages: &["Output blocked by content filtering policy"],
    quota_messages: &["Your credit balance is too low"],
};

/// A server that speaks Anthropic's Messages API.
pub struct Anthropic {
    endpoint: Endpoint,
    key: Option<Key>,
    profile: Profile,
}

// === impl Anthropic ===

impl Anthropic {
    /// A server at a base URL up to and including `/v1`; a query is kept. Without a
    /// key no `x-api-key` is sent.
    pub fn new(
        base_url: &str,
        key: Option<Key>,
        profile: Profile,
        client: Client,
    ) -> Result<Self, InvalidBaseUrl> {
        Ok(Self { endpoint: Endpoint::new(base_url, &["messages"], client)?, key, profile })
    }
}

impl std::fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Anthropic({:?})", self.endpoint.host())
    }
}

#[async_trait]
impl Backend for Anthropic {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn start(&self, prompt: Arc<Prompt>) -> Result<Events, Error> {
        let body = request::body(&prompt, &self.profile)?;
        let key = self.key.as_ref().map(|it| (KEY, it.bare()));
        let response = self.endpoint.post(body, [VERSION].into_iter().chain(key)).await?;
        if response.status().is_success() {
            let answer = Answer::new(prompt.tool_choice != ToolChoice::None);
            return Ok(reader::events(response, answer));
        }
        Err(failure::read(response, &TELLS).await)
    }
}
