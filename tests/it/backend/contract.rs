//! What every backend promises.

use std::{sync::Arc, time::Duration};

use bursar::{
    backend::{Backend, Event, Prompt, scripted::Scripted},
    domain::{answer::Finish, usage::ReportedUsage},
};
use futures_util::StreamExt;

use super::{call, dialects::at, prompt};
use crate::support::vendor::{After, Answer, Vendor};

fn frames(data: &[&str]) -> Vec<String> {
    data.iter().map(|it| format!("data: {it}\n\n")).collect()
}

const ONE: &str = r#"{"choices":[{"delta":{"content":"one "}}]}"#;
const TWO: &str = r#"{"choices":[{"delta":{"content":"two"}}]}"#;

/// The text arrives whole, the usage arrives, the model's end comes last.
async fn answers(backend: &dyn Backend, prompt: Prompt, finish: Finish) {
    let seen = call(backend, prompt.clone()).await.unwrap();
    assert_eq!((&*seen.text(), seen.finish, seen.fault), ("one two", Some(finish), None));
    let usage = ReportedUsage { input: Some(9), output: Some(2), ..ReportedUsage::UNKNOWN };
    assert_eq!(seen.usage, Some(usage));
    let events: Vec<_> = backend.start(Arc::new(prompt)).await.unwrap().collect().await;
    assert!(matches!(events.last(), Some(Ok(Event::Finish(_)))), "{events:?}");
}

#[tokio::test]
async fn an_answer_arrives_whole() {
    let scripted = prompt(r#"@script {"text": "one two", "usage": {"input": 9, "output": 2}}"#);
    answers(&Scripted::new(), scripted, Finish::EndTurn).await;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let vendor = Vendor::answering(Answer::events(&[ONE, TWO, stop, usage])).await;
    answers(&at(&vendor), prompt("Hello"), Finish::EndTurn).await;
}

#[tokio::test]
async fn a_reached_maximum_is_named() {
    let script = r#"@script {"text": "one two three", "usage": {"input": 9, "output": 2}}"#;
    let mut scripted = prompt(script);
    scripted.max_tokens = 2;
    answers(&Scripted::new(), scripted, Finish::MaxTokens).await;
    let last = r#"{"choices":[{"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
    let vendor = Vendor::answering(Answer::events(&[ONE, TWO, last])).await;
    answers(&at(&vendor), prompt("Hello"), Finish::MaxTokens).await;
}

/// Text comes while the model still talks; then nothing, not even an event for what
/// keeps the connection alive.
async fn falls_silent(backend: &dyn Backend, prompt: Prompt) {
    let mut events = backend.start(Arc::new(prompt)).await.unwrap();
    let first = tokio::time::timeout(Duration::from_secs(5), events.next()).await.unwrap();
    assert_eq!(first, Some(Ok(Event::Text("one ".into()))));
    let silence = tokio::time::timeout(Duration::from_millis(200), events.next()).await;
    assert!(silence.is_err(), "{silence:?}");
}

#[tokio::test]
async fn silence_makes_no_event_and_a_drop_closes_the_connection() {
    falls_silent(&Scripted::new(), prompt(r#"@script {"text": "one two", "stall_after": 1}"#))
        .await;
    for (after, keep_alive) in [(After::Stall, ""), (After::Repeat, ": keep-alive\n\n")] {
        let one = frames(&[ONE]);
        let vendor = Vendor::answering(Answer::sse(&[&one[0], keep_alive]).then(after)).await;
        falls_silent(&at(&vendor), prompt("Hello")).await;
        assert!(vendor.is_left_alone().await, "the connection closes within a second");
    }
}

#[tokio::test]
async fn a_call_given_up_before_its_status_closes_the_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let closed = tokio::spawn(async move {
        use tokio::io::AsyncReadExt;
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        // Reads to the end: the other side closes.
        let _ = socket.read_to_end(&mut asked).await;
    });
    let profile = bursar::domain::model::Profile::default();
    let client = bursar::net::client().unwrap();
    let backend = bursar::backend::openai::OpenAi::new(&url, None, profile, client).unwrap();
    let waited = backend.start(Arc::new(prompt("Hello")));
    assert!(tokio::time::timeout(Duration::from_millis(200), waited).await.is_err());
    tokio::time::timeout(Duration::from_secs(1), closed).await.unwrap().unwrap();
}
