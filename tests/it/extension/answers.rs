//! What a yes, a no and silence come to.

use bursar::proto::{InputAction, LimitKind, Outcome, stream_message_response::Event};
use tonic::Code;

use super::{
    ANSWERS, ENTRIES, HOLDS, call, fields, invalid, landing, no, question, said, terms, world, yes,
};
use crate::call::world::{World, limits, money, nanos, stop_reason, text};

#[tokio::test]
async fn a_yes_lets_the_call_and_those_after_it_go_on() {
    let world = world(terms(1)).await;
    let name = world.open(limits(2, 60, 500_000_000)).await;
    for _ in 0..2 {
        world.sample(call(&name)).await.unwrap();
    }
    let asked = world.sample(call(&name)).await.unwrap();
    let limit = asked.limit.as_ref().unwrap();
    assert_eq!((limit.kind(), limit.name.as_str()), (LimitKind::Calls, name.as_str()));
    assert_eq!(asked.left.as_ref().unwrap().calls, 0);
    let asked = question(&asked);
    assert_eq!(
        (asked.reason.as_str(), asked.server.as_str()),
        ("ENVELOPE_EXTENSION", "demo-server")
    );
    assert_eq!(
        asked.message,
        "The server \"demo-server\" has used up its allowance of calls. \
         Let it go on with 10 more calls, 60 more seconds and 0.50 EUR more?"
    );
    // Nothing is held, booked or written while the person thinks.
    let rows = [HOLDS, ENTRIES, ANSWERS];
    let mut counts = Vec::new();
    for sql in rows {
        counts.push(world.number(sql).await);
    }
    assert_eq!(counts, [0, 2, 0]);
    let went_on = world.sample(yes(&call(&name), &asked)).await.unwrap();
    assert_eq!((went_on.outcome(), text(&went_on)), (Outcome::Complete, "one two"));
    assert!(went_on.warnings.is_empty() && went_on.input_required.is_none());
    assert_eq!(went_on.left.as_ref().unwrap().calls, 9);
    let shown = world.envelope(&name).await;
    let allowed = shown.limits.as_ref().unwrap();
    assert_eq!((allowed.calls, nanos(allowed.money.as_ref())), (Some(12), 1_000_000_000));
    let [given] = shown.extensions.as_slice() else { panic!("{:?}", shown.extensions) };
    assert_eq!((given.calls, given.seconds, nanos(given.money.as_ref())), (10, 60, 500_000_000));
    assert!(given.accepted && !given.given_at.is_empty());
    assert_eq!((given.asserted_by.as_str(), &given.call), ("HOST", &went_on.call));
    for _ in 0..9 {
        assert_eq!(world.sample(call(&name)).await.unwrap().outcome(), Outcome::Complete);
    }
    // The grant lets a person be asked once.
    let last = world.sample(call(&name)).await.unwrap();
    assert_eq!((last.outcome(), stop_reason(&last)), (Outcome::Exhausted, "budgetExhausted"));
    world.close().await;
}

#[tokio::test]
async fn who_cannot_be_asked_gets_the_graceful_end() {
    let world = world(terms(1)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    world.sample(call(&name)).await.unwrap();
    let mut mute = call(&name);
    mute.accepts_input_required = false;
    let reply = world.sample(mute).await.unwrap();
    assert_eq!((reply.outcome(), stop_reason(&reply)), (Outcome::Exhausted, "budgetExhausted"));
    // A grant that allows no extension never asks, whatever the host can.
    world.regrant(|it| it.extension = None).await;
    assert_eq!(world.sample(call(&name)).await.unwrap().outcome(), Outcome::Exhausted);
    world.close().await;
    // Nor does a service that has nothing to seal the question with; it says why.
    let world = World::start().await;
    world.regrant(|it| it.extension = Some(terms(1))).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    world.sample(call(&name)).await.unwrap();
    let reply = world.sample(call(&name)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    assert!(reply.warnings.iter().any(|it| it.contains("vault_key")), "{:?}", reply.warnings);
    let request = said(&call(&name), "rt1_AAAA", InputAction::Accept, "");
    invalid(world.sample(request).await, "resume_token");
    world.close().await;
}

#[tokio::test]
async fn the_question_comes_before_the_landing_and_a_no_leads_to_it() {
    for action in [InputAction::Decline, InputAction::Cancel, InputAction::Unspecified] {
        let world = world(terms(2)).await;
        let name = world.open(landing(3, 60)).await;
        let asked = world.runs_out(&name, 2).await;
        let request = said(&call(&name), &asked.resume_token, action, "");
        let landed = world.sample(request).await.unwrap();
        assert_eq!((landed.landing, landed.outcome()), (true, Outcome::Complete), "{action:?}");
        let [answer] = &*world.extensions(&name).await else { panic!("one answer") };
        assert!(!answer.accepted);
        assert_eq!((answer.calls, answer.seconds), (0, 0));
        // The token is used up: nobody changes their mind with it.
        let late = world.sample(yes(&call(&name), &asked)).await.unwrap();
        assert_eq!(late.outcome(), Outcome::Exhausted);
        assert!(late.warnings.iter().any(|it| it.contains("used before")), "{:?}", late.warnings);
        assert_eq!(world.number(ANSWERS).await, 1);
        world.close().await;
    }
}

#[tokio::test]
async fn a_yes_puts_the_landing_off() {
    let world = world(terms(1)).await;
    let name = world.open(landing(2, 60)).await;
    let asked = world.runs_out(&name, 1).await;
    let first = world.sample(yes(&call(&name), &asked)).await.unwrap();
    assert_eq!((first.landing, first.outcome()), (false, Outcome::Complete));
    let mut landings = Vec::new();
    for _ in 0..11 {
        let reply = world.sample(call(&name)).await.unwrap();
        landings.push((reply.landing, reply.outcome()));
    }
    assert_eq!(landings.last(), Some(&(false, Outcome::Exhausted)));
    assert_eq!(landings[9], (true, Outcome::Complete));
    assert!(landings[..9].iter().all(|it| *it == (false, Outcome::Complete)), "{landings:?}");
    world.close().await;
}

#[tokio::test]
async fn a_refusal_counts_so_that_nobody_is_pestered() {
    let world = world(terms(1)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let asked = world.runs_out(&name, 1).await;
    assert_eq!(world.sample(no(&call(&name), &asked)).await.unwrap().outcome(), Outcome::Exhausted);
    assert_eq!(world.sample(call(&name)).await.unwrap().outcome(), Outcome::Exhausted);
    let allowed = world.envelope(&name).await.limits.unwrap();
    assert_eq!((allowed.calls, allowed.money), (Some(1), Some(money(500_000_000))));
    world.close().await;
}

#[tokio::test]
async fn a_person_may_give_less_and_no_more_than_was_asked() {
    let world = world(terms(2)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let asked = world.runs_out(&name, 1).await;
    let with =
        |content: &str| said(&call(&name), &asked.resume_token, InputAction::Accept, content);
    let form = "input_answer.content_json";
    for (content, field) in [
        ("{", ""),
        ("[]", ""),
        ("null", ""),
        (r#"{"tokens": 1}"#, ""),
        (r#"{"calls": 11}"#, ".calls"),
        (r#"{"calls": -1}"#, ".calls"),
        (r#"{"calls": 1.5}"#, ".calls"),
        (r#"{"calls": "1"}"#, ".calls"),
        (r#"{"seconds": 61}"#, ".seconds"),
        (r#"{"money": 0.5}"#, ".money"),
        (r#"{"money": "0.500000001"}"#, ".money"),
        (r#"{"money": "-0.1"}"#, ".money"),
        (r#"{"money": "1e3"}"#, ".money"),
        (r#"{"money": ""}"#, ".money"),
    ] {
        let status = invalid(world.sample(with(content)).await, &format!("{form}{field}"));
        assert!(!status.message().contains("tokens"), "{status:?}");
    }
    assert_eq!(world.number(ANSWERS).await, 0, "a form that is refused uses no token");
    let less =
        world.sample(with(r#"{"calls": 1.0, "money": "0.01", "seconds": 0}"#)).await.unwrap();
    assert_eq!(less.outcome(), Outcome::Complete);
    let allowed = world.envelope(&name).await.limits.unwrap();
    assert_eq!((allowed.calls, nanos(allowed.money.as_ref())), (Some(2), 510_000_000));
    // A form of nothing is a no.
    let asked = question(&world.sample(call(&name)).await.unwrap());
    let nothing = r#"{"calls": 0, "seconds": 0, "money": "0"}"#;
    let request = said(&call(&name), &asked.resume_token, InputAction::Accept, nothing);
    assert_eq!(world.sample(request).await.unwrap().outcome(), Outcome::Exhausted);
    let accepted: Vec<bool> = world.extensions(&name).await.iter().map(|it| it.accepted).collect();
    assert_eq!(accepted, [true, false]);
    world.close().await;
}

#[tokio::test]
async fn a_gift_too_small_for_the_call_leads_to_the_end_and_not_to_another_question() {
    let world = world(terms(5)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let asked = world.runs_out(&name, 1).await;
    let request = said(&call(&name), &asked.resume_token, InputAction::Accept, r#"{"calls": 0}"#);
    let reply = world.sample(request).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    let allowed = world.envelope(&name).await.limits.unwrap();
    assert_eq!((allowed.calls, nanos(allowed.money.as_ref())), (Some(1), 1_000_000_000));
    world.close().await;
}

#[tokio::test]
async fn a_stream_ends_with_the_same_question() {
    let world = world(terms(1)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    world.sample(call(&name)).await.unwrap();
    let (events, ended) = world.stream(call(&name)).await;
    ended.unwrap();
    let [Event::Done(reply)] = events.as_slice() else { panic!("{events:?}") };
    let asked = question(reply);
    assert_eq!(fields(&asked)["calls"]["maximum"], 10);
    // What was asked of the stream is answered to either, since it is the same request.
    let (events, ended) = world.stream(yes(&call(&name), &asked)).await;
    ended.unwrap();
    assert!(matches!(events.first(), Some(Event::Started(_))), "{events:?}");
    let Some(Event::Done(reply)) = events.last() else { panic!("{events:?}") };
    assert_eq!((reply.outcome(), text(reply)), (Outcome::Complete, "one two"));
    world.close().await;
}

#[tokio::test]
async fn a_closed_envelope_is_not_opened_again() {
    let world = world(terms(1)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let asked = world.runs_out(&name, 1).await;
    let request = bursar::proto::CloseEnvelopeRequest { name: name.clone() };
    world.envelopes().close_envelope(world.host(request)).await.unwrap();
    let status = world.sample(yes(&call(&name), &asked)).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}");
    assert_eq!(world.number(ANSWERS).await, 0);
    world.close().await;
}
