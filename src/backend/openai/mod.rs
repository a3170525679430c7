//! OpenAI's chat completions, as OpenAI speaks them and as everyone else does.
//!
//! Requests are made of async-openai's types and sent by our own client: the
//! crate's own logs bodies, retries, and refuses half of what vendors answer.

mod answer;
mod failure;
mod fields;
mod key;
mod messages;
mod reader;
mod request;
pub mod sse;
mod tools;
mod usage;

use std::sync::Arc;

use async_trait::async_trait;
use http::header;
use reqwest::{Client, Url};

pub use self::key::{InvalidKey, Key};
use super::{Backend, Cause, Error, Events, Prompt};
use crate::domain::{message::ToolChoice, model::Profile};

/// A server that speaks OpenAI's chat completions.
pub struct OpenAi {
    url: Url,
    key: Option<Key>,
    profile: Profile,
    client: Client,
}

/// The text is no address of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the base URL must be http or https, with a host and without a user or password")]
pub struct InvalidBaseUrl;

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
        let mut url = Url::parse(base_url.trim()).map_err(|_| InvalidBaseUrl)?;
        let bare = url.username().is_empty() && url.password().is_none();
        if !bare || !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidBaseUrl);
        }
        url.path_segments_mut()
            .map_err(|()| InvalidBaseUrl)?
            .pop_if_empty()
            .extend(["chat", "completions"]);
        Ok(Self { url, key, profile, client })
    }
}

impl std::fmt::Debug for OpenAi {
    /// Without the query, which may hold a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpenAi({:?})", self.url.host_str().unwrap_or(""))
    }
}

#[async_trait]
impl Backend for OpenAi {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn start(&self, prompt: Arc<Prompt>) -> Result<Events, Error> {
        let body = request::body(&prompt, &self.profile)
            .map_err(|messages::Unsupported| Cause::Unsupported)?;
        let mut request = self
            .client
            .post(self.url.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream, application/json")
            .body(body);
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, key.header());
        }
        let response = request.send().await.map_err(|it| send_fault(&it))?;
        if response.status().is_success() {
            return Ok(reader::events(response, prompt.tool_choice != ToolChoice::None));
        }
        Err(failure::read(response).await)
    }
}

/// Without a connection nothing was sent; with one, who knows. The error itself
/// names the URL and is dropped.
fn send_fault(error: &reqwest::Error) -> Cause {
    if error.is_connect() { Cause::Unreachable } else { Cause::Disconnected }
}
