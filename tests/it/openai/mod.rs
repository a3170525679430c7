//! The OpenAI-compatible door, as a server sees it that bears an envelope token.

mod answers;
mod edges;
mod guards;
mod parameters;
mod streams;
mod tokens;

use bursar::proto::{self, EnvelopeLimits, MintTokenRequest, Token};
use serde_json::{Value, json};
use tonic::Status;

use crate::call::world::World;

/// A server that has been given a key.
pub(crate) struct Server {
    at: String,
    key: String,
    client: reqwest::Client,
}

/// What it got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Got {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// The body of an error of this status.
    #[track_caller]
    pub(crate) fn error(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()["error"].clone()
    }

    /// An answer that was given.
    #[track_caller]
    pub(crate) fn answer(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()
    }

    /// The events of a stream, without the one that ends it.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.text);
        assert_eq!(self.header("content-type"), "text/event-stream; charset=utf-8");
        let mut events: Vec<&str> = self.text.split_terminator("\n\n").collect();
        assert_eq!(events.pop(), Some("data: [DONE]"), "{}", self.text);
        let read = |it: &&str| serde_json::from_str(it.strip_prefix("data: ").unwrap()).unwrap();
        events.iter().map(read).collect()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }
}

impl Server {
    pub(crate) fn new(world: &World, key: &str) -> Self {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { at: world.http(), key: key.to_owned(), client }
    }

    pub(crate) fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.at));
        request.header("authorization", format!("Bearer {}", self.key))
    }

    pub(crate) fn post(&self, body: &Value) -> reqwest::RequestBuilder {
        let request = self.request(reqwest::Method::POST, "/v1/chat/completions");
        request.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) async fn ask(&self, body: &Value) -> Got {
        got(self.post(body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        got(self.request(reqwest::Method::GET, path)).await
    }
}

pub(crate) async fn got(request: reqwest::RequestBuilder) -> Got {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Got { status, headers, text: response.text().await.unwrap() }
}

impl World {
    pub(crate) async fn try_mint(&self, request: MintTokenRequest) -> Result<Token, Status> {
        Ok(self.envelopes().mint_token(self.host(request)).await?.into_inner())
    }

    pub(crate) async fn mint(&self, envelope: &str) -> Token {
        let envelope = envelope.to_owned();
        self.try_mint(MintTokenRequest { envelope, ..Default::default() }).await.unwrap()
    }

    /// A server with the key of a fresh envelope.
    pub(crate) async fn served(&self, limits: EnvelopeLimits) -> Server {
        let envelope = self.open(limits).await;
        Server::new(self, &self.mint(&envelope).await.key)
    }

    pub(crate) async fn revoke_token(&self, name: &str) -> Token {
        let request = proto::RevokeTokenRequest { name: name.to_owned() };
        self.envelopes().revoke_token(self.host(request)).await.unwrap().into_inner()
    }
}

/// A body whose only message scripts the answer.
pub(crate) fn scripted(script: &Value) -> Value {
    chat(&format!("@script {script}"))
}

pub(crate) fn chat(text: &str) -> Value {
    json!({
        "model": "scripted-small",
        "messages": [{ "role": "user", "content": text }],
        "max_tokens": 100,
    })
}

/// The same with more or other fields.
pub(crate) fn with(mut body: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// The words that a stream showed.
pub(crate) fn said(events: &[Value]) -> String {
    let text = |it: &Value| it["choices"][0]["delta"]["content"].as_str().unwrap_or("").to_owned();
    events.iter().map(text).collect()
}

pub(crate) fn weather() -> Value {
    json!([{
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a place",
            "parameters": { "type": "object", "properties": { "place": { "type": "string" } } },
        },
    }])
}
