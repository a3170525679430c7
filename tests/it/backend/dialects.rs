//! What vendors answer, in all its variety, comes out as one kind of answer.

use bursar::{
    backend::{Cause, openai::OpenAi},
    domain::{answer::Finish, model::Profile, usage::ReportedUsage},
};
use serde_json::json;

use super::{Seen, call, prompt};
use crate::support::vendor::{After, Answer, Vendor};

/// The backend at this vendor.
pub(crate) fn at(vendor: &Vendor) -> OpenAi {
    OpenAi::new(&vendor.base_url, None, Profile::default(), crate::support::http_client()).unwrap()
}

pub(crate) async fn hear(answer: Answer) -> Seen {
    let vendor = Vendor::answering(answer).await;
    call(&at(&vendor), prompt("Hello")).await.unwrap()
}

pub(crate) async fn hear_events(data: &[&str]) -> Seen {
    hear(Answer::events(data)).await
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn said(text: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string()
}

pub(crate) fn claimed(input: i64, output: i64) -> ReportedUsage {
    ReportedUsage { input: Some(input), output: Some(output), ..ReportedUsage::UNKNOWN }
}

pub(crate) fn tools(seen: &Seen) -> Vec<(&str, &str, &str)> {
    seen.tool_uses.iter().map(|it| (&*it.id, &*it.name, it.input.as_str())).collect()
}

#[tokio::test]
async fn a_usual_answer() {
    let seen = hear_events(&[
        r#"{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        &said("Hel"),
        &said("lo"),
        STOP,
        r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}"#,
    ])
    .await;
    let expected = Seen {
        texts: vec!["Hel".into(), "lo".into()],
        usage: Some(claimed(5, 2)),
        finish: Some(Finish::EndTurn),
        ..Seen::default()
    };
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn finish_reasons() {
    for (word, finish) in [
        (r#""stop""#, Finish::EndTurn),
        (r#""eos_token""#, Finish::EndTurn),
        (r#""something new""#, Finish::EndTurn),
        (r#""length""#, Finish::MaxTokens),
        (r#""MAX_TOKENS""#, Finish::MaxTokens),
        (r#""content_filter""#, Finish::Refusal),
        (r#""SAFETY""#, Finish::Refusal),
        (r#""tool_calls""#, Finish::EndTurn),
        (r#""""#, Finish::EndTurn),
        ("null", Finish::EndTurn),
    ] {
        let last =
            format!(r#"{{"choices":[{{"delta":{{"content":null}},"finish_reason":{word}}}]}}"#);
        let seen = hear_events(&[&last]).await;
        assert_eq!((seen.finish, seen.fault), (Some(finish), None), "{word}");
    }
}

#[tokio::test]
async fn an_end_without_a_last_word_is_no_end() {
    let frame = |it: &str| format!("data: {it}\n\n");
    let (a, stop) = (frame(&said("a")), frame(STOP));
    let check = async |answer: Answer, finish: Option<Finish>, fault: Option<Cause>| {
        let seen = hear(answer).await;
        assert_eq!((&*seen.text(), seen.finish, seen.fault), ("a", finish, fault));
    };
    check(Answer::sse(&[&a, &stop]), Some(Finish::EndTurn), None).await;
    check(Answer::sse(&[&a, stop.trim_end()]), Some(Finish::EndTurn), None).await;
    let tight = format!("data: {}\ndata: {STOP}\ndata: [DONE]\n", said("a"));
    check(Answer::sse(&[&tight]), Some(Finish::EndTurn), None).await;
    check(Answer::sse(&[&a, "data: [DONE]\n\n"]), Some(Finish::EndTurn), None).await;
    check(Answer::sse(&[&a]), None, None).await;
    check(Answer::sse(&[&a, "data: {\"choices\":[{\"del"]), None, None).await;
    let broken = Some(Cause::Disconnected);
    check(Answer::sse(&[&a]).then(After::Break), None, broken).await;
    check(Answer::sse(&[&a, &stop]).then(After::Break), Some(Finish::EndTurn), None).await;
    check(Answer::sse(&[&a, &stop]).then(After::Stall), Some(Finish::EndTurn), None).await;
}

#[tokio::test]
async fn odd_chunks_are_understood() {
    for chunk in [
        r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{}}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":null}"#,
        r#"{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":null,"completion_tokens":null}}"#,
        r#"{"choices":[{"delta":{"content":"x"}}],"service_tier":"on_demand"}"#,
        r#"{"choices":[{"delta":{"role":"model","content":"x"}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"text","text":"x"}]}}]}"#,
        r#"{"choices":[{"delta":{"content":["x"]}}]}"#,
        r#"{"id":null,"created":1.5,"choices":[{"index":0,"delta":{"content":"x"}}]}"#,
        r#"{"id":7,"created":1764500000000,"choices":[{"delta":{"content":"x"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":""}]}"#,
        r#"{"choices":[{"delta":{"content":"x","annotations":[{"type":"unheard of"}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"x"}},{"index":1,"delta":{"content":"other"}}]}"#,
        r#"{"choices":[{"delta":{"content":"x"}}],"usage":{},"usage":{}}"#,
        r#"{"choices":[{"delta":{"content":"x"}}],"error":null}"#,
    ] {
        let seen = hear_events(&["null", r#"{"object":"x"}"#, chunk, STOP]).await;
        assert_eq!((&*seen.text(), seen.finish), ("x", Some(Finish::EndTurn)), "{chunk}");
        assert_eq!((seen.usage, seen.fault), (None, None), "{chunk}");
    }
}

#[tokio::test]
async fn errors_inside_a_stream_end_it() {
    for error in [
        r#"{"error":{"message":"m","code":429}}"#,
        r#"{"error":"overloaded"}"#,
        r#"{"error":[{"message":"m"}]}"#,
        r#"{"detail":"no"}"#,
        r#"{"object":"error","message":"no","code":500}"#,
        r#"{"message":"flat","code":"x"}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
    ] {
        let seen = hear_events(&[&said("a"), error]).await;
        assert_eq!((&*seen.text(), seen.fault), ("a", Some(Cause::ErrorFrame)), "{error}");
        assert_eq!(seen.finish, None);
    }
    let event = Answer::sse(&["event: error\ndata: {\"choices\":[]}\n\n"]);
    assert_eq!(hear(event).await.fault, Some(Cause::ErrorFrame));
}

#[tokio::test]
async fn what_is_no_answer_is_said_to_be_none() {
    for body in [
        "<html>Bad gateway</html>",
        "{\"a\":1}",
        "[]",
        "hello",
        "data: nonsense\n\n",
        "data: 7\n\n",
    ] {
        assert_eq!(hear(Answer::json(200, body)).await.fault, Some(Cause::Malformed), "{body}");
    }
    for body in [r#"{"error":"x"}"#, r#"[{"error":{"code":5}}]"#] {
        assert_eq!(hear(Answer::json(200, body)).await.fault, Some(Cause::ErrorFrame), "{body}");
    }
    let long = "x".repeat(5 << 20);
    for start in ["data: ", "{\"a\":\""] {
        let seen = hear(Answer::sse(&[start, &long])).await;
        assert_eq!(seen.fault, Some(Cause::TooLarge), "{start}");
    }
}

#[tokio::test]
async fn usage_in_every_dialect() {
    let of = |input, cache_read, cache_write, output, reasoning| {
        Some(ReportedUsage { input, cache_read, cache_write, output, reasoning })
    };
    for (usage, expected) in [
        (r#"{"prompt_tokens":5,"completion_tokens":3}"#, Some(claimed(5, 3))),
        (r#"{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#, Some(claimed(0, 0))),
        (r#"{"prompt_tokens":5.0,"completion_tokens":1e30}"#, Some(claimed(5, i64::MAX))),
        (r#"{"prompt_tokens":5,"completion_tokens":-1}"#, Some(claimed(5, -1))),
        (r#"{"input_tokens":5,"output_tokens":3}"#, Some(claimed(5, 3))),
        (
            r#"{"prompt_tokens":262960,"completion_tokens":1744,"prompt_tokens_details":{"cached_tokens":257955},"completion_tokens_details":{"reasoning_tokens":1000}}"#,
            of(Some(5_005), Some(257_955), None, Some(744), Some(1_000)),
        ),
        (
            r#"{"prompt_tokens":10,"completion_tokens":3,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":6}"#,
            of(Some(6), Some(4), None, Some(3), None),
        ),
        (
            r#"{"completion_tokens":3,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":6}"#,
            of(Some(6), Some(4), None, Some(3), None),
        ),
        (
            r#"{"prompt_tokens":100,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":30}}"#,
            of(Some(50), Some(20), Some(30), Some(3), None),
        ),
        (
            r#"{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":12}}"#,
            of(Some(-2), Some(12), None, Some(3), None),
        ),
        (
            r#"{"prompt_tokens":10,"completion_tokens":3,"total_tokens":20,"completion_tokens_details":{"reasoning_tokens":7}}"#,
            of(Some(10), None, None, Some(3), Some(7)),
        ),
        (
            r#"{"prompt_tokens":10,"completion_tokens":3,"total_tokens":20}"#,
            of(Some(10), None, None, Some(3), Some(7)),
        ),
        (
            r#"{"prompt_tokens":10,"prompt_tokens_details":null}"#,
            of(Some(10), None, None, None, None),
        ),
        (r#"{"prompt_tokens":"many"}"#, None),
        ("{}", None),
        ("null", None),
        ("7", None),
    ] {
        let last = format!(r#"{{"choices":[],"usage":{usage}}}"#);
        let seen = hear_events(&[&said("a"), STOP, &last]).await;
        assert_eq!(seen.usage, expected, "{usage}");
        let groq = format!(r#"{{"choices":[],"x_groq":{{"usage":{usage}}}}}"#);
        assert_eq!(hear_events(&[&said("a"), &groq, STOP]).await.usage, expected, "{usage}");
    }
}

#[tokio::test]
async fn of_many_usages_the_last_one_stands() {
    let chunks: Vec<_> = (1..=100)
        .map(|it| {
            json!({"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 9, "completion_tokens": it}})
                .to_string()
        })
        .collect();
    let mut chunks: Vec<_> = chunks.iter().map(String::as_str).collect();
    chunks.extend([
        STOP,
        r#"{"choices":[],"usage":{}}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
    ]);
    assert_eq!(hear_events(&chunks).await.usage, Some(claimed(9, 100)));
}

#[tokio::test]
async fn reasoning_is_hidden_and_counted() {
    for (delta, bytes) in [
        (r#"{"reasoning_content":"hm hm"}"#, 5),
        (r#"{"reasoning":"hm hm"}"#, 5),
        (r#"{"reasoning":"hm hm","reasoning_content":"hm hm"}"#, 5),
        (r#"{"content":[{"type":"thinking","thinking":"hm"}]}"#, 4),
        (r#"{"reasoning_content":null,"reasoning":""}"#, 0),
    ] {
        let chunk = format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#);
        let length = r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#;
        let seen = hear_events(&[&chunk, length]).await;
        let got = (&*seen.text(), seen.hidden, seen.finish);
        assert_eq!(got, ("", bytes, Some(Finish::MaxTokens)), "{delta}");
    }
}

#[tokio::test]
async fn a_refusal_in_words_is_a_refusal() {
    let seen = hear_events(&[r#"{"choices":[{"delta":{"refusal":"I will not."}}]}"#, STOP]).await;
    assert_eq!((&*seen.text(), seen.finish), ("I will not.", Some(Finish::Refusal)));
}

#[tokio::test]
async fn a_whole_response_is_understood_too() {
    for (body, expected) in [
        (r#"{"message":{"content":"x"},"finish_reason":"stop"}"#, "x"),
        (r#"{"message":{"content":"x"},"finish_reason":""}"#, "x"),
        (
            r#"{"index":0,"message":{"content":[{"type":"text","text":"x"}],"annotations":[{"type":"?"}]}}"#,
            "x",
        ),
        (r#"{"message":{"content":null},"finish_reason":"stop"}"#, ""),
    ] {
        let body = format!(
            r#" {{"id":null,"choices":[{body}],"usage":{{"a":1}},"usage":{{"prompt_tokens":1,"completion_tokens":-1}}}}"#
        );
        let seen = hear(Answer::json(200, &body)).await;
        assert_eq!((&*seen.text(), seen.finish), (expected, Some(Finish::EndTurn)), "{body}");
        assert_eq!((seen.usage, seen.fault), (Some(claimed(1, -1)), None), "{body}");
    }
    let calls = r#"{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":{}}}]},"finish_reason":"stop"}]}"#;
    let seen = hear(Answer::json(200, calls)).await;
    assert_eq!(tools(&seen), [("call_1", "f", r#"{"x":1}"#), ("b", "g", "{}")]);
    assert_eq!(seen.finish, Some(Finish::ToolUse));
}

#[tokio::test]
async fn characters_survive_a_cut_at_every_byte() {
    let stream =
        format!(": hi\n\ndata: {}\r\n\r\ndata: {STOP}\n\ndata: [DONE]\n\n", said("Grüße 🦀 你好"));
    let whole = hear(Answer::sse(&[&stream])).await;
    assert_eq!(whole.text(), "Grüße 🦀 你好");
    let mut bytewise = Answer::sse(&[]);
    bytewise.chunks = stream.bytes().map(|it| vec![it].into()).collect();
    assert_eq!(hear(bytewise).await, whole);
}
