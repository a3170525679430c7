//! What may be asked for: money and time as well, never more than those around have, and
//! never where something else is short.

use std::time::Duration;

use bursar::{
    admin::demo,
    proto::{self, GrantExtension, InputAction, LimitKind, OpenEnvelopeRequest, Outcome},
};
use serde_json::{Value, json};

use super::{ANSWERS, call, fields, landing, no, question, said, terms, world, yes};
use crate::call::world::{Change, World, charged, limits, money, nanos};

async fn inside(world: &World, parent: &str, limits: proto::EnvelopeLimits) -> String {
    let request = OpenEnvelopeRequest {
        user: demo::USER.to_owned(),
        server: demo::SERVER.to_owned(),
        limits: Some(limits),
        request_id: String::new(),
        parent: parent.to_owned(),
    };
    world.envelopes().open_envelope(world.host(request)).await.unwrap().into_inner().name
}

#[tokio::test]
async fn money_that_has_run_out_is_asked_for() {
    let world = world(GrantExtension { money: Some(money(1_000_000)), ..Default::default() }).await;
    // Not even the prompt is affordable.
    let name = world.open(limits(10, 60, 100)).await;
    let reply = world.sample(call(&name)).await.unwrap();
    assert_eq!(reply.limit.as_ref().unwrap().kind(), LimitKind::Money);
    let asked = question(&reply);
    assert_eq!(
        asked.message,
        "The server \"demo-server\" has used up its allowance of money. \
         Let it go on with 0.001 EUR more?"
    );
    let form = fields(&asked);
    assert_eq!(form.as_object().unwrap().len(), 1, "only what is on offer: {form}");
    assert_eq!(form["money"]["default"], "0.001");
    let reply = world.sample(yes(&call(&name), &asked)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    assert!(charged(&reply) <= 1_000_100);
    assert_eq!(nanos(world.envelope(&name).await.limits.unwrap().money.as_ref()), 1_000_100);
    world.close().await;
}

#[tokio::test]
async fn time_that_has_run_out_is_asked_for_and_begins_with_the_answer() {
    let world = world(terms(2)).await;
    let name = world.open(limits(10, 1, 500_000_000)).await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let reply = world.sample(call(&name)).await.unwrap();
    assert_eq!(reply.limit.as_ref().unwrap().kind(), LimitKind::Seconds);
    let asked = question(&reply);
    // Without seconds the time stays over, however much else is given.
    let none = said(&call(&name), &asked.resume_token, InputAction::Accept, r#"{"seconds": 0}"#);
    assert_eq!(world.sample(none).await.unwrap().outcome(), Outcome::Exhausted);
    let asked = question(&world.sample(call(&name)).await.unwrap());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let reply = world.sample(yes(&call(&name), &asked)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    let left = reply.left.unwrap().seconds;
    assert!((58..=61).contains(&left), "sixty seconds from the answer on: {left}");
    let waited: Vec<i64> =
        world.extensions(&name).await.iter().map(|it| it.waited_seconds).collect();
    assert!(waited[0] == 0 && (2..=5).contains(&waited[1]), "{waited:?}");
    world.close().await;
}

#[tokio::test]
async fn the_envelopes_time_stands_still_while_a_person_thinks() {
    let world = world(GrantExtension { calls: 1, ..terms(1) }).await;
    let name = world.open(landing(2, 2)).await;
    let asked = world.runs_out(&name, 1).await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    // Its two seconds are over by now, but for the wait.
    let landed = world.sample(no(&call(&name), &asked)).await.unwrap();
    assert_eq!((landed.landing, landed.outcome()), (true, Outcome::Complete), "{landed:?}");
    assert!(landed.left.unwrap().seconds <= 2);
    world.close().await;
}

#[tokio::test]
async fn without_seconds_on_offer_nobody_is_asked_about_time() {
    let world = world(GrantExtension { seconds: 0, ..terms(1) }).await;
    let name = world.open(limits(10, 1, 500_000_000)).await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let reply = world.sample(call(&name)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    world.close().await;
}

#[tokio::test]
async fn a_nested_envelope_is_asked_for_only_what_its_parent_has_left() {
    let world = world(terms(3)).await;
    let outer = world.open(limits(6, 60, 500_000_000)).await;
    let inner = inside(&world, &outer, limits(2, 50, 100_000_000)).await;
    let asked = world.runs_out(&inner, 2).await;
    let form = fields(&asked);
    assert_eq!(form["calls"]["maximum"], 4, "six less two");
    let seconds = form["seconds"]["maximum"].as_i64().unwrap();
    assert!((5..=10).contains(&seconds), "ends with its parent: {seconds}");
    // The parent uses up most of that while the person thinks.
    for _ in 0..3 {
        world.sample(call(&outer)).await.unwrap();
    }
    let reply = world.sample(yes(&call(&inner), &asked)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    assert_eq!(world.envelope(&inner).await.limits.unwrap().calls, Some(3), "one was left");
    // Now the parent is short, and nobody is asked about the child on its account.
    let reply = world.sample(call(&inner)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    // The parent itself may be extended, in its own name.
    let asked = question(&world.sample(call(&outer)).await.unwrap());
    assert_eq!(
        world.sample(yes(&call(&outer), &asked)).await.unwrap().outcome(),
        Outcome::Complete
    );
    let asked = question(&world.sample(call(&inner)).await.unwrap());
    assert_eq!(fields(&asked)["calls"]["maximum"], 9);
    world.close().await;
}

#[tokio::test]
async fn a_budget_that_is_short_is_no_question_for_a_user() {
    let world = world(terms(1)).await;
    let name = world.open(limits(2, 60, 500_000_000)).await;
    let budget =
        proto::Budget { period: proto::Period::Day.into(), calls: Some(2), ..Default::default() };
    world.budget(budget).await.unwrap();
    for _ in 0..2 {
        world.sample(call(&name)).await.unwrap();
    }
    // Both are short; more in the envelope would help nobody.
    let reply = world.sample(call(&name)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    // Only the budget is short.
    let name = world.open(limits(2, 60, 500_000_000)).await;
    let reply = world.sample(call(&name)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    assert!(reply.limit.unwrap().name.contains("budgets/"));
    world.close().await;
}

#[tokio::test]
async fn tokens_and_calls_at_once_are_not_for_a_person_to_give() {
    let world = world(terms(1)).await;
    let mut few = limits(10, 60, 500_000_000);
    few.tokens = Some(5);
    let name = world.open(few).await;
    assert_eq!(world.sample(call(&name)).await.unwrap().outcome(), Outcome::Exhausted);
    world.close().await;
}

#[tokio::test]
async fn the_largest_and_the_smallest_terms_are_kept_exactly() {
    let world = world(GrantExtension { calls: 1, seconds: 0, money: None, times: 100 }).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    world.sample(call(&name)).await.unwrap();
    for given in 1..=4 {
        let asked = question(&world.sample(call(&name)).await.unwrap());
        assert_eq!(fields(&asked).as_object().unwrap().keys().collect::<Vec<_>>(), ["calls"]);
        let reply = world.sample(yes(&call(&name), &asked)).await.unwrap();
        assert_eq!(reply.outcome(), Outcome::Complete);
        assert_eq!(world.number(ANSWERS).await, given);
    }
    assert_eq!(world.envelope(&name).await.limits.unwrap().calls, Some(5));
    world.close().await;
}

#[tokio::test]
async fn what_would_be_asked_can_be_explained_without_asking() {
    let world = world(terms(1)).await;
    let name = world.open(landing(2, 60)).await;
    world.sample(call(&name)).await.unwrap();
    let explain = |request| proto::ExplainRouteRequest { request: Some(request) };
    let told = world.sampling().explain_route(world.host(explain(call(&name)))).await.unwrap();
    let told = told.into_inner();
    assert_eq!((told.outcome(), told.landing), (Outcome::InputRequired, false));
    assert!(told.candidates.iter().all(|it| !it.chosen));
    let mut mute = call(&name);
    mute.accepts_input_required = false;
    let told = world.sampling().explain_route(world.host(explain(mute))).await.unwrap();
    assert!(told.into_inner().landing);
    assert_eq!(world.number(ANSWERS).await, 0);
    world.close().await;
}

#[tokio::test]
async fn a_tool_that_is_required_is_asked_for_as_well() {
    let world = world(terms(1)).await;
    let name = world.open(landing(2, 60)).await;
    world.sample(call(&name)).await.unwrap();
    let script: Value = json!({ "text": "so", "tool_calls": [{ "name": "look", "input": {} }] });
    let request = crate::call::world::ask_in(&name, &script).tool("look");
    let mut request = request.choice(proto::ToolChoiceMode::Required);
    request.accepts_input_required = true;
    let asked = question(&world.sample(request.clone()).await.unwrap());
    let reply = world.sample(yes(&request, &asked)).await.unwrap();
    assert_eq!(reply.result.unwrap().stop_reason, "toolUse");
    world.close().await;
}
