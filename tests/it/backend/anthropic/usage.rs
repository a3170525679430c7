//! The vendor's counts, in exclusive classes.

use bursar::domain::usage::ReportedUsage;
use serde_json::{Value, json};

use super::{answer, delta, end, hear_events, open, said, start};

fn counted(prompt: [Option<i64>; 3], answer: [Option<i64>; 2]) -> ReportedUsage {
    let ([input, cache_read, cache_write], [output, reasoning]) = (prompt, answer);
    ReportedUsage { input, cache_read, cache_write, output, reasoning }
}

/// The last count of an answer of four bytes with these at its beginning and end.
async fn last(first: &Value, last: &Value) -> Option<ReportedUsage> {
    let mut events = vec![start(first), said("abcd")];
    events.extend(end("end_turn", last));
    hear_events(&events).await.usage
}

#[tokio::test]
async fn cached_tokens_are_beside_the_input_and_never_in_it() {
    let first = json!({"input_tokens": 3, "cache_creation_input_tokens": 12_304,
        "cache_read_input_tokens": 0, "output_tokens": 1});
    let expected = counted([Some(3), Some(0), Some(12_304)], [Some(4), None]);
    assert_eq!(last(&first, &json!({"output_tokens": 4})).await, Some(expected));
    let lifetimes = json!({"input_tokens": 3, "cache_creation":
        {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5}});
    let expected = counted([Some(3), None, Some(9)], [Some(4), None]);
    assert_eq!(last(&lifetimes, &json!({"output_tokens": 4})).await, Some(expected));
}

#[tokio::test]
async fn the_last_count_stands_and_what_says_nothing_unsays_nothing() {
    let five = json!({"input_tokens": 5, "output_tokens": 1});
    let expected = counted([Some(5), None, None], [Some(4), None]);
    for later in [
        json!({"output_tokens": 4}),
        json!({"output_tokens": 4, "input_tokens": 0}),
        json!({"output_tokens": 4, "input_tokens": null, "cache_read_input_tokens": null}),
        json!({"output_tokens": 4.0, "input_tokens": 5}),
    ] {
        assert_eq!(last(&five, &later).await, Some(expected), "{later}");
    }
    let late = json!({"input_tokens": 5, "output_tokens": 4});
    let zero = json!({"input_tokens": 0, "output_tokens": 0});
    assert_eq!(last(&zero, &late).await, Some(expected), "some say zero first");
    // A hundred growing counts are not added up.
    let mut events = vec![start(&five)];
    for it in 1..=100 {
        events.push(said("a"));
        events.push(json!({"type": "message_delta", "usage": {"output_tokens": it}}));
    }
    events.extend(end("end_turn", &json!({"output_tokens": 0})));
    let expected = counted([Some(5), None, None], [Some(100), None]);
    assert_eq!(hear_events(&events).await.usage, Some(expected));
}

#[tokio::test]
async fn unknown_is_not_zero() {
    assert_eq!(last(&Value::Null, &Value::Null).await, None);
    assert_eq!(last(&json!({}), &json!({})).await, None);
    assert_eq!(last(&json!({"input_tokens": "many"}), &json!([])).await, None);
    let placeholder = json!({"input_tokens": 5, "output_tokens": 1});
    let expected = counted([Some(5), None, None], [None, None]);
    assert_eq!(last(&placeholder, &Value::Null).await, Some(expected), "the first is no count");
}

#[tokio::test]
async fn what_cannot_be_true_is_not_mended() {
    let usage = json!({"input_tokens": -1, "output_tokens": 1_000_000});
    let seen = hear_events(&answer(&["abcd"], "end_turn", &usage)).await;
    let expected = counted([Some(-1), None, None], [Some(1_000_000), None]);
    assert_eq!(seen.usage, Some(expected));
}

#[tokio::test]
async fn hidden_tokens_are_parted_from_visible_ones() {
    let hear = async |block: Value, usage: Value| {
        let mut events = vec![start(&json!({"input_tokens": 1})), open(0, &block)];
        events.push(delta(1, &json!({"type": "text_delta", "text": "abcd"})));
        events.extend(end("end_turn", &usage));
        let usage = hear_events(&events).await.usage.unwrap();
        (usage.output, usage.reasoning)
    };
    // A summary is shorter than the thought that is paid for.
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": ""});
    let split = hear(thought.clone(), json!({"output_tokens": 900})).await;
    assert_eq!(split, (Some(4), Some(896)));
    assert_eq!(hear(thought.clone(), json!({"output_tokens": 3})).await, (Some(3), None));
    let named = json!({"output_tokens": 900, "output_tokens_details": {"thinking_tokens": 898}});
    assert_eq!(hear(thought, named).await, (Some(2), Some(898)));
    // A call has a frame, of some tokens and no more.
    let tool = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    assert_eq!(hear(tool.clone(), json!({"output_tokens": 40})).await, (Some(5), Some(35)));
    assert_eq!(hear(tool, json!({"output_tokens": 900})).await, (Some(836), Some(64)));
}
