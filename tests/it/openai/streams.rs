//! Answers as they come.

use std::time::Duration;

use bursar::proto::{Cut, EntryKind};
use serde_json::{Value, json};

use super::{said, scripted, weather, with};
use crate::call::world::{World, limits};

fn streamed(script: &Value) -> Value {
    with(scripted(script), &json!({ "stream": true }))
}

#[tokio::test]
async fn a_stream_has_who_speaks_the_words_and_how_it_ended() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    let usage = json!({ "stream_options": { "include_usage": true } });
    let script = json!({ "text": "one two three", "usage": { "input": 9, "output": 3 } });
    let events = server.ask(&with(streamed(&script), &usage)).await.events();
    assert_eq!(said(&events), "one two three");
    let first = &events[0];
    assert_eq!(first["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    for event in &events {
        assert_eq!(event["object"], "chat.completion.chunk");
        assert_eq!(event["id"], first["id"]);
        assert_eq!(event["model"], "scripted-small");
    }
    let [ended, last] = &events[events.len() - 2..] else { panic!("too few: {events:?}") };
    assert_eq!(ended["choices"][0]["finish_reason"], "stop");
    assert_eq!((&ended["usage"], &last["choices"]), (&Value::Null, &json!([])));
    assert_eq!(
        last["usage"],
        json!({ "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12 })
    );
    // Not asked for, it is not there.
    let events = server.ask(&streamed(&script)).await.events();
    assert!(events.iter().all(|it| it.get("usage").is_none()));
    world.close().await;
}

#[tokio::test]
async fn tool_calls_come_whole_each_with_its_index() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    let calls = json!([
        { "name": "weather", "input": { "place": "Rome" } },
        { "name": "weather", "input": { "place": "Oslo" } },
    ]);
    for text in ["", "Let me see."] {
        let script = json!({ "text": text, "tool_calls": calls });
        let body = with(streamed(&script), &json!({ "tools": weather() }));
        let events = server.ask(&body).await.events();
        assert_eq!(said(&events), text);
        let called: Vec<&Value> = events
            .iter()
            .filter_map(|it| it["choices"][0]["delta"]["tool_calls"].as_array())
            .flatten()
            .collect();
        assert_eq!(called.len(), 2, "{events:?}");
        assert_eq!((&called[0]["index"], &called[1]["index"]), (&json!(0), &json!(1)));
        assert_ne!(called[0]["id"], called[1]["id"]);
        let last = events.last().unwrap();
        assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    }
    world.close().await;
}

#[tokio::test]
async fn what_cannot_begin_is_an_error_and_no_stream() {
    let world = World::start().await;
    let server = world.served(limits(1, 60, 100_000_000)).await;
    let failed = server.ask(&streamed(&json!({ "status": 503 }))).await;
    assert_eq!(failed.error(503)["code"], "backend_failed");
    assert_eq!(failed.header("x-should-retry"), "false");
    let exhausted = server.ask(&streamed(&json!({ "text": "hi" }))).await;
    assert_eq!(exhausted.error(402)["code"], "budget_exhausted");
    assert_eq!(exhausted.header("content-type"), "application/json");
    world.close().await;
}

#[tokio::test]
async fn a_model_that_breaks_off_leaves_what_it_said() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    let script = json!({ "text": "one two three", "fault": "disconnect", "fault_after": 2 });
    let events = server.ask(&streamed(&script)).await.events();
    assert!("one two three".starts_with(&said(&events)) && !said(&events).is_empty());
    assert_eq!(events.last().unwrap()["choices"][0]["finish_reason"], "length");
    world.close().await;
}

#[tokio::test]
async fn a_reader_that_goes_away_cuts_the_answer() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    for stream in [true, false] {
        let script = json!({ "text": "one two three", "stall_after": 1 });
        let body = with(scripted(&script), &json!({ "stream": stream }));
        let asked = server.post(&body);
        let call = tokio::spawn(async move {
            let mut response = asked.send().await.unwrap();
            while response.chunk().await.unwrap().is_some() {}
        });
        for _ in 0..500 {
            if world.number("select count(*) from holds").await == 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        call.abort();
        world.nothing_is_held().await;
        let entry = world.entries().await.remove(0);
        assert_eq!((entry.kind(), entry.cut()), (EntryKind::Settle, Cut::ClientGone), "{stream}");
    }
    assert_eq!(world.entries().await.len(), 2);
    world.close().await;
}
