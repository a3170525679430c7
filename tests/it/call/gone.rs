//! Callers that go away, and a service that ends, while an answer comes.

use std::time::{Duration, Instant};

use bursar::proto::{
    BackendProfile, Cut, EntryKind, Outcome, StreamMessageRequest, stream_message_response::Event,
};
use serde_json::json;
use tonic::Code;

use super::{
    price::{bound_of, exact, hold, prompt_bound},
    world::{Change, World, ask, nanos, says, text},
};
use crate::support::vendor::{After, Answer, Vendor};

fn delta(text: &str) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// Waits until the vendor is being listened to.
async fn is_asked(vendor: &Vendor) {
    for _ in 0..500 {
        if vendor.streaming() > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the vendor was never asked");
}

#[tokio::test]
async fn a_caller_that_leaves_before_the_first_word_pays_and_frees_the_vendor() {
    let world = World::start().await;
    let vendor = Vendor::answering(Answer::sse(&[": wait\n\n"]).then(After::Stall)).await;
    world.vendor(&vendor.base_url, BackendProfile::default()).await;
    let (mut client, request) = (world.sampling(), world.host(says("hello")));
    let call = tokio::spawn(async move { client.create_message(request).await });
    is_asked(&vendor).await;
    call.abort();
    let left = Instant::now();
    assert!(vendor.is_left_alone().await, "the connection to the vendor stays open");
    assert!(left.elapsed() < Duration::from_secs(1));
    let entry = world.entry().await;
    assert_eq!((entry.kind(), entry.cut()), (EntryKind::Settle, Cut::ClientGone));
    assert!(entry.estimated);
    assert_eq!(nanos(entry.charge.as_ref()), hold(prompt_bound("hello"), 100));
    world.close().await;
}

#[tokio::test]
async fn a_reader_that_leaves_after_six_words_pays_for_what_came_where_billing_stops() {
    for stops_on_disconnect in [true, false] {
        let world = World::start().await;
        let words: Vec<String> = ["a ", "b ", "c ", "d ", "e ", "f "].map(delta).into();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let vendor = Vendor::answering(Answer::sse(&words).then(After::Stall)).await;
        let profile = BackendProfile { stops_on_disconnect, ..Default::default() };
        world.vendor(&vendor.base_url, profile).await;
        let request = StreamMessageRequest { request: Some(says("hello")) };
        let mut stream =
            world.sampling().stream_message(world.host(request)).await.unwrap().into_inner();
        for _ in 0..7 {
            // Started, and six words.
            stream.message().await.unwrap().unwrap();
        }
        drop(stream);
        assert!(vendor.is_left_alone().await, "the connection to the vendor stays open");
        let entry = world.entry().await;
        assert_eq!((entry.kind(), entry.cut()), (EntryKind::Settle, Cut::ClientGone));
        let bound = prompt_bound("hello");
        let charge = if stops_on_disconnect { exact(bound, 12) } else { hold(bound, 100) };
        assert_eq!(nanos(entry.charge.as_ref()), charge);
        world.close().await;
    }
}

#[tokio::test]
async fn a_reader_that_leaves_at_the_last_word_pays_what_was_counted() {
    let world = World::start().await;
    let script = json!({ "text": "a b c d e f" });
    let request = StreamMessageRequest { request: Some(ask(&script)) };
    let mut stream =
        world.sampling().stream_message(world.host(request)).await.unwrap().into_inner();
    let mut text = String::new();
    while text != "a b c d e f" {
        match stream.message().await.unwrap().unwrap().event.unwrap() {
            Event::Started(_) => {}
            Event::Text(it) => text.push_str(&it.text),
            Event::Done(_) => panic!("done before all was said"),
        }
    }
    // The model has ended by then, or is about to: by rule either is right.
    drop(stream);
    let entry = world.entry().await;
    let counted = exact(super::price::words_of(&script), 6);
    let whole = hold(bound_of(&script), 100);
    let charge = nanos(entry.charge.as_ref());
    if entry.cut() == Cut::ClientGone {
        assert_eq!((charge, entry.estimated), (whole, true));
    } else {
        assert_eq!((entry.cut(), charge, entry.estimated), (Cut::Unspecified, counted, false));
    }
    world.close().await;
}

#[tokio::test]
async fn a_caller_that_leaves_while_waiting_for_the_hold_pays_nothing_for_what_was_not_asked() {
    let world = World::start().await;
    for _ in 0..20 {
        let (mut client, request) = (world.sampling(), world.host(ask(&json!({}))));
        let call = tokio::spawn(async move { client.create_message(request).await });
        tokio::time::sleep(Duration::from_millis(2)).await;
        call.abort();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    world.nothing_is_held().await;
    for entry in world.entries().await {
        let is_free = nanos(entry.charge.as_ref()) == 0;
        assert_eq!(entry.kind(), if is_free { EntryKind::Void } else { EntryKind::Settle });
    }
    world.close().await;
}

#[tokio::test]
async fn a_shutdown_lets_short_answers_end_and_cuts_long_ones() {
    // Three seconds are kept of the drain, so one second is left to go on.
    let mut world = World::with(|it| it.drain_seconds = 4).await;
    let short = json!({ "text": "one two", "first_delay_ms": 500 });
    let begun = json!({ "text": "one two three", "stall_after": 1 });
    let silent = json!({ "text": "one", "stall_after": 0 });
    let mut calls = Vec::new();
    for script in [&short, &begun, &silent] {
        let (mut client, request) = (world.sampling(), world.host(ask(script)));
        calls.push(tokio::spawn(async move { client.create_message(request).await }));
    }
    for _ in 0..500 {
        if world.number("select count(*) from holds").await == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let late = world.sampling();
    let stopped = Instant::now();
    let ((), refused) = tokio::join!(world.stop(), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut request = tonic::Request::new(ask(&json!({})));
        let key = format!("Bearer {}", "nobody");
        request.metadata_mut().insert("authorization", key.parse().unwrap());
        late.clone().create_message(request).await
    });
    assert!(refused.is_err());
    assert!(stopped.elapsed() < Duration::from_secs(4), "{:?}", stopped.elapsed());
    let mut replies = Vec::new();
    for call in calls {
        replies.push(call.await.unwrap());
    }
    let whole = replies[0].as_ref().unwrap().get_ref();
    assert_eq!((whole.outcome(), text(whole)), (Outcome::Complete, "one two"));
    let part = replies[1].as_ref().unwrap().get_ref();
    assert_eq!((part.outcome(), part.cut(), text(part)), (Outcome::Partial, Cut::Shutdown, "one "));
    assert_eq!(replies[2].as_ref().unwrap_err().code(), Code::Unavailable);
    assert_eq!(world.number("select count(*) from holds").await, 0);
    assert_eq!(world.number("select count(*) from entries").await, 3);
    world.close().await;
}

#[tokio::test]
async fn a_service_that_ends_takes_no_new_call() {
    let mut world = World::with(|it| it.drain_seconds = 5).await;
    let (mut client, request) = (world.sampling(), world.host(ask(&json!({ "stall_after": 0 }))));
    let running = tokio::spawn(async move { client.create_message(request).await });
    for _ in 0..500 {
        if world.number("select count(*) from holds").await == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (mut client, request) = (world.sampling(), world.host(ask(&json!({})).max(5)));
    let ((), refused) = tokio::join!(world.stop(), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        client.create_message(request).await
    });
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
    assert_eq!(running.await.unwrap().unwrap_err().code(), Code::Unavailable);
    assert_eq!(world.number("select count(*) from entries").await, 1);
    world.close().await;
}
