//! The last call of an envelope, in which a sub-agent hands back what it has.

use bursar::proto::{self, CreateMessageRequest, EnvelopeLimits, Landing, Outcome, ToolChoiceMode};
use serde_json::{Value, json};

use super::world::{Change, World, ask_in, text};

fn limits(calls: i64, nanos: i32, reserve: i32) -> EnvelopeLimits {
    let money = |nanos| Some(proto::Money { currency_code: "EUR".to_owned(), units: 0, nanos });
    EnvelopeLimits {
        calls: Some(calls),
        seconds: Some(60),
        money: money(nanos),
        tokens: None,
        landing: Some(Landing { reserve: money(reserve), tokens: 20 }),
        concurrent_calls: None,
    }
}

fn script() -> Value {
    json!({ "text": "as far as it has come", "usage": { "input": 10, "output": 6 } })
}

fn told_of_landing(meta_json: &str) -> Value {
    let meta: Value = serde_json::from_str(meta_json).unwrap();
    meta["dev.bursar/budget"]["landing"].clone()
}

#[tokio::test]
async fn the_nth_call_is_told_to_conclude_and_the_next_finds_nothing() {
    let world = World::start().await;
    let name = world.open(limits(3, 500_000_000, 1_000_000)).await;
    let mut landed = Vec::new();
    for _ in 0..4 {
        let reply = world.sample(ask_in(&name, &script())).await.unwrap();
        let result = reply.result.as_ref().unwrap();
        landed.push((reply.landing, told_of_landing(&result.meta_json), reply.outcome()));
    }
    let no = (false, Value::Null, Outcome::Complete);
    let last = (true, json!(true), Outcome::Complete);
    assert_eq!(landed, [no.clone(), no, last, (false, Value::Null, Outcome::Exhausted)]);
    world.close().await;
}

#[tokio::test]
async fn money_that_is_kept_pays_for_the_landing_alone() {
    let world = World::start().await;
    // Room for about two calls of this size, the second out of the reserve.
    let name = world.open(limits(100, 200_000, 90_000)).await;
    let mut said = Vec::new();
    for _ in 0..200 {
        let reply = world.sample(ask_in(&name, &script())).await.unwrap();
        said.push((reply.landing, reply.outcome()));
        if reply.landing {
            assert_eq!(text(&reply), "as far as it has come");
            break;
        }
    }
    assert_eq!(said.first(), Some(&(false, Outcome::Complete)), "the first is an ordinary call");
    assert_eq!(said.last().map(|it| it.0), Some(true), "it landed: {said:?}");
    assert!(said.len() > 2 && said.len() < 100);
    world.close().await;
}

#[tokio::test]
async fn an_envelope_of_one_call_has_nothing_to_conclude() {
    let world = World::start().await;
    let name = world.open(limits(1, 500_000_000, 400_000_000)).await;
    let reply = world.sample(ask_in(&name, &script())).await.unwrap();
    assert_eq!((reply.landing, reply.outcome()), (false, Outcome::Complete));
    world.close().await;
}

#[tokio::test]
async fn a_landing_calls_no_tool_and_is_not_made_where_one_is_required() {
    let world = World::start().await;
    let with_tool = |request: CreateMessageRequest| request.tool("look");
    let calls = json!({ "text": "so far", "tool_calls": [{ "name": "look", "input": {} }] });
    let name = world.open(limits(2, 500_000_000, 0)).await;
    let first = world.sample(with_tool(ask_in(&name, &calls))).await.unwrap();
    assert_eq!(first.result.unwrap().stop_reason, "toolUse");
    let required = with_tool(ask_in(&name, &calls)).params(|it| {
        it.tool_choice = Some(proto::ToolChoice { mode: ToolChoiceMode::Required.into() });
    });
    let refused = world.sample(required).await.unwrap();
    assert_eq!((refused.landing, refused.outcome()), (false, Outcome::Exhausted));
    let landing = world.sample(with_tool(ask_in(&name, &calls))).await.unwrap();
    assert!(landing.landing);
    let result = landing.result.unwrap();
    assert_eq!((result.content.len(), result.stop_reason.as_str()), (1, "endTurn"));
    world.close().await;
}
