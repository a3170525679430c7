//! A backend that answers at once: an OpenAI-compatible server on loopback that sends as
//! many deltas as the request's last words ask for.

use axum::{
    Router,
    body::{Body, Bytes},
    response::Response,
    routing::post,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What it calls its model.
pub(crate) const MODEL: &str = "stand-in";

/// A delta is a token of five bytes.
const DELTA: &str = "word ";

/// It lives as long as the process.
pub(crate) struct StandIn {
    pub(crate) base_url: String,
}

impl StandIn {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let app = Router::new().route("/v1/chat/completions", post(answer));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { base_url }
    }
}

async fn answer(body: Bytes) -> Response {
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let last = &asked["messages"].as_array().unwrap().last().unwrap()["content"];
    let last = last.as_str().or_else(|| last[0]["text"].as_str()).unwrap();
    let deltas: usize = last.rsplit(' ').next().unwrap().parse().unwrap();
    let response = Response::builder().header("content-type", "text/event-stream");
    response.body(Body::from(events(deltas))).unwrap()
}

fn events(deltas: usize) -> String {
    let frame = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000,
            "model": MODEL, "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    let mut events = frame(json!({ "role": "assistant", "content": "" }), Value::Null);
    events.push_str(&frame(json!({ "content": DELTA }), Value::Null).repeat(deltas));
    events.push_str(&frame(json!({}), json!("stop")));
    let usage = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000,
        "model": MODEL, "choices": [],
        "usage": { "prompt_tokens": 200, "completion_tokens": deltas, "total_tokens": 200 + deltas },
    });
    events + &format!("data: {usage}\n\ndata: [DONE]\n\n")
}
