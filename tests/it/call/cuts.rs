//! What breaks an answer off, what is delivered then, and what it costs.

use std::time::{Duration, Instant};

use bursar::proto::{BackendProfile, Cut, EntryKind, LimitKind, Outcome};
use serde_json::{Value, json};
use tonic::Code;
use tonic_types::StatusExt;

use super::{
    price::{bound_of, exact, hold, prompt_bound},
    world::{Change, World, ask, ask_in, charged, limits, meta, nanos, says, stop_reason, text},
};
use crate::support::vendor::{After, Answer, Vendor};

fn impatient(stops_on_disconnect: bool) -> BackendProfile {
    BackendProfile { idle_seconds: 1, stops_on_disconnect, ..Default::default() }
}

#[tokio::test]
async fn a_backend_that_breaks_off_leaves_what_it_said() {
    let world = World::start().await;
    world.scripted("metered", impatient(true)).await;
    let faults: [(&str, Value, Cut); 4] = [
        ("disconnect", json!({ "fault": "disconnect", "fault_after": 2 }), Cut::Backend),
        ("malformed", json!({ "fault": "malformed", "fault_after": 2 }), Cut::Backend),
        ("error_frame", json!({ "fault": "error_frame", "fault_after": 2 }), Cut::Backend),
        ("silence", json!({ "stall_after": 2 }), Cut::Idle),
    ];
    for (name, mut script, cut) in faults {
        script["text"] = json!("one two three");
        for (model, charge) in [
            ("metered", exact(bound_of(&script), "one two ".len())),
            ("scripted-small", hold(bound_of(&script), 100)),
        ] {
            if cut == Cut::Idle && model != "metered" {
                continue;
            }
            let reply = world.sample(ask(&script).hint(model)).await.unwrap();
            assert_eq!((reply.outcome(), reply.cut()), (Outcome::Partial, cut), "{name}");
            assert_eq!((text(&reply), stop_reason(&reply)), ("one two ", "interrupted"), "{name}");
            assert!(reply.charge.as_ref().unwrap().estimated, "{name}");
            assert_eq!(charged(&reply), charge, "{name} on {model}");
            let usage = reply.usage.unwrap();
            let bound = i64::try_from(bound_of(&script)).unwrap();
            let output = if model == "metered" { 8 } else { 100 };
            assert_eq!((usage.input, usage.output), (bound, output), "{name} on {model}");
            assert_eq!(meta(&reply)["outcome"], "PARTIAL");
        }
    }
    world.close().await;
}

#[tokio::test]
async fn a_backend_that_says_nothing_is_an_error_and_costs_what_it_may_bill() {
    // Each with the number of attempts that are worth while.
    let unbilled = [(400, 1), (401, 1), (402, 1), (403, 1), (404, 1), (429, 3)];
    let unbilled = unbilled.map(|(it, attempts)| (json!({ "status": it }), true, attempts));
    let billed = [
        (json!({ "status": 500 }), false, 3),
        (json!({ "status": 503 }), false, 3),
        (json!({ "status": 501 }), false, 1),
        (json!({ "fault": "disconnect" }), false, 3),
        (json!({ "fault": "error_frame" }), false, 3),
        (json!({ "fault": "malformed" }), false, 1),
    ];
    for (script, free, attempts) in unbilled.into_iter().chain(billed) {
        let world = World::start().await;
        let refused = world.sample(ask(&script)).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{script}");
        let entries = world.attempts().await;
        assert_eq!(entries.len(), attempts, "{script}");
        let left = world.calls_left(&entries[0].envelope).await;
        assert_eq!(left, if free { 20 } else { 19 }, "{script}");
        let whole = hold(bound_of(&script), 100);
        for entry in entries {
            let charge = nanos(entry.charge.as_ref());
            if free {
                assert_eq!((entry.kind(), charge), (EntryKind::Void, 0), "{script}");
            } else {
                assert_eq!((entry.kind(), charge), (EntryKind::Settle, whole), "{script}");
                assert_eq!((entry.estimated, entry.cut()), (true, Cut::Backend), "{script}");
            }
        }
        world.close().await;
    }
}

#[tokio::test]
async fn a_silent_backend_is_given_up_and_costs_what_it_has_read() {
    let world = World::start().await;
    world.scripted("metered", impatient(true)).await;
    world.regrant(|it| it.models = vec!["metered".to_owned()]).await;
    let script = json!({ "stall_after": 0 });
    let refused = world.sample(ask(&script)).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    let entry = world.entry().await;
    assert_eq!((entry.kind(), entry.cut()), (EntryKind::Settle, Cut::Idle));
    assert_eq!(nanos(entry.charge.as_ref()), exact(bound_of(&script), 0));
    world.close().await;
}

#[tokio::test]
async fn a_backend_that_asks_to_be_left_alone_is_quoted() {
    let world = World::start().await;
    let script = json!({ "status": 429, "retry_after": 7 });
    let refused = world.sample(ask(&script)).await.unwrap_err();
    let details = refused.get_error_details();
    assert_eq!(details.retry_info().unwrap().retry_delay, Some(Duration::from_secs(7)));
    assert_eq!(details.error_info().unwrap().reason, "BACKEND_FAILED");
    world.close().await;
}

#[tokio::test]
async fn a_backend_that_is_not_there_costs_nothing() {
    let world = World::start().await;
    // Bound and let go: nobody listens there.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    world.vendor(&format!("http://{gone}/v1"), BackendProfile::default()).await;
    let refused = world.sample(says("hello")).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    for entry in world.attempts().await {
        assert_eq!(entry.kind(), EntryKind::Void);
    }
    world.close().await;
}

#[tokio::test]
async fn time_ends_a_call_with_what_there_is() {
    let slow = |stall| json!({ "text": "one two three", "stall_after": stall });
    // The envelope's own seconds, the grant's time for a call, and the caller's patience.
    for whose in ["envelope", "grant", "caller"] {
        let world = World::start().await;
        for (delivered, outcome, reason) in
            [(1, Outcome::Partial, "deadline"), (0, Outcome::Exhausted, "budgetExhausted")]
        {
            let script = slow(delivered);
            let seconds = if whose == "envelope" { 1 } else { 60 };
            if whose == "grant" {
                world.regrant(|it| it.call_seconds = 1).await;
            }
            let begun = Instant::now();
            let envelope = world.open(limits(5, seconds, 100_000_000)).await;
            let mut request = world.host(ask_in(&envelope, &script));
            if whose == "caller" {
                request.set_timeout(Duration::from_millis(1_300));
            }
            let reply = world.sampling().create_message(request).await.unwrap().into_inner();
            let took = begun.elapsed();
            let expected = Duration::from_millis(950)..Duration::from_millis(2_500);
            assert!(expected.contains(&took), "{whose}: {took:?}");
            assert_eq!((reply.outcome(), reply.cut()), (outcome, Cut::Deadline), "{whose}");
            let said = if delivered == 1 { "one " } else { "" };
            assert_eq!((text(&reply), stop_reason(&reply)), (said, reason), "{whose}");
            let limit = reply.limit.as_ref().map(|it| (it.name.as_str(), it.kind()));
            let own = (envelope.as_str(), LimitKind::Seconds);
            assert_eq!(limit, (whose == "envelope").then_some(own), "{whose}");
            assert_eq!(charged(&reply), hold(bound_of(&script), 100), "{whose}");
            assert!(reply.charge.as_ref().unwrap().estimated);
        }
        world.close().await;
    }
}

#[tokio::test]
async fn an_envelope_whose_seconds_are_over_takes_no_call() {
    let world = World::start().await;
    let envelope = world.open(limits(5, 1, 100_000_000)).await;
    tokio::time::sleep(Duration::from_millis(1_050)).await;
    let reply = world.sample(ask_in(&envelope, &json!({}))).await.unwrap();
    assert_eq!((reply.outcome(), reply.cut()), (Outcome::Exhausted, Cut::Deadline));
    let limit = reply.limit.as_ref().unwrap();
    assert_eq!((limit.name.as_str(), limit.kind()), (envelope.as_str(), LimitKind::Seconds));
    assert_eq!((limit.settled.as_str(), limit.limit.as_str()), ("1", "1"));
    assert_eq!((meta(&reply)["limit"].clone(), reply.call.as_str()), (json!("SECONDS"), ""));
    assert_eq!(world.entries().await.len(), 0);
    world.close().await;
}

#[tokio::test]
async fn a_backend_that_does_not_stop_is_cut_at_the_hold() {
    let world = World::start().await;
    let script = json!({ "text": "a b c d e f g h i j", "obey_max_tokens": false });
    let reply = world.sample(ask(&script).max(4)).await.unwrap();
    assert_eq!((text(&reply), stop_reason(&reply)), ("a b c d ", "maxTokens"));
    assert_eq!(reply.outcome(), Outcome::Partial);
    // It would have gone on, and bills what it was going to say.
    assert_eq!(charged(&reply), hold(bound_of(&script), 4));
    world.close().await;
}

#[tokio::test]
async fn a_last_word_after_which_nothing_comes_does_not_hold_the_answer_up() {
    let world = World::start().await;
    let script = json!({ "text": "one two", "finish": "" });
    let reply = world.sample(ask(&script)).await.unwrap();
    // Neither a reason nor an end: it broke off.
    assert_eq!((reply.outcome(), reply.cut()), (Outcome::Partial, Cut::Backend));
    assert_eq!(text(&reply), "one two");
    world.close().await;
}

#[tokio::test]
async fn a_server_that_sends_single_letters_is_not_cut_for_it() {
    let world = World::start().await;
    let text_ = "fourscore and seven years ago";
    let script = json!({ "text": text_, "deltas": text_.len(), "obey_max_tokens": false });
    let reply = world.sample(ask(&script).max(16)).await.unwrap();
    assert_eq!((reply.outcome(), text(&reply)), (Outcome::Complete, text_));
    world.close().await;
}

#[tokio::test]
async fn a_backend_that_thinks_on_and_on_is_cut_at_the_hold() {
    let world = World::start().await;
    let thought = r#"{"choices":[{"delta":{"reasoning_content":"and then "}}]}"#;
    let thought = format!("data: {thought}\n\n");
    let vendor = Vendor::answering(Answer::sse(&[&thought]).then(After::Repeat)).await;
    world.vendor(&vendor.base_url, BackendProfile::default()).await;
    let begun = Instant::now();
    let reply = world.sample(says("hello").max(20)).await.unwrap();
    assert_eq!((reply.outcome(), reply.cut()), (Outcome::Partial, Cut::Budget));
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(vendor.is_left_alone().await, "the connection to the vendor stays open");
    assert_eq!(charged(&reply), hold(prompt_bound("hello"), 20));
    world.close().await;
}
