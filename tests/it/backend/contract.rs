//! What every backend promises, one table of behaviours for all of them.
//!
//! `vendors` says how each dialect puts the same thing on the wire; the tests never
//! ask which one they drive.

use std::{sync::Arc, time::Duration};

use bursar::{
    backend::{Backend, Cause, Event, Prompt, scripted::Scripted},
    domain::{answer::Finish, message::Tool, model::Profile, usage::ReportedUsage},
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::{Seen, anthropic, call, dialects, prompt};
use crate::support::vendor::{After, Answer, Vendor};

/// How a dialect writes things. Text of a whole answer is "one " and "two".
struct Dialect {
    name: &'static str,
    at: fn(&str) -> Box<dyn Backend>,
    /// A piece of text, as bytes of the stream.
    piece: fn(&str) -> String,
    /// Whole answers that end for this reason, with or without a count of 9 and 2.
    answer: fn(&str, bool) -> Answer,
    /// The words for: end, maximum, stop text, refusal.
    words: [&'static str; 4],
    /// An answer that calls `f` with `{"x":1}`.
    calls: fn() -> Answer,
    /// An error inside the stream.
    error: &'static str,
    /// A sign of life.
    alive: &'static str,
    /// An empty account.
    no_quota: (u16, &'static str),
}

fn open_ai(url: &str) -> Box<dyn Backend> {
    let client = crate::support::http_client();
    let made = bursar::backend::openai::OpenAi::new(url, None, Profile::default(), client);
    Box::new(made.unwrap())
}

fn open_ai_answer(word: &str, counted: bool) -> Answer {
    let piece = |it: &str| json!({"choices": [{"delta": {"content": it}}]}).to_string();
    let last = json!({"choices": [{"delta": {}, "finish_reason": word}]}).to_string();
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}});
    let usage = usage.to_string();
    let (one, two) = (piece("one "), piece("two"));
    let mut data = vec![one.as_str(), &two, &last];
    data.extend(counted.then_some(usage.as_str()));
    Answer::events(&data)
}

fn open_ai_calls() -> Answer {
    Answer::events(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}"#,
    ])
}

fn anthropic(url: &str) -> Box<dyn Backend> {
    let client = crate::support::http_client();
    let made = bursar::backend::anthropic::Anthropic::new(url, None, Profile::default(), client);
    Box::new(made.unwrap())
}

fn anthropic_answer(word: &str, counted: bool) -> Answer {
    let usage = json!({"input_tokens": 9, "output_tokens": 2});
    let usage = if counted { usage } else { Value::Null };
    anthropic::stream(&anthropic::answer(&["one ", "two"], word, &usage))
}

fn anthropic_calls() -> Answer {
    let part = |it| anthropic::delta(0, &json!({"type": "input_json_delta", "partial_json": it}));
    let tool = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let mut events = vec![anthropic::open(0, &tool), part("{\"x\""), part(":1}")];
    events.extend(anthropic::end("tool_use", &Value::Null));
    anthropic::stream(&events)
}

fn vendors() -> [Dialect; 2] {
    [
        Dialect {
            name: "OpenAI",
            at: open_ai,
            piece: |it| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": it}}]})),
            answer: open_ai_answer,
            words: ["stop", "length", "stop", "content_filter"],
            calls: open_ai_calls,
            error: "data: {\"error\": {\"message\": \"secret-canary\"}}\n\n",
            alive: ": keep-alive\n\n",
            no_quota: (429, r#"{"error":{"code":"insufficient_quota"}}"#),
        },
        Dialect {
            name: "Anthropic",
            at: anthropic,
            piece: |it| anthropic::event(&anthropic::said(it)),
            answer: anthropic_answer,
            words: ["end_turn", "max_tokens", "stop_sequence", "refusal"],
            calls: anthropic_calls,
            error: "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\"}}\n\n",
            alive: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
            no_quota: (
                400,
                r#"{"type":"error","error":{"message":"Your credit balance is too low."}}"#,
            ),
        },
    ]
}

impl Dialect {
    async fn hear(&self, answer: Answer) -> Seen {
        let vendor = Vendor::answering(answer).await;
        call(&*(self.at)(&vendor.base_url), prompt("Hello")).await.unwrap()
    }

    async fn refused(&self, answer: Answer) -> bursar::backend::Error {
        let vendor = Vendor::answering(answer).await;
        call(&*(self.at)(&vendor.base_url), prompt("Hello")).await.unwrap_err()
    }

    fn piece(&self, text: &str) -> String {
        (self.piece)(text)
    }
}

/// The text arrives whole, the usage arrives, the model's end comes last.
async fn answers(backend: &dyn Backend, prompt: Prompt, finish: Finish, usage: bool) {
    let seen = call(backend, prompt.clone()).await.unwrap();
    assert_eq!((&*seen.text(), seen.finish, seen.fault), ("one two", Some(finish), None));
    let counted = ReportedUsage { input: Some(9), output: Some(2), ..ReportedUsage::UNKNOWN };
    assert_eq!(seen.usage, usage.then_some(counted));
    let events: Vec<_> = backend.start(Arc::new(prompt)).await.unwrap().collect().await;
    assert!(matches!(events.last(), Some(Ok(Event::Finish(_)))), "{events:?}");
}

#[tokio::test]
async fn an_answer_arrives_whole_counted_or_not_and_says_how_it_ended() {
    let script = |finish: &str, usage: &str| {
        prompt(&format!(r#"@script {{"text": "one two", "finish": "{finish}", "usage": {usage}}}"#))
    };
    let counted = r#"{"input": 9, "output": 2}"#;
    let finishes = [Finish::EndTurn, Finish::MaxTokens, Finish::StopSequence, Finish::Refusal];
    for (word, finish) in ["stop", "length", "stop_sequence", "refusal"].iter().zip(&finishes) {
        answers(&Scripted::new(), script(word, counted), finish.clone(), true).await;
        answers(&Scripted::new(), script(word, "null"), finish.clone(), false).await;
    }
    for dialect in vendors() {
        for (word, finish) in dialect.words.iter().zip(&finishes) {
            // OpenAI's word for an end at a stop text is that of any end.
            let finish = if *word == "stop" { Finish::EndTurn } else { finish.clone() };
            for counted in [true, false] {
                let vendor = Vendor::answering((dialect.answer)(word, counted)).await;
                let backend = (dialect.at)(&vendor.base_url);
                answers(&*backend, prompt("Hello"), finish.clone(), counted).await;
            }
        }
    }
}

#[tokio::test]
async fn a_tool_call_arrives_whole() {
    let check = |seen: &Seen, name: &str| {
        let calls: Vec<_> = dialects::tools(seen).iter().map(|it| (it.1, it.2)).collect();
        assert_eq!(calls, [("f", r#"{"x":1}"#)], "{name}");
        assert_eq!((seen.finish.clone(), seen.fault), (Some(Finish::ToolUse), None), "{name}");
    };
    let mut scripted = prompt(r#"@script {"tool_calls": [{"name": "f", "input": {"x":1}}]}"#);
    let input_schema = bursar::domain::message::JsonText::checked("{}");
    scripted.tools = vec![Tool { name: "f".into(), description: String::new(), input_schema }];
    check(&call(&Scripted::new(), scripted).await.unwrap(), "scripted");
    for dialect in vendors() {
        check(&dialect.hear((dialect.calls)()).await, dialect.name);
    }
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
    for dialect in vendors() {
        for (after, alive) in [(After::Stall, ""), (After::Repeat, dialect.alive)] {
            let answer = Answer::sse(&[&dialect.piece("one "), alive]).then(after);
            let vendor = Vendor::answering(answer).await;
            falls_silent(&*(dialect.at)(&vendor.base_url), prompt("Hello")).await;
            assert!(vendor.is_left_alone().await, "the connection closes within a second");
        }
    }
}

#[tokio::test]
async fn a_call_given_up_before_its_status_closes_the_connection() {
    for dialect in vendors() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let closed = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            // Reads to the end: the other side closes.
            let _ = socket.read_to_end(&mut Vec::new()).await;
        });
        let backend = (dialect.at)(&url);
        let waited = backend.start(Arc::new(prompt("Hello")));
        assert!(tokio::time::timeout(Duration::from_millis(200), waited).await.is_err());
        tokio::time::timeout(Duration::from_secs(1), closed).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn characters_survive_a_cut_at_every_byte() {
    for dialect in vendors() {
        let last = (dialect.answer)(dialect.words[0], true).chunks.concat();
        let stream = [dialect.piece("Grüße 🦀 你好 ").as_bytes(), &last].concat();
        let mut bytewise = Answer::sse(&[]);
        bytewise.chunks = stream.iter().map(|it| vec![*it].into()).collect();
        let seen = dialect.hear(bytewise).await;
        assert_eq!(seen.text(), "Grüße 🦀 你好 one two", "{}", dialect.name);
        assert_eq!((seen.finish, seen.fault), (Some(Finish::EndTurn), None));
    }
}

#[tokio::test]
async fn what_breaks_after_the_first_words_leaves_them_standing() {
    let scripted = |fault| {
        prompt(&format!(r#"@script {{"text": "one two", "fault": "{fault}", "fault_after": 1}}"#))
    };
    for (fault, cause) in [
        ("disconnect", Cause::Disconnected),
        ("malformed", Cause::Malformed),
        ("error_frame", Cause::ErrorFrame),
    ] {
        let seen = call(&Scripted::new(), scripted(fault)).await.unwrap();
        assert_eq!((&*seen.text(), seen.finish, seen.fault), ("one ", None, Some(cause)));
    }
    for dialect in vendors() {
        let long = format!("data: {}", "x".repeat(5 << 20));
        let half = dialect.piece("two");
        let half = half.get(..half.len() / 2).unwrap();
        for (more, after, fault) in [
            ("", After::Break, Some(Cause::Disconnected)),
            (half, After::Break, Some(Cause::Disconnected)),
            ("", After::End, None),
            (half, After::End, None),
            (dialect.error, After::Stall, Some(Cause::ErrorFrame)),
            ("data: nonsense\n\n", After::Stall, Some(Cause::Malformed)),
            ("data: 7\n\n", After::Stall, Some(Cause::Malformed)),
            (&long, After::Repeat, Some(Cause::TooLarge)),
        ] {
            let answer = Answer::sse(&[&dialect.piece("one "), more]).then(after);
            let seen = dialect.hear(answer).await;
            let what = format!("{} {:.40}", dialect.name, more);
            assert_eq!((&*seen.text(), seen.finish, seen.fault), ("one ", None, fault), "{what}");
        }
    }
}

#[tokio::test]
async fn what_is_no_answer_is_said_to_be_none() {
    // The start of a compressed body that unfolds to gigabytes; none was asked for.
    let bomb = [b"\x1f\x8b\x08\0\0\0\0\0\0\x03".as_slice(), &[0xff; 4_096]].concat();
    for dialect in vendors() {
        let mut zipped = Answer::sse(&[]).header("content-encoding", "gzip");
        zipped.chunks = vec![bomb.clone().into()];
        let mut endless = zipped.clone().then(After::Repeat);
        endless.chunks.push(vec![0xff; 1 << 20].into());
        for (answer, cause) in [
            (Answer::json(200, "<html>Bad gateway</html>"), Cause::Malformed),
            (Answer::json(200, "hello"), Cause::Malformed),
            (Answer::json(200, "[]"), Cause::Malformed),
            (Answer::json(200, "{\"a\":1}"), Cause::Malformed),
            (Answer::json(200, "{\"error\":\"x\"}"), Cause::ErrorFrame),
            (zipped, Cause::Malformed),
            (endless, Cause::TooLarge),
            (Answer::json(200, &format!("{{\"a\": \"{}", "x".repeat(5 << 20))), Cause::TooLarge),
        ] {
            let seen = dialect.hear(answer).await;
            assert_eq!((&*seen.text(), seen.fault), ("", Some(cause)), "{}", dialect.name);
        }
    }
}

#[tokio::test]
async fn a_status_is_told_with_how_long_to_wait() {
    let wait = Some(Duration::from_secs(7));
    let script = r#"@script {"status": 429, "retry_after": 7}"#;
    let error = call(&Scripted::new(), prompt(script)).await.unwrap_err();
    assert_eq!((error.cause, error.retry_after), (Cause::Status(429), wait));
    for dialect in vendors() {
        for status in [400, 401, 403, 404, 429, 500, 503, 529] {
            let body = r#"{"error":{"type":"x","message":"secret-canary"}}"#;
            let error =
                dialect.refused(Answer::json(status, body).header("retry-after", "7")).await;
            assert_eq!((error.cause, error.retry_after), (Cause::Status(status), wait));
            assert!(!format!("{error} {error:?}").contains("canary"));
        }
        let (status, body) = dialect.no_quota;
        let error = dialect.refused(Answer::json(status, body)).await;
        assert_eq!(error.cause, Cause::Quota(status), "{}", dialect.name);
        let elsewhere = Vendor::answering((dialect.answer)(dialect.words[0], true)).await;
        let away = Answer::json(307, "").header("location", &elsewhere.base_url);
        assert_eq!(dialect.refused(away).await.cause, Cause::Status(307));
        assert!(elsewhere.is_unasked(), "a redirect is not followed");
    }
}

#[tokio::test]
async fn nobody_there_is_not_the_same_as_gone() {
    for dialect in vendors() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let gone = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            assert!(socket.read(&mut [0; 1_024]).await.unwrap() > 0);
            drop(socket);
            // One that does not speak TLS: no request can have reached it.
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        });
        let to = async |url: String| {
            call(&*(dialect.at)(&url), prompt("Hello")).await.unwrap_err().cause
        };
        assert_eq!(to(format!("http://{address}/v1")).await, Cause::Disconnected);
        assert_eq!(to(format!("https://{address}/v1")).await, Cause::Unreachable);
        gone.await.unwrap();
        assert_eq!(to(format!("http://{address}/v1")).await, Cause::Unreachable);
    }
}
