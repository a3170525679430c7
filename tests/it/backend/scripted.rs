//! The scripted backend does what a message tells it, and nothing else.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bursar::{
    backend::{Backend, Cause, Error, Event, scripted::Scripted},
    domain::{
        answer::Finish,
        message::{Block, Message, Role},
        usage::ReportedUsage,
    },
};
use futures_util::StreamExt;

use super::{Seen, call, prompt};

async fn play(script: &str) -> Seen {
    call(&Scripted::new(), prompt(&format!("@script {script}"))).await.unwrap()
}

async fn refused(text: &str) -> Error {
    call(&Scripted::new(), prompt(text)).await.unwrap_err()
}

fn usage(input: i64, output: i64) -> ReportedUsage {
    ReportedUsage { input: Some(input), output: Some(output), ..ReportedUsage::UNKNOWN }
}

#[tokio::test]
async fn a_message_without_a_script_gets_the_same_short_reply() {
    let seen = call(&Scripted::new(), prompt("Hello there")).await.unwrap();
    assert_eq!(seen.finish, Some(Finish::EndTurn));
    let words = i64::try_from(seen.texts.len()).unwrap();
    assert_eq!(seen.usage, Some(usage(2, words)));
    assert_eq!(seen, call(&Scripted::new(), prompt("Hello there")).await.unwrap());
}

#[tokio::test]
async fn a_script_is_found_whatever_a_server_wraps_around_it() {
    let wrapped = "Resource x context: {\"a\": 1}\n@script\n {\"text\": \"hi\"} } and {more";
    assert_eq!(call(&Scripted::new(), prompt(wrapped)).await.unwrap().text(), "hi");

    let mut loop_of_tools = prompt("@script {\"text\": \"first\"}");
    let said = |role, text: &str| Message { role, content: vec![Block::Text(text.into())] };
    loop_of_tools.messages.push(said(Role::User, "@script {\"text\": \"last\"}"));
    loop_of_tools.messages.push(said(Role::Assistant, "@script {\"text\": \"not mine\"}"));
    assert_eq!(call(&Scripted::new(), loop_of_tools).await.unwrap().text(), "last");
}

#[tokio::test]
async fn a_script_that_cannot_be_read_is_a_bad_request() {
    let bad = [
        "@script",
        "@script {",
        "@script []",
        "@script null",
        "@script {\"texts\": \"unknown key\"}",
        "@script {\"text\": \"a\", \"text\": \"b\"}",
        "@script {\"text\": 1}",
        "@script {\"delay_ms\": 3600001}",
        "@script {\"delay_ms\": -1}",
        "@script {\"first_delay_ms\": 1.5}",
        "@script {\"deltas\": 100001}",
        "@script {\"fault\": \"fire\"}",
        "@script {\"fault\": \"http_status\", \"status\": 200}",
        "@script {\"fault\": \"http_status\", \"status\": 70000}",
        "@script {\"retry_after\": -1}",
        "@script {\"retry_after\": 1e300}",
        "@script {\"usage\": {\"tokens\": 1}}",
        "@script {\"usage\": {\"input\": 1.5}}",
        "@script {\"tool_calls\": [{\"name\": \"t\", \"input\": 1}]}",
        "@script {\"tool_calls\": [{\"name\": \"\", \"input\": {}}]}",
    ];
    for text in bad {
        let error = refused(text).await;
        assert_eq!(error.cause, Cause::Status(400), "{text}");
        assert!(error.is_unbilled(Scripted::new().profile()));
    }
}

#[tokio::test]
async fn the_deltas_together_are_the_text() {
    let text = " Grüße,\n\n  Welt 🦀 \t end ";
    let json = |deltas: &str| format!(r#"{{"text": {}{deltas}}}"#, serde_json::json!(text));
    let by_word = play(&json("")).await;
    assert_eq!((by_word.text().as_str(), by_word.texts.len()), (text, 4));
    for (deltas, expected) in [(1, 1), (2, 2), (7, 7), (24, 24), (5_000, text.chars().count())] {
        let seen = play(&json(&format!(r#", "deltas": {deltas}"#))).await;
        assert_eq!(seen.text(), text);
        assert_eq!(seen.texts.len(), expected, "{deltas}");
    }
    assert_eq!(play(r#"{"text": "  "}"#).await.text(), "  ");
    assert_eq!(play(r#"{"text": ""}"#).await.texts.len(), 0);
    assert_eq!(play(r#"{"deltas": 806}"#).await.texts.len(), 806);
}

#[tokio::test]
async fn max_tokens_cuts_after_so_many_words() {
    for (max, text, finish) in [
        (0, "", Finish::MaxTokens),
        (1, "one", Finish::MaxTokens),
        (2, "one  two", Finish::MaxTokens),
        (3, "one  two three ", Finish::EndTurn),
    ] {
        for deltas in ["", r#", "deltas": 4"#] {
            let script = format!(r#"@script {{"text": "one  two three "{deltas}}}"#);
            let mut prompt = prompt(&script);
            prompt.max_tokens = max;
            let seen = call(&Scripted::new(), prompt).await.unwrap();
            assert_eq!((seen.text().as_str(), seen.finish), (text, Some(finish.clone())));
            assert_eq!(seen.usage.unwrap().output, Some(i64::try_from(max).unwrap()));
        }
    }
    let mut deaf = prompt(r#"@script {"text": "one two three", "obey_max_tokens": false}"#);
    deaf.max_tokens = 1;
    let seen = call(&Scripted::new(), deaf).await.unwrap();
    assert_eq!((seen.text().as_str(), seen.finish), ("one two three", Some(Finish::EndTurn)));
}

#[tokio::test]
async fn usage_is_what_the_script_claims() {
    let cases = [
        (r#"{"text": "a b c"}"#, Some(usage(5, 3))),
        (r#"{"text": "a b c", "usage": null}"#, None),
        (r#"{"text": "a", "usage": {"input": 7, "output": -1}}"#, Some(usage(7, -1))),
        (r#"{"text": "a", "usage": {"input": null, "output": null}}"#, None),
        (
            r#"{"usage": {"input": 1, "cache_read": 2, "cache_write": 3, "output": 4, "reasoning": 5}}"#,
            Some(ReportedUsage {
                input: Some(1),
                cache_read: Some(2),
                cache_write: Some(3),
                output: Some(4),
                reasoning: Some(5),
            }),
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(play(script).await.usage, expected, "{script}");
    }
}

#[tokio::test]
async fn the_finish_is_what_the_script_says() {
    let cases = [
        (r#""stop""#, Some(Finish::EndTurn), None),
        (r#""length""#, Some(Finish::MaxTokens), None),
        (r#""tool_calls""#, Some(Finish::ToolUse), None),
        (r#""content_filter""#, Some(Finish::Refusal), None),
        (r#""eos_token""#, Some(Finish::EndTurn), None),
        (r#""""#, None, None),
        ("null", None, None),
        (r#""error""#, None, Some(Cause::ErrorFrame)),
    ];
    for (word, finish, fault) in cases {
        let seen = play(&format!(r#"{{"finish": {word}}}"#)).await;
        assert_eq!((seen.finish, seen.fault), (finish, fault), "{word}");
    }
}

#[tokio::test]
async fn tool_calls_keep_their_input_to_the_letter() {
    let calls = r#"[{"name": "a", "input": {"n": 12345678901234567890123}}, {"name": "b"}]"#;
    let seen = play(&format!(r#"{{"text": "", "tool_calls": {calls}}}"#)).await;
    let got: Vec<_> =
        seen.tool_uses.iter().map(|it| (&*it.id, &*it.name, it.input.as_str())).collect();
    let expected = [("call_1", "a", r#"{"n": 12345678901234567890123}"#), ("call_2", "b", "{}")];
    assert_eq!(got, expected);
    assert_eq!(seen.finish, Some(Finish::ToolUse));
    assert_eq!(seen.usage.unwrap().output, Some(2));

    let mut short = prompt(&format!(r#"@script {{"text": "one", "tool_calls": {calls}}}"#));
    short.max_tokens = 2;
    let seen = call(&Scripted::new(), short).await.unwrap();
    assert_eq!((seen.tool_uses.len(), seen.finish), (1, Some(Finish::MaxTokens)));
}

#[tokio::test]
async fn faults_come_where_the_script_puts_them() {
    let causes = [
        ("disconnect", Cause::Disconnected),
        ("malformed", Cause::Malformed),
        ("error_frame", Cause::ErrorFrame),
    ];
    for (fault, cause) in causes {
        for (after, text) in [(0, ""), (1, "a "), (2, "a b "), (3, "a b c"), (9, "a b c")] {
            let at = format!(r#""fault": "{fault}", "fault_after": {after}"#);
            let seen = play(&format!(r#"{{"text": "a b c", {at}}}"#)).await;
            assert_eq!((seen.text().as_str(), seen.fault), (text, Some(cause)));
            assert_eq!((seen.finish, seen.usage), (None, None));
        }
    }
}

#[tokio::test]
async fn a_status_is_answered_before_the_stream() {
    assert_eq!(refused(r#"@script {"fault": "http_status"}"#).await, Cause::Status(500).into());
    let error = refused(r#"@script {"fault": "http_status", "status": 429, "retry_after": 1.5}"#);
    let expected =
        Error { cause: Cause::Status(429), retry_after: Some(Duration::from_millis(1_500)) };
    assert_eq!(error.await, expected);
}

#[tokio::test]
async fn delays_and_stalls_are_kept() {
    let began = Instant::now();
    play(r#"{"text": "a b c", "first_delay_ms": 60, "delay_ms": 30}"#).await;
    assert!(began.elapsed() >= Duration::from_millis(120));

    let stalled = prompt(r#"@script {"text": "a b c", "stall_after": 2}"#);
    let mut events = Scripted::new().start(Arc::new(stalled)).await.unwrap();
    assert_eq!(events.next().await, Some(Ok(Event::Text("a ".into()))));
    assert_eq!(events.next().await, Some(Ok(Event::Text("b ".into()))));
    let silence = tokio::time::timeout(Duration::from_millis(100), events.next()).await;
    assert!(silence.is_err(), "silence for ever");
}
