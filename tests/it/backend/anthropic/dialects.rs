//! What the vendor, and those who copy it, stream.

use bursar::{
    backend::Cause,
    domain::{answer::Finish, message::ToolChoice, usage::ReportedUsage},
};
use serde_json::{Value, json};

use super::{
    super::{call, dialects::tools, prompt},
    answer, at, delta, end, event, hear, hear_events, open, said, shut, start, stream,
};
use crate::support::vendor::{After, Answer, Vendor};

fn tool(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

fn arguments(index: u32, json: &str) -> Value {
    delta(index, &json!({"type": "input_json_delta", "partial_json": json}))
}

#[tokio::test]
async fn a_thought_a_text_and_two_tools_as_the_vendor_streams_them() {
    let usage = json!({"input_tokens": 472, "cache_creation_input_tokens": 2_000,
        "cache_read_input_tokens": 30, "output_tokens": 2, "service_tier": "standard"});
    let mut events = vec![
        start(&usage),
        json!({"type": "ping"}),
        open(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "hm hm"})),
        delta(0, &json!({"type": "signature_delta", "signature": "c2ln"})),
        shut(0),
        open(1, &json!({"type": "redacted_thinking", "data": "secret"})),
        shut(1),
        open(2, &json!({"type": "text", "text": ""})),
        delta(2, &json!({"type": "text_delta", "text": "I look"})),
        delta(2, &json!({"type": "text_delta", "text": "."})),
        shut(2),
        open(3, &tool("toolu_1", "get_weather")),
        arguments(3, ""),
        arguments(3, "{\"city\": \"S"),
        arguments(3, "an\", \"n\": 12345678901234567890123}"),
        shut(3),
        open(4, &tool("toolu_2", "now")),
        arguments(4, ""),
        shut(4),
    ];
    events.extend(end("tool_use", &json!({"output_tokens": 89})));
    let seen = hear_events(&events).await;
    assert_eq!(seen.texts, ["I look", "."]);
    let input = r#"{"city": "San", "n": 12345678901234567890123}"#;
    assert_eq!(tools(&seen), [("toolu_1", "get_weather", input), ("toolu_2", "now", "{}")]);
    assert_eq!((seen.finish, seen.fault), (Some(Finish::ToolUse), None));
    let calls = u64::try_from(input.len() + "get_weather".len() + "now".len()).unwrap();
    assert_eq!(seen.hidden, 5 + 4 + 6 + calls);
    let visible = i64::try_from("I look.".len()).unwrap() + i64::try_from(calls).unwrap();
    let expected = ReportedUsage {
        input: Some(472),
        cache_read: Some(30),
        cache_write: Some(2_000),
        output: Some(visible),
        reasoning: Some(89 - visible),
    };
    assert_eq!(seen.usage, Some(expected));
}

#[tokio::test]
async fn stop_reasons() {
    for (reason, finish) in [
        ("end_turn", Finish::EndTurn),
        ("max_tokens", Finish::MaxTokens),
        ("model_context_window_exceeded", Finish::MaxTokens),
        ("stop_sequence", Finish::StopSequence),
        ("refusal", Finish::Refusal),
        ("pause_turn", Finish::EndTurn),
        ("tool_use", Finish::EndTurn),
        ("something new", Finish::EndTurn),
    ] {
        let seen = hear_events(&answer(&["a"], reason, &json!({"output_tokens": 1}))).await;
        assert_eq!((&*seen.text(), seen.finish, seen.fault), ("a", Some(finish), None), "{reason}");
    }
}

#[tokio::test]
async fn an_end_without_a_last_word_is_no_end() {
    const DONE: Option<Finish> = Some(Finish::EndTurn);
    let usage = json!({"output_tokens": 1});
    let whole = answer(&["a"], "end_turn", &usage);
    let check = async |answer: Answer, finish: Option<Finish>, fault: Option<Cause>| {
        let seen = hear(answer).await;
        assert_eq!((&*seen.text(), seen.finish, seen.fault), ("a", finish, fault));
    };
    let (last, most) = whole.split_last().unwrap();
    check(stream(most), DONE, None).await;
    check(stream(most).then(After::Break), DONE, None).await;
    check(stream(most).then(After::Stall), DONE, None).await;
    let mut without_reason = most[..4].to_vec();
    without_reason.push(last.clone());
    check(stream(&without_reason), DONE, None).await;
    check(stream(&most[..4]), None, None).await;
    check(stream(&most[..4]).then(After::Break), None, Some(Cause::Disconnected)).await;
    // What keeps the connection alive after the last word is not waited for.
    let mut alive: Vec<_> = most.iter().map(event).collect();
    alive.push("event: ping\ndata: {\"type\": \"ping\"}\n\n".into());
    let alive: Vec<_> = alive.iter().map(String::as_str).collect();
    let waited = check(Answer::sse(&alive).then(After::Repeat), DONE, None);
    tokio::time::timeout(std::time::Duration::from_secs(8), waited).await.unwrap();
}

#[tokio::test]
async fn unknown_events_blocks_and_fields_are_passed_over() {
    for odd in [
        json!({"type": "ping"}),
        json!({"type": "unheard_of", "index": 0, "delta": 7}),
        json!({"a": 1, "type": "x"}),
        open(7, &json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
        open(8, &json!({"type": "web_search_tool_result", "content": []})),
        json!({"type": "content_block_start"}),
        json!({"type": "content_block_delta", "index": 3}),
        json!({"type": "content_block_stop", "index": 99}),
        json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": null}),
        json!({"type": "message_delta"}),
        start(&Value::Null),
    ] {
        let mut events = answer(&["x"], "end_turn", &json!({"output_tokens": 1}));
        events.insert(3, odd.clone());
        let seen = hear_events(&events).await;
        assert_eq!((&*seen.text(), seen.finish), ("x", Some(Finish::EndTurn)), "{odd}");
        assert_eq!((seen.tool_uses.len(), seen.hidden, seen.fault), (0, 0, None), "{odd}");
    }
    let mut events = answer(&["x"], "end_turn", &json!({"output_tokens": 1}));
    events.insert(3, delta(0, &json!({"type": "citations_delta", "citation": {"a": 1}})));
    let seen = hear_events(&events).await;
    assert!(seen.hidden > 0 && seen.text() == "x", "it came, and may be paid for");
}

#[tokio::test]
async fn errors_inside_a_stream_end_it() {
    for error in [
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        json!({"type": "error"}),
        json!({"type": "ping", "error": "gone"}),
    ] {
        let events = [start(&json!({})), said("a"), error.clone(), said("b")];
        let seen = hear_events(&events).await;
        assert_eq!((&*seen.text(), seen.fault), ("a", Some(Cause::ErrorFrame)), "{error}");
        assert_eq!(seen.finish, None);
    }
}

#[tokio::test]
async fn an_answer_that_comes_at_once() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Hel"},
            {"type": "new", "text": "?"},
            {"type": "text", "text": "lo"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            {"type": "tool_use", "id": "b", "name": "g", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 9},
    });
    let seen = hear(Answer::json(200, &body.to_string())).await;
    assert_eq!(tools(&seen), [("a", "f", r#"{"x":1}"#), ("b", "g", "{}")]);
    assert_eq!((&*seen.text(), seen.finish, seen.fault), ("Hello", Some(Finish::ToolUse), None));
    assert_eq!(seen.usage.unwrap().output, Some(9));
    for (body, cause) in [
        (json!({"type": "error", "error": {"type": "api_error"}}), Cause::ErrorFrame),
        (json!({"type": "message", "content": "text"}), Cause::Malformed),
        (json!({"choices": []}), Cause::Malformed),
        (json!([]), Cause::Malformed),
    ] {
        let seen = hear(Answer::json(200, &body.to_string())).await;
        assert_eq!(seen.fault, Some(cause), "{body}");
    }
}

#[tokio::test]
async fn a_tool_call_is_whole_or_not_there() {
    for bad in ["{\"x\": tru", "[1]", "7", "{} {}"] {
        let begun = vec![
            start(&json!({})),
            open(0, &tool("a", "f")),
            arguments(0, "{}"),
            shut(0),
            open(1, &tool("b", "g")),
            arguments(1, bad),
        ];
        let ended = |reason| [begun.clone(), end(reason, &json!({"output_tokens": 3})).into()];
        let seen = hear_events(&ended("tool_use").concat()).await;
        assert_eq!(tools(&seen), [("a", "f", "{}")], "{bad}");
        assert_eq!((seen.finish, seen.fault), (None, Some(Cause::Malformed)), "{bad}");
        for (reason, finish) in [("max_tokens", Finish::MaxTokens), ("refusal", Finish::Refusal)] {
            let seen = hear_events(&ended(reason).concat()).await;
            assert_eq!(tools(&seen), [("a", "f", "{}")], "{bad}");
            assert_eq!((seen.finish, seen.fault), (Some(finish), None), "{bad}");
        }
        let seen = hear_events(&begun).await;
        assert_eq!((seen.tool_uses.len(), seen.finish), (0, None), "broken off");
    }
    // Cut before its first argument it looks like a call that needs none.
    let mut cut = vec![start(&json!({})), open(0, &tool("a", "pay")), arguments(0, "")];
    cut.extend(end("max_tokens", &json!({"output_tokens": 3})));
    let seen = hear_events(&cut).await;
    assert_eq!((seen.tool_uses.len(), seen.finish), (0, Some(Finish::MaxTokens)));
}

#[tokio::test]
async fn tools_that_must_not_be_called_are_not() {
    let mut events = vec![start(&json!({})), said("a"), open(1, &tool("a", "f"))];
    events.push(arguments(1, "{}"));
    events.extend(end("tool_use", &json!({"output_tokens": 30})));
    let vendor = Vendor::answering(stream(&events)).await;
    let mut prompt = prompt("Hello");
    prompt.tool_choice = ToolChoice::None;
    let seen = call(&at(&vendor), prompt).await.unwrap();
    assert_eq!((&*seen.text(), seen.tool_uses.len(), seen.hidden), ("a", 0, 3));
    assert_eq!(seen.finish, Some(Finish::EndTurn));
    let usage = seen.usage.unwrap();
    assert_eq!((usage.output, usage.reasoning), (Some(1), Some(29)), "what was dropped is hidden");
}
