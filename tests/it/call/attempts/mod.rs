//! A call that fails with nothing delivered is made once more: every attempt with a hold
//! and an entry of its own, all of them one call.

mod bounds;
mod policy;
mod ways;

use bursar::proto::{
    BackendKind, BackendProfile, CreateMessageRequest, CreateMessageResponse, Entry, EntryKind,
    Outcome,
};
use serde_json::json;
use tonic::Status;

use super::{
    price::{exact, hold, prompt_bound},
    world::{World, charged, limits, nanos, says, text},
};
use crate::support::vendor::{Answer, Vendor};

/// An answer of one word, for ten tokens of prompt and two of answer.
fn fine() -> Answer {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": "there" },
        "finish_reason": "stop" }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 2,
        "total_tokens": 12 } });
    Answer::events(&[&delta.to_string(), &usage.to_string()])
}

fn status(it: u16) -> Answer {
    Answer::json(it, "{}")
}

/// A backend that does not bill for these.
fn unbilled(statuses: &[i32]) -> BackendProfile {
    BackendProfile { unbilled_statuses: statuses.to_vec(), ..Default::default() }
}

/// The hold of a request that says hello.
fn whole() -> i64 {
    hold(prompt_bound("hello"), 100)
}

fn hello_in(envelope: &str) -> CreateMessageRequest {
    CreateMessageRequest { envelope: envelope.to_owned(), ..says("hello") }
}

impl World {
    /// A world with a model `alias` on this vendor.
    async fn offer(&self, alias: &str, vendor: &Vendor) {
        let profile = BackendProfile::default();
        self.backend(alias, BackendKind::Openai, &vendor.base_url, profile).await;
    }

    /// The attempts of the only call, in order, once all are booked.
    pub(crate) async fn attempts(&self) -> Vec<Entry> {
        self.nothing_is_held().await;
        let mut entries = self.entries().await;
        entries.sort_by_key(|it| it.attempt);
        assert!(entries.iter().all(|it| it.call == entries[0].call), "all of one call");
        let numbers: Vec<i32> = entries.iter().map(|it| it.attempt).collect();
        assert_eq!(numbers, (1..).take(entries.len()).collect::<Vec<i32>>());
        entries
    }

    /// Calls that the ledger counts.
    async fn calls(&self) -> i64 {
        self.number("select coalesce(sum(calls), 0)::bigint from entries").await
    }

    pub(crate) async fn calls_left(&self, envelope: &str) -> i64 {
        self.envelope(envelope).await.left.unwrap().calls
    }
}

/// Kind and charge of each.
fn booked(entries: &[Entry]) -> Vec<(EntryKind, i64)> {
    entries.iter().map(|it| (it.kind(), nanos(it.charge.as_ref()))).collect()
}

fn reasons(reply: &CreateMessageResponse) -> String {
    reply.route.as_ref().unwrap().reasons.join("; ")
}

#[track_caller]
fn has_failed(it: Result<CreateMessageResponse, Status>) -> Status {
    let status = it.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unavailable, "{status:?}");
    status
}

#[tokio::test]
async fn a_moment_of_trouble_is_not_seen_and_paid_for_only_if_it_may_have_been_billed() {
    let free = (EntryKind::Void, 0);
    let billed = (EntryKind::Settle, whole());
    for (profile, first) in [(unbilled(&[503]), free), (unbilled(&[429]), billed)] {
        let world = World::start().await;
        let vendor = Vendor::answering_in_turn(vec![status(503), fine()]).await;
        world.vendor(&vendor.base_url, profile).await;
        let reply = world.sample(says("hello")).await.unwrap();
        assert_eq!((reply.outcome(), text(&reply)), (Outcome::Complete, "there"));
        assert_eq!(vendor.bodies().len(), 2);
        let entries = world.attempts().await;
        let last = (EntryKind::Settle, exact(10, 2));
        assert_eq!(booked(&entries), [first, last]);
        assert_eq!(entries[0].call, reply.call);
        assert_eq!((world.calls().await, reply.left.as_ref().unwrap().calls), (1, 19));
        let is_billed = first == billed;
        assert_eq!(charged(&reply), first.1 + last.1);
        assert_eq!(reply.charge.as_ref().unwrap().estimated, is_billed);
        let warned = reply.warnings.iter().any(|it| it.contains("attempt 1 on vendor failed"));
        assert_eq!(warned, is_billed, "{:?}", reply.warnings);
        assert!(reasons(&reply).contains("tried again: the backend answered with status 503"));
        let usage = reply.usage.unwrap();
        let input = if is_billed { prompt_bound("hello") + 10 } else { 10 };
        assert_eq!(usage.input, i64::try_from(input).unwrap());
        world.close().await;
    }
}

#[tokio::test]
async fn a_call_that_fails_again_and_again_is_one_call_of_three_attempts_and_says_its_cost() {
    let world = World::start().await;
    let vendor = Vendor::answering(status(503)).await;
    world.vendor(&vendor.base_url, BackendProfile::default()).await;
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let refused = has_failed(world.sample(hello_in(&envelope)).await);
    let entries = world.attempts().await;
    assert_eq!(booked(&entries), [(EntryKind::Settle, whole()); 3]);
    assert_eq!(vendor.bodies().len(), 3);
    assert_eq!((world.calls().await, world.calls_left(&envelope).await), (1, 4));
    // 0.0000... EUR, as amounts are written.
    let total = format!("{}", bursar::domain::money::Amount::from_nanos(3 * whole()));
    let message = refused.message();
    assert!(message.contains("3 attempts were made") && message.contains(&total), "{message}");
    assert!(message.contains(&entries[0].call) && message.contains("status 503"), "{message}");
    world.close().await;
}

#[tokio::test]
async fn an_envelope_of_one_call_suffices_for_all_its_attempts() {
    for profile in [unbilled(&[503]), unbilled(&[429])] {
        for landing in [false, true] {
            let world = World::start().await;
            let vendor = Vendor::answering_in_turn(vec![status(503), fine()]).await;
            world.vendor(&vendor.base_url, profile.clone()).await;
            let mut wanted = limits(1, 60, 100_000_000);
            wanted.landing =
                landing.then_some(bursar::proto::Landing { reserve: None, tokens: 20 });
            let envelope = world.open(wanted).await;
            let reply = world.sample(hello_in(&envelope)).await.unwrap();
            // Its first call is never told to conclude, whichever attempt of it.
            assert_eq!((reply.outcome(), reply.landing), (Outcome::Complete, false));
            assert_eq!((world.attempts().await.len(), world.calls().await), (2, 1));
            let next = world.sample(hello_in(&envelope)).await.unwrap();
            assert_eq!((next.outcome(), vendor.bodies().len()), (Outcome::Exhausted, 2));
            world.close().await;
        }
    }
}

#[tokio::test]
async fn the_landing_concludes_at_the_second_attempt_as_at_the_first() {
    for profile in [unbilled(&[503]), unbilled(&[429])] {
        let world = World::start().await;
        let vendor = Vendor::answering_in_turn(vec![fine(), status(503), fine()]).await;
        world.vendor(&vendor.base_url, profile).await;
        let mut wanted = limits(2, 60, 100_000_000);
        wanted.landing = Some(bursar::proto::Landing { reserve: None, tokens: 20 });
        let envelope = world.open(wanted).await;
        let first = world.sample(hello_in(&envelope)).await.unwrap();
        let landing = world.sample(hello_in(&envelope)).await.unwrap();
        assert_eq!((first.landing, landing.landing), (false, true));
        let told: Vec<bool> = vendor
            .bodies()
            .iter()
            .map(|it| String::from_utf8_lossy(it).contains("Conclude now"))
            .collect();
        assert_eq!(told, [false, true, true]);
        assert_eq!(world.calls().await, 2);
        let next = world.sample(hello_in(&envelope)).await.unwrap();
        assert_eq!(next.outcome(), Outcome::Exhausted);
        world.close().await;
    }
}

#[tokio::test]
async fn money_for_one_attempt_pays_for_one_and_the_error_says_so() {
    let world = World::start().await;
    let vendor = Vendor::answering_in_turn(vec![status(503), fine()]).await;
    world.vendor(&vendor.base_url, BackendProfile::default()).await;
    let envelope = world.open(limits(5, 60, whole())).await;
    let refused = has_failed(world.sample(hello_in(&envelope)).await);
    assert!(refused.message().contains("EUR were charged"), "{refused:?}");
    assert_eq!(booked(&world.attempts().await), [(EntryKind::Settle, whole())]);
    assert_eq!((vendor.bodies().len(), world.calls_left(&envelope).await), (1, 4));
    world.close().await;
}
