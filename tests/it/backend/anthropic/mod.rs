//! Anthropic's Messages API.

mod dialects;
mod refusals;
mod requests;
mod usage;

use bursar::{backend::anthropic::Anthropic, domain::model::Profile};
use serde_json::{Value, json};

use super::{Seen, call, prompt};
use crate::support::vendor::{Answer, Vendor};

/// The backend at this vendor.
pub(crate) fn at(vendor: &Vendor) -> Anthropic {
    Anthropic::new(&vendor.base_url, None, Profile::default(), crate::support::http_client())
        .unwrap()
}

pub(crate) async fn hear(answer: Answer) -> Seen {
    let vendor = Vendor::answering(answer).await;
    call(&at(&vendor), prompt("Hello")).await.unwrap()
}

/// An event as the vendor writes it, with its name said twice.
pub(crate) fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

pub(crate) fn stream(events: &[Value]) -> Answer {
    let events: Vec<_> = events.iter().map(event).collect();
    Answer::sse(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

pub(crate) async fn hear_events(events: &[Value]) -> Seen {
    hear(stream(events)).await
}

pub(crate) fn start(usage: &Value) -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    }})
}

pub(crate) fn open(index: u32, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

pub(crate) fn delta(index: u32, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

pub(crate) fn shut(index: u32) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

/// A piece of text in the first block.
pub(crate) fn said(text: &str) -> Value {
    delta(0, &json!({"type": "text_delta", "text": text}))
}

pub(crate) fn end(reason: &str, usage: &Value) -> [Value; 2] {
    [
        json!({"type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

/// A whole answer of these pieces of text.
pub(crate) fn answer(texts: &[&str], reason: &str, usage: &Value) -> Vec<Value> {
    let mut events = vec![start(usage), open(0, &json!({"type": "text", "text": ""}))];
    events.extend(texts.iter().map(|it| said(it)));
    events.push(shut(0));
    events.extend(end(reason, usage));
    events
}
