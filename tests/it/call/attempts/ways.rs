//! Where a call goes that failed: to another model or backend, or nowhere.

use bursar::proto::{
    self, BackendKind, BackendProfile, Cut, EntryKind, Outcome, stream_message_response::Event,
};
use serde_json::json;

use super::{
    super::{
        price::{exact, hold, prompt_bound},
        world::{Change, World, charged, nanos, says, stop_reason, text},
    },
    booked, fine, has_failed, reasons, status, whole,
};
use crate::support::vendor::{After, Answer, Vendor};

/// A backend where nobody listens any more.
fn dead() -> String {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    format!("http://{gone}/v1")
}

impl World {
    /// Another model on a backend that is there, so many times as dear as usual.
    async fn model(&self, alias: &str, backend: &str, times: u32) {
        let price = |cents: u32| {
            let cents = cents * times;
            format!("{}.{:02}", cents / 100, cents % 100)
        };
        let model = proto::Model {
            alias: alias.to_owned(),
            backend: backend.to_owned(),
            vendor_model: format!("{alias}-secret-name"),
            context_tokens: 128_000,
            max_output_tokens: 8_192,
            tools: true,
            intelligence: 10,
            speed: 10,
            price: Some(proto::Price { input: price(15), output: price(60), ..Default::default() }),
            ..Default::default()
        };
        let request = proto::CreateModelRequest { model: Some(model) };
        self.admin().create_model(self.operator(request)).await.unwrap();
    }
}

#[tokio::test]
async fn a_dead_backend_is_stood_in_for_by_another_at_once() {
    let world = World::start().await;
    let vendor = Vendor::answering(fine()).await;
    world.backend("a", BackendKind::Openai, &dead(), BackendProfile::default()).await;
    world.offer("b", &vendor).await;
    let (events, end) = world.stream(says("hello")).await;
    end.unwrap();
    let [Event::Started(first), Event::Started(second), Event::Text(_), Event::Done(reply)] =
        events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!((&first.call, &reply.call), (&second.call, &second.call));
    assert_eq!((reply.outcome(), text(reply)), (Outcome::Complete, "there"));
    assert_eq!(reply.route.as_ref().unwrap().alias, "b");
    let why = "fallback from a on a-backend: the backend cannot be reached";
    assert!(reasons(reply).contains(why), "{}", reasons(reply));
    // Nothing was paid for nothing, so there is nothing to warn of.
    assert_eq!(reply.warnings, Vec::<String>::new());
    assert_eq!((charged(reply), reply.charge.as_ref().unwrap().estimated), (exact(10, 2), false));
    let entries = world.attempts().await;
    assert_eq!(booked(&entries), [(EntryKind::Void, 0), (EntryKind::Settle, exact(10, 2))]);
    let backends: Vec<_> = entries.iter().map(|it| it.backend.clone()).collect();
    assert_ne!(backends[0], backends[1]);
    assert_eq!(world.calls().await, 1);
    world.close().await;
}

#[tokio::test]
async fn a_call_falls_back_twice_and_each_attempt_is_priced_as_its_own_model() {
    let world = World::start().await;
    let busy = Vendor::answering(status(503)).await;
    let broken = Vendor::answering(Answer::sse(&[": wait\n\n"]).then(After::Break)).await;
    let well = Vendor::answering(fine()).await;
    world.offer("a", &busy).await;
    world.offer("b", &broken).await;
    world.offer("c", &well).await;
    world.model("gold", "a-backend", 4).await;
    world.model("silver", "b-backend", 2).await;
    let request = says("hello").params(|it| {
        let hints = ["gold", "silver", "c"].map(|it| proto::ModelHint { name: it.to_owned() });
        it.model_preferences =
            Some(proto::ModelPreferences { hints: hints.into(), ..Default::default() });
    });
    let reply = world.sample(request).await.unwrap();
    assert_eq!(reply.route.as_ref().unwrap().alias, "c", "{}", reasons(&reply));
    let entries = world.attempts().await;
    let bound = prompt_bound("hello");
    let charges = [hold(4 * bound, 400), hold(2 * bound, 200), exact(10, 2)]
        .map(|it| (EntryKind::Settle, it));
    assert_eq!(booked(&entries), charges);
    assert_eq!(charged(&reply), charges.iter().map(|it| it.1).sum::<i64>());
    assert_eq!((world.calls().await, reply.left.as_ref().unwrap().calls), (1, 19));
    let why = reasons(&reply);
    assert!(why.contains("fallback from gold on a-backend: the backend answered"), "{why}");
    assert!(why.contains("fallback from silver on b-backend: the backend closed"), "{why}");
    let spent: i64 =
        world.number("select settled from limits where kind = 'money' and settled > 0").await;
    assert_eq!(spent, charged(&reply));
    world.close().await;
}

#[tokio::test]
async fn a_backend_that_is_out_of_order_is_not_asked_again_for_another_model() {
    // The vendor's answer, and whether another model of it may be asked.
    let no_quota = json!({ "error": { "code": "insufficient_quota" } }).to_string();
    let cases = [
        (status(401), false),
        (status(403), false),
        (Answer::json(429, &no_quota), false),
        (Answer::sse(&["data: {\"nonsense\n\n"]), false),
        (status(400), true),
        (status(404), true),
        (status(500), true),
    ];
    for (at, (answer, may_be_asked)) in cases.into_iter().enumerate() {
        let world = World::start().await;
        let vendor = Vendor::answering_in_turn(vec![answer, fine()]).await;
        world.offer("a", &vendor).await;
        world.model("also", "a-backend", 1).await;
        let asked = world.sample(says("hello").hint("also")).await;
        assert_eq!(asked.is_ok(), may_be_asked, "case {at}: {asked:?}");
        assert_eq!(vendor.bodies().len(), if may_be_asked { 2 } else { 1 }, "case {at}");
        if let Ok(reply) = asked {
            assert_eq!(reply.route.as_ref().unwrap().alias, "a", "case {at}");
        }
        // With another backend that is well the call succeeds, whatever it was.
        let (sick, well) = (Vendor::answering(status(401)).await, Vendor::answering(fine()).await);
        world.offer("sick", &sick).await;
        world.offer("well", &well).await;
        let reply = world.sample(says("hello").hint("sick")).await.unwrap();
        assert_eq!(text(&reply), "there");
        assert_eq!(sick.bodies().len(), 1);
        world.nothing_is_held().await;
        world.close().await;
    }
}

#[tokio::test]
async fn neither_a_dearer_model_nor_a_scripted_one_stands_in() {
    let world = World::start().await;
    let vendor = Vendor::answering(status(401)).await;
    let dear = Vendor::answering(fine()).await;
    world.offer("a", &vendor).await;
    world.offer("b", &dear).await;
    world.model("dear", "b-backend", 2).await;
    let allowed = ["a", "dear", "scripted-small", "scripted-large"].map(str::to_owned);
    world.regrant(|it| it.models = allowed.into()).await;
    has_failed(world.sample(says("hello")).await);
    assert_eq!((vendor.bodies().len(), dear.bodies().len()), (1, 0));
    assert_eq!(world.attempts().await.len(), 1);
    // Nor is money spent on a real one where a scripted one was asked for.
    let script = super::super::world::ask(&json!({ "status": 401 }));
    has_failed(world.sample(script.hint("scripted")).await);
    assert_eq!((vendor.bodies().len(), dear.bodies().len()), (1, 0));
    world.close().await;
}

#[tokio::test]
async fn a_filter_is_not_got_round_by_asking_elsewhere() {
    let world = World::start().await;
    let refusal = json!({ "error": { "code": "content_filter" } }).to_string();
    let strict = Vendor::answering(Answer::json(400, &refusal)).await;
    let lax = Vendor::answering(fine()).await;
    world.offer("a", &strict).await;
    world.offer("b", &lax).await;
    let reply = world.sample(says("hello")).await.unwrap();
    assert_eq!((reply.outcome(), stop_reason(&reply)), (Outcome::Complete, "refusal"));
    assert_eq!((strict.bodies().len(), lax.bodies().len()), (1, 0));
    assert_eq!(world.attempts().await.len(), 1);
    world.close().await;
}

#[tokio::test]
async fn what_was_delivered_once_is_never_asked_for_again() {
    let delta = |delta: serde_json::Value| {
        format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }))
    };
    let begun = delta(json!({ "content": "the" }));
    let error = format!("data: {}\n\n", json!({ "error": { "message": "overloaded" } }));
    let broken = [
        Answer::sse(&[&begun]).then(After::Break),
        Answer::sse(&[&begun, &error]),
        Answer::sse(&[&begun]),
    ];
    for (at, answer) in broken.into_iter().enumerate() {
        // Shown already, or withheld because a stop text may have begun.
        for stop in [None, Some("then")] {
            let world = World::start().await;
            let vendor = Vendor::answering_in_turn(vec![answer.clone(), fine()]).await;
            let other = Vendor::answering(fine()).await;
            world.offer("a", &vendor).await;
            world.offer("b", &other).await;
            let request =
                says("hello").params(|it| it.stop_sequences.extend(stop.map(str::to_owned)));
            let reply = world.sample(request).await.unwrap();
            assert_eq!((reply.outcome(), reply.cut()), (Outcome::Partial, Cut::Backend), "{at}");
            assert_eq!((text(&reply), charged(&reply)), ("the", whole()), "{at}");
            assert_eq!((vendor.bodies().len(), other.bodies().len()), (1, 0), "{at}");
            let entry = world.entry().await;
            assert_eq!((entry.attempt, nanos(entry.charge.as_ref())), (1, whole()), "{at}");
            world.close().await;
        }
    }
}
