//! Tool calls come out whole, however vendors cut and number them.

use bursar::{
    backend::Cause,
    domain::{answer::Finish, message::ToolChoice},
};

use super::{
    call,
    dialects::{at, claimed, hear, hear_events, tools},
    prompt,
};
use crate::support::vendor::{Answer, Vendor};

type Call = (&'static str, &'static str, &'static str);
const ONE: [Call; 1] = [("a", "f", r#"{"x":1}"#)];
const TWO: [Call; 2] = [ONE[0], ("b", "g", "{}")];
const MADE_UP: [Call; 2] = [("call_1", "f", r#"{"x":1}"#), ("call_2", "g", "{}")];

async fn check_tools(deltas: &[&str], expected: &[Call]) {
    let chunks = deltas.iter().map(|it| format!(r#"{{"choices":[{{"delta":{{{it}}}}}]}}"#));
    let last = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned();
    let chunks: Vec<_> = chunks.chain([last]).collect();
    let seen = hear_events(&chunks.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(tools(&seen), expected, "{deltas:?}");
    assert_eq!((seen.finish, seen.fault), (Some(Finish::ToolUse), None), "{deltas:?}");
    assert!(seen.hidden > 0, "progress shows");
}

#[tokio::test]
async fn tool_calls_are_put_together() {
    // By the book, and interleaved.
    check_tools(
        &[
            r#""tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]"#,
            r#""tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]"#,
            r#""tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}},{"index":1,"function":{"arguments":"}"}}]"#,
            r#""tool_calls":[{"index":0,"function":{"arguments":":1}"}}]"#,
        ],
        &TWO,
    )
    .await;
    // Without index.
    check_tools(
        &[
            r#""tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\""}}]"#,
            r#""tool_calls":[{"function":{"arguments":":1}"}}]"#,
            r#""tool_calls":[{"id":"b","function":{"name":"g"}}]"#,
        ],
        &TWO,
    )
    .await;
    check_tools(
        &[
            r#""tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\""}}]"#,
            r#""tool_calls":[{"id":"b","function":{"name":"g","arguments":""}}]"#,
            r#""tool_calls":[{"id":"a","function":{"arguments":":1}"}}]"#,
        ],
        &TWO,
    )
    .await;
    // Every index zero.
    check_tools(
        &[
            r#""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]"#,
            r#""tool_calls":[{"index":0,"id":"","function":{"arguments":":1}"}}]"#,
            r#""tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]"#,
        ],
        &TWO,
    )
    .await;
}

#[tokio::test]
async fn tool_calls_without_an_id_or_in_odd_forms_are_put_together() {
    // Neither index nor id.
    check_tools(
        &[r#""tool_calls":[{"function":{"name":"f","arguments":"{\"x\":1}"}},{"function":{"name":"g","arguments":null}}]"#],
        &MADE_UP,
    )
    .await;
    check_tools(
        &[
            r#""tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]"#,
            r#""tool_calls":[{"index":0,"function":{"name":"g","arguments":{}}}]"#,
        ],
        &MADE_UP,
    )
    .await;
    // The name again and again; arguments as an object; the older form.
    check_tools(
        &[
            r#""tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]"#,
            r#""tool_calls":[{"index":0,"function":{"name":"f","arguments":":1}"}}]"#,
        ],
        &ONE,
    )
    .await;
    check_tools(
        &[r#""tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}}}]"#],
        &ONE,
    )
    .await;
    check_tools(
        &[
            r#""function_call":{"name":"f","arguments":"{\"x\""}"#,
            r#""function_call":{"arguments":":1}"}"#,
        ],
        &MADE_UP[..1],
    )
    .await;
    let long = r#"{"n": 123456789012345678901234567890.10}"#;
    let delta =
        format!(r#""tool_calls":[{{"id":"a","function":{{"name":"f","arguments":{long}}}}}]"#);
    check_tools(&[&delta], &[("a", "f", long)]).await;
}

#[tokio::test]
async fn a_tool_call_is_whole_or_not_there() {
    let good = r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#;
    for bad in [r#""{\"x\": tru""#, r#""[1]""#, r#""7""#, r#""{} {}""#, "[1]"] {
        let delta = format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{good},{{"index":1,"id":"b","function":{{"name":"g","arguments":{bad}}}}}]}}}}]}}"#
        );
        let end = |word| {
            format!(
                r#"{{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}],"usage":{{"prompt_tokens":5,"completion_tokens":3}}}}"#
            )
        };
        let seen = hear_events(&[&delta, &end("tool_calls")]).await;
        assert_eq!(tools(&seen), [("a", "f", "{}")], "{bad}");
        assert_eq!((seen.usage, seen.finish), (Some(claimed(5, 3)), None), "{bad}");
        assert_eq!(seen.fault, Some(Cause::Malformed), "{bad}");

        let seen = hear_events(&[&delta, &end("length")]).await;
        assert_eq!(tools(&seen), [("a", "f", "{}")], "{bad}");
        assert_eq!((seen.finish, seen.fault), (Some(Finish::MaxTokens), None), "{bad}");

        let frame = format!("data: {delta}\n\n");
        let seen = hear(Answer::sse(&[&frame])).await;
        assert_eq!((seen.tool_uses.len(), seen.finish), (0, None), "broken off");
    }
}

#[tokio::test]
async fn tools_that_must_not_be_called_are_not() {
    let chunk = r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let vendor = Vendor::answering(Answer::events(&[chunk])).await;
    let mut prompt = prompt("Hello");
    prompt.tool_choice = ToolChoice::None;
    let seen = call(&at(&vendor), prompt).await.unwrap();
    assert_eq!((&*seen.text(), seen.tool_uses.len()), ("a", 0));
    assert_eq!((seen.hidden, seen.finish), (3, Some(Finish::EndTurn)));
}
