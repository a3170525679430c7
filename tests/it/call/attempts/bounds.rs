//! What ends the trying: time, whoever asks, an envelope that is closed; and that a
//! repeated request is not tried again.

use std::time::{Duration, Instant};

use bursar::proto::{
    self, BackendProfile, CloseEnvelopeRequest, CreateMessageRequest, Cut, EntryKind, Outcome,
    StreamMessageRequest,
};
use serde_json::json;
use tonic_types::StatusExt;

use super::{
    super::{
        price::{bound_of, hold},
        world::{Change, World, ask_in, charged, limits, says, text},
    },
    booked, fine, has_failed, hello_in, status, unbilled, whole,
};
use crate::support::vendor::{Answer, Vendor};

fn busy(seconds: &str) -> Answer {
    status(429).header("retry-after", seconds)
}

#[tokio::test]
async fn a_short_wish_to_be_left_alone_is_respected_and_a_long_one_ends_the_call() {
    let world = World::start().await;
    let vendor = Vendor::answering_in_turn(vec![busy("1"), fine(), busy("30"), fine()]).await;
    world.vendor(&vendor.base_url, BackendProfile::default()).await;
    let begun = Instant::now();
    let reply = world.sample(says("hello")).await.unwrap();
    assert_eq!(text(&reply), "there");
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    let begun = Instant::now();
    let refused = has_failed(world.sample(says("hello")).await);
    assert!(begun.elapsed() < Duration::from_secs(1));
    let asked = refused.get_details_retry_info().unwrap().retry_delay;
    assert_eq!(asked, Some(Duration::from_secs(30)));
    assert!(refused.message().contains("nothing was charged"), "{refused:?}");
    assert_eq!(vendor.bodies().len(), 3);
    // Where there is another backend nobody waits.
    let busy_one = Vendor::answering(busy("3")).await;
    let well = Vendor::answering(fine()).await;
    world.offer("busy", &busy_one).await;
    world.offer("well", &well).await;
    let begun = Instant::now();
    let request = says("hello").params(|it| {
        let hints = ["busy", "well"].map(|it| proto::ModelHint { name: it.to_owned() });
        it.model_preferences =
            Some(proto::ModelPreferences { hints: hints.into(), ..Default::default() });
    });
    assert_eq!(world.sample(request).await.unwrap().route.unwrap().alias, "well");
    assert!(begun.elapsed() < Duration::from_secs(1));
    world.nothing_is_held().await;
    world.close().await;
}

#[tokio::test]
async fn nobody_waits_for_an_attempt_that_would_come_after_the_deadline() {
    let world = World::start().await;
    let vendor = Vendor::answering(busy("3")).await;
    world.vendor(&vendor.base_url, unbilled(&[503])).await;
    let begun = Instant::now();
    let mut request = world.host(says("hello"));
    request.set_timeout(Duration::from_secs(2));
    let refused = world.sampling().create_message(request).await.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(refused.message().contains("were charged"), "{refused:?}");
    assert_eq!(booked(&world.attempts().await), [(EntryKind::Settle, whole())]);
    world.close().await;
}

#[tokio::test]
async fn the_time_of_a_call_does_not_begin_anew_with_an_attempt() {
    let script = json!({ "status": 503, "first_delay_ms": 1_500 });
    for whose in ["envelope", "grant", "caller"] {
        let world = World::start().await;
        if whose == "grant" {
            world.regrant(|it| it.call_seconds = 2).await;
        }
        let seconds = if whose == "envelope" { 2 } else { 60 };
        let envelope = world.open(limits(5, seconds, 100_000_000)).await;
        let mut request = world.host(ask_in(&envelope, &script));
        if whose == "caller" {
            request.set_timeout(Duration::from_millis(2_300));
        }
        let begun = Instant::now();
        let reply = world.sampling().create_message(request).await.unwrap().into_inner();
        let took = begun.elapsed();
        let expected = Duration::from_millis(1_900)..Duration::from_millis(2_600);
        assert!(expected.contains(&took), "{whose}: {took:?}");
        assert_eq!((reply.outcome(), reply.cut()), (Outcome::Exhausted, Cut::Deadline), "{whose}");
        // Both attempts may have been billed, and the reply has the sum.
        let each = hold(bound_of(&script), 100);
        assert_eq!(booked(&world.attempts().await), [(EntryKind::Settle, each); 2], "{whose}");
        assert_eq!(charged(&reply), 2 * each, "{whose}");
        assert_eq!((world.calls().await, world.calls_left(&envelope).await), (1, 4), "{whose}");
        world.close().await;
    }
}

#[tokio::test]
async fn a_caller_that_leaves_while_a_backend_rests_is_not_asked_for_again() {
    let world = World::start().await;
    let vendor = Vendor::answering_in_turn(vec![busy("2"), fine()]).await;
    world.vendor(&vendor.base_url, BackendProfile::default()).await;
    let request = StreamMessageRequest { request: Some(says("hello")) };
    let mut stream =
        world.sampling().stream_message(world.host(request)).await.unwrap().into_inner();
    stream.message().await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(stream);
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(booked(&world.attempts().await), [(EntryKind::Void, 0)]);
    assert_eq!((vendor.bodies().len(), world.calls().await), (1, 0));
    world.close().await;
}

#[tokio::test]
async fn a_service_that_is_told_to_end_does_not_wait_for_a_backend_to_rest() {
    let mut world = World::with(|it| it.drain_seconds = 2).await;
    let vendor = Vendor::answering_in_turn(vec![busy("5"), fine()]).await;
    world.vendor(&vendor.base_url, BackendProfile::default()).await;
    let mut client = world.sampling();
    let request = world.host(says("hello"));
    let call = tokio::spawn(async move { client.create_message(request).await });
    while vendor.bodies().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let begun = Instant::now();
    world.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(call.await.unwrap().is_err());
    assert_eq!((vendor.bodies().len(), world.number("select count(*) from entries").await), (1, 1));
    world.close().await;
}

#[tokio::test]
async fn an_envelope_that_is_closed_meanwhile_takes_no_further_attempt() {
    let world = World::start().await;
    let vendor = Vendor::answering_in_turn(vec![busy("1"), fine()]).await;
    world.vendor(&vendor.base_url, unbilled(&[503])).await;
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let close = async {
        while vendor.bodies().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let request = CloseEnvelopeRequest { name: envelope.clone() };
        world.envelopes().close_envelope(world.host(request)).await.unwrap();
    };
    let (refused, ()) = tokio::join!(world.sample(hello_in(&envelope)), close);
    let refused = has_failed(refused);
    assert!(refused.message().contains("EUR were charged"), "{refused:?}");
    assert_eq!(booked(&world.attempts().await), [(EntryKind::Settle, whole())]);
    assert_eq!(vendor.bodies().len(), 1);
    world.close().await;
}

#[tokio::test]
async fn a_repeated_request_gets_the_reply_of_the_attempt_that_succeeded() {
    let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=".to_owned();
    let world = World::with(|it| it.vault_key = Some(key.into())).await;
    let vendor = Vendor::answering_in_turn(vec![status(503), fine()]).await;
    world.vendor(&vendor.base_url, unbilled(&[503])).await;
    let request = CreateMessageRequest { request_id: "r-1".to_owned(), ..says("hello") };
    let first = world.sample(request.clone()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.sample(request.clone()).await.unwrap(), first);
    }
    assert_eq!((world.attempts().await.len(), vendor.bodies().len()), (2, 2));
    // Its process died before it could say so: the second attempt, which was charged, is
    // found though the first one was given back.
    let mut owner = <sqlx::PgConnection as sqlx::Connection>::connect(&world.db.url).await.unwrap();
    for sql in [
        "update requests set ended = null, reply = null",
        "update entries set booked_at = now() - interval '2 minutes'",
    ] {
        sqlx::query(sql).execute(&mut owner).await.unwrap();
    }
    let lost = world.sample(request).await.unwrap_err();
    assert_eq!(lost.get_details_error_info().unwrap().reason, "REQUEST_OUTCOME_LOST");
    // One whose attempts all cost nothing may be made again under its id.
    let vendor =
        Vendor::answering_in_turn(vec![status(503), status(503), status(503), fine()]).await;
    world.backend("free", proto::BackendKind::Openai, &vendor.base_url, unbilled(&[503])).await;
    world.regrant(|it| it.models = vec!["free".to_owned()]).await;
    let request = CreateMessageRequest { request_id: "r-2".to_owned(), ..says("hello") };
    has_failed(world.sample(request.clone()).await);
    assert_eq!(text(&world.sample(request).await.unwrap()), "there");
    assert_eq!(vendor.bodies().len(), 4);
    world.close().await;
}
