//! Calls of every kind: each statement on their path runs several times.

use std::time::Duration;

use bursar::{
    admin::demo,
    proto::{
        self, CreateMessageRequest, OpenEnvelopeRequest, Outcome, ReserveRequest, SettleRequest,
        VoidRequest,
    },
};
use serde_json::json;

use super::OURS;
use crate::call::world::{World, ask, ask_in, limits, money};
use crate::openai::{Server, chat};

/// More often than once, and seldom enough for the demonstration's envelope.
const TIMES: usize = 4;

pub(super) async fn drive(world: &World, when: &str) {
    for n in 0..TIMES {
        sample(world, when, n).await;
        slow(world, when, n).await;
        envelopes(world).await;
        reserve(world).await;
        tokens(world).await;
        extension(world).await;
    }
    late(world).await;
}

/// One for everybody and one for the user, so that calls have several limits; and consent
/// to an extension.
pub(super) async fn budgets(world: &World, when: &str) {
    let consent = format!(
        "{OURS} with given as (
            update grants set extend_calls = 1, extend_seconds = 0, extend_money = 0, extend_times = 100
            returning 1
         ) select count(*) from given"
    );
    assert!(world.number(&consent).await > 0);
    for user in ["", demo::USER] {
        let budget = proto::Budget {
            display_name: format!("{when} {user}"),
            user: user.to_owned(),
            period: proto::Period::Month.into(),
            calls: Some(1_000_000),
            ..Default::default()
        };
        world.budget(budget).await.unwrap();
    }
}

/// An implicit envelope; the same with an id, repeated, and once more when nobody knows.
async fn sample(world: &World, when: &str, n: usize) {
    let first = CreateMessageRequest {
        conversation: format!("{when} {n}"),
        ..ask(&json!({ "text": "one" }))
    };
    for _ in 0..2 {
        world.sample(first.clone()).await.unwrap();
    }
    let named = CreateMessageRequest {
        request_id: format!("{when} {n}"),
        root: format!("file:///{when}/{n}"),
        ..ask(&json!({ "text": "two" }))
    };
    world.sample(named.clone()).await.unwrap();
    // What is answered now is for other tests: a slow machine may still be writing.
    let _ = world.sample(named.clone()).await;
    // As if the process had died: what the books know of the call is looked up.
    let died = format!(
        "{OURS} with died as (
            update requests set ended = null, reply = null, expires_at = now() - interval '1 second'
            returning 1
         ) select count(*) from died"
    );
    assert!(world.number(&died).await > 0);
    let _ = world.sample(named).await;
}

/// Runs until it is looked up whether somebody has stopped it.
async fn slow(world: &World, when: &str, n: usize) {
    let request = CreateMessageRequest {
        conversation: format!("slow {when} {n}"),
        ..ask(&json!({ "text": "one", "first_delay_ms": 700 }))
    };
    assert_eq!(world.sample(request).await.unwrap().outcome(), Outcome::Complete);
}

/// Named, nested and used up.
async fn envelopes(world: &World) {
    let outer = world.open(limits(2, 60, 10_000_000)).await;
    let request = OpenEnvelopeRequest {
        parent: outer,
        user: demo::USER.to_owned(),
        server: demo::SERVER.to_owned(),
        limits: Some(limits(1, 30, 5_000_000)),
        ..Default::default()
    };
    let inner = world.envelopes().open_envelope(world.host(request)).await.unwrap().into_inner();
    let answer = |envelope: &str| world.sample(ask_in(envelope, &json!({ "text": "three" })));
    assert_eq!(answer(&inner.name).await.unwrap().outcome(), Outcome::Complete);
    assert_eq!(answer(&inner.name).await.unwrap().outcome(), Outcome::Exhausted);
}

/// An envelope that has run out, inside another one, and a person who lets it go on.
async fn extension(world: &World) {
    let request = OpenEnvelopeRequest {
        parent: world.open(limits(9, 60, 10_000_000)).await,
        user: demo::USER.to_owned(),
        server: demo::SERVER.to_owned(),
        limits: Some(limits(1, 30, 5_000_000)),
        ..Default::default()
    };
    let inner = world.envelopes().open_envelope(world.host(request)).await.unwrap().into_inner();
    let script = json!({ "text": "four" });
    let mut request =
        CreateMessageRequest { accepts_input_required: true, ..ask_in(&inner.name, &script) };
    world.sample(request.clone()).await.unwrap();
    let asked = world.sample(request.clone()).await.unwrap().input_required.unwrap();
    request.resume_token = asked.resume_token;
    request.input_answer = Some(proto::InputAnswer {
        action: proto::InputAction::Accept.into(),
        content_json: String::new(),
    });
    assert_eq!(world.sample(request).await.unwrap().outcome(), Outcome::Complete);
}

fn reservation(envelope: &str, seconds: i64) -> ReserveRequest {
    ReserveRequest {
        user: demo::USER.to_owned(),
        server: demo::SERVER.to_owned(),
        envelope: envelope.to_owned(),
        money: Some(money(1_000)),
        seconds,
        ..Default::default()
    }
}

async fn reserve(world: &World) {
    let envelope = world.open(limits(2, 60, 10_000_000)).await;
    let mut doors = world.envelopes();
    for is_used in [true, false] {
        let held =
            doors.reserve(world.host(reservation(&envelope, 30))).await.unwrap().into_inner();
        if is_used {
            let request =
                SettleRequest { hold: held.hold, money: Some(money(500)), ..Default::default() };
            // Repeated: what was booked is looked up.
            for _ in 0..2 {
                doors.settle(world.host(request.clone())).await.unwrap();
            }
        } else {
            let request = VoidRequest { hold: held.hold };
            doors.void(world.host(request)).await.unwrap();
        }
    }
}

/// By a key that is an envelope, plain and with an envelope of its own.
async fn tokens(world: &World) {
    let envelope = world.open(limits(3, 60, 10_000_000)).await;
    for concurrent_calls in [None, Some(1)] {
        let request = proto::MintTokenRequest {
            envelope: envelope.clone(),
            concurrent_calls,
            ..Default::default()
        };
        let token = world.try_mint(request).await.unwrap();
        Server::new(world, &token.key).ask(&chat("four")).await.answer();
    }
}

/// A hold that expires, and the truth that comes after.
async fn late(world: &World) {
    let envelope = world.open(limits(2, 60, 10_000_000)).await;
    let mut doors = world.envelopes();
    let held = doors.reserve(world.host(reservation(&envelope, 1))).await.unwrap().into_inner();
    let expired =
        format!("{OURS} select count(*) from holds where expires_at < now() + interval '1 day'");
    for _ in 0..500 {
        if world.number(&expired).await == 0 {
            let request =
                SettleRequest { hold: held.hold, money: Some(money(400)), ..Default::default() };
            doors.settle(world.host(request)).await.unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the hold never expired");
}
