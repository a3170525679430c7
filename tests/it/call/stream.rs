//! The answer as a stream.

use std::time::{Duration, Instant};

use bursar::proto::{
    CreateMessageResponse, Cut, Outcome, StreamMessageRequest,
    sampling_service_client::SamplingServiceClient, stream_message_response::Event,
};
use serde_json::json;
use tonic::{Code, transport::Channel};

use super::{
    price::{bound_of, exact, hold, words_of},
    world::{Change, World, ask, ask_in, charged, limits, stop_reason, text},
};

/// Pieces of text, and the reply. Started comes first, the reply last.
fn parts(events: Vec<Event>) -> (Vec<String>, CreateMessageResponse) {
    let mut pieces = Vec::new();
    let mut done = None;
    for (at, event) in events.into_iter().enumerate() {
        assert!(done.is_none(), "nothing comes after the reply");
        match event {
            Event::Started(it) => {
                assert_eq!(at, 0);
                assert!(it.call.starts_with("call_") && it.max_tokens > 0);
            }
            Event::Text(it) => pieces.push(it.text),
            Event::Done(it) => done = Some(it),
        }
    }
    (pieces, done.unwrap())
}

#[tokio::test]
async fn a_stream_ends_with_the_reply_that_a_plain_call_gives() {
    let world = World::start().await;
    let scripts = [
        json!({ "text": "one two three", "deltas": 5 }),
        json!({ "text": "Grüße, 世界 🌍!", "deltas": 9 }),
        json!({ "text": "one two", "fault": "disconnect", "fault_after": 1 }),
    ];
    for script in scripts {
        let (events, end) = world.stream(ask(&script)).await;
        end.unwrap();
        let (pieces, mut streamed) = parts(events);
        assert_eq!(pieces.concat(), text(&streamed));
        let mut plain = world.sample(ask(&script)).await.unwrap();
        for it in [&mut plain, &mut streamed] {
            it.call.clear();
            it.left = None;
            it.result.as_mut().unwrap().meta_json.clear();
        }
        assert_eq!(streamed, plain);
    }
    world.close().await;
}

#[tokio::test]
async fn a_stream_without_a_hold_has_only_a_reply_and_one_that_fails_an_error() {
    let world = World::start().await;
    let envelope = world.open(limits(1, 60, 100_000_000)).await;
    let (events, end) = world.stream(ask_in(&envelope, &json!({ "status": 501 }))).await;
    assert!(matches!(events.as_slice(), [Event::Started(_)]));
    assert_eq!(end.unwrap_err().code(), Code::Unavailable);
    let (events, end) = world.stream(ask_in(&envelope, &json!({}))).await;
    end.unwrap();
    let [Event::Done(reply)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    world.close().await;
}

#[tokio::test]
async fn stop_sequences_are_found_across_chunks_and_cut_the_text_before_them() {
    let world = World::start().await;
    let with_stops = |script: &serde_json::Value| {
        ask(script).params(|it| {
            it.stop_sequences = ["S1", "S2", "S3", "S4", "<END>"].map(str::to_owned).into();
        })
    };
    // One character a chunk; the backend goes on and is cut off.
    let on = json!({ "text": "one two<END> three four", "deltas": 23 });
    let (events, end) = world.stream(with_stops(&on)).await;
    end.unwrap();
    let (pieces, reply) = parts(events);
    assert_eq!(pieces.concat(), "one two");
    assert_eq!((text(&reply), stop_reason(&reply)), ("one two", "stopSequence"));
    assert_eq!((reply.outcome(), reply.cut()), (Outcome::Complete, Cut::Unspecified));
    assert_eq!(charged(&reply), hold(bound_of(&on), 100), "nobody knows what it went on to say");
    // At the very end: the backend's own count is there and true.
    let end_of_it = json!({ "text": "one two<END>", "deltas": 12 });
    let reply = world.sample(with_stops(&end_of_it)).await.unwrap();
    assert_eq!((text(&reply), stop_reason(&reply)), ("one two", "stopSequence"));
    assert_eq!(charged(&reply), exact(words_of(&end_of_it), 2));
    // What only looks like one is delivered after all.
    let almost = json!({ "text": "one two<EN", "deltas": 10 });
    let (events, end) = world.stream(with_stops(&almost)).await;
    end.unwrap();
    let (pieces, reply) = parts(events);
    assert_eq!((pieces.concat().as_str(), text(&reply)), ("one two<EN", "one two<EN"));
    assert_eq!(stop_reason(&reply), "endTurn");
    world.close().await;
}

#[tokio::test]
async fn a_slow_reader_gets_all_of_it() {
    let world = World::start().await;
    let script = json!({ "deltas": 300 });
    let request = StreamMessageRequest { request: Some(ask(&script).max(400)) };
    let mut stream =
        world.sampling().stream_message(world.host(request)).await.unwrap().into_inner();
    let mut events = Vec::new();
    while let Some(it) = stream.message().await.unwrap() {
        events.push(it.event.unwrap());
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let (pieces, reply) = parts(events);
    assert_eq!(pieces.concat(), text(&reply));
    assert!(pieces.len() > 100);
    world.close().await;
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_nothing_longer_than_its_time() {
    let world = World::start().await;
    world.regrant(|it| it.call_seconds = 2).await;
    // More than the buffers on the way take, and a text withheld at the end.
    let script = json!({ "text": "x".repeat(1_000_000), "deltas": 1_000 });
    let request = ask(&script).max(8_000).params(|it| it.stop_sequences = vec!["xxy".to_owned()]);
    let request = StreamMessageRequest { request: Some(request) };
    let channel = Channel::from_shared(world.url())
        .unwrap()
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(65_535);
    let mut client = SamplingServiceClient::new(channel.connect().await.unwrap());
    let begun = Instant::now();
    let stream = client.stream_message(world.host(request)).await.unwrap().into_inner();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let entry = world.entry().await;
    assert!(begun.elapsed() < Duration::from_secs(4));
    assert_eq!(entry.cut(), Cut::Deadline);
    drop(stream);
    world.close().await;
}
