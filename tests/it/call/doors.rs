//! What the door does before and beside the calls.

use std::time::Duration;

use bursar::proto::{CreateMessageRequest, ListEnvelopesRequest, Outcome};
use serde_json::json;
use tonic::{Code, Request, Status};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use super::world::{World, ask, limits, signed};

/// What a caller may tell apart of an error.
fn seen(it: &Status) -> (Code, String, Vec<u8>) {
    (it.code(), it.message().to_owned(), it.details().to_vec())
}

#[tokio::test]
async fn a_body_without_a_key_takes_no_share_of_what_may_be_under_way() {
    let world = World::with(|it| it.body_mib_in_flight = 1).await;
    let large = CreateMessageRequest {
        conversation: "x".repeat(3 * 1_024 * 1_024),
        ..ask(&json!({ "text": "hi" }))
    };
    let shed = world.sample(large.clone()).await.unwrap_err();
    assert_eq!(shed.code(), Code::ResourceExhausted, "with a key it counts");
    let mut stranger = world.demo.host_key.reveal().to_owned();
    let last = if stranger.pop() == Some('A') { 'E' } else { 'A' };
    stranger.push(last);
    let unknown = world.sampling().create_message(signed(&stranger, ask(&json!({})))).await;
    let unknown = seen(&unknown.unwrap_err());
    assert_eq!(unknown.0, Code::Unauthenticated);
    let keyless = world.sampling().create_message(Request::new(large.clone())).await;
    assert_eq!(seen(&keyless.unwrap_err()), unknown);
    let nonsense = world.sampling().create_message(signed("nonsense", large)).await;
    assert_eq!(seen(&nonsense.unwrap_err()), unknown);
    let reply = world.sample(ask(&json!({ "text": "hi" }))).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    world.close().await;
}

#[tokio::test]
async fn health_says_that_no_calls_are_taken_while_running_ones_end() {
    let mut world = World::start().await;
    let channel = tonic::transport::Channel::from_shared(world.url()).unwrap();
    let mut health = HealthClient::new(channel.connect().await.unwrap());
    let check = || HealthCheckRequest { service: String::new() };
    let before = health.check(check()).await.unwrap().into_inner();
    assert_eq!(before.status(), ServingStatus::Serving);
    let (mut client, request) =
        (world.sampling(), world.host(ask(&json!({ "text": "hi", "first_delay_ms": 1_500 }))));
    let call = tokio::spawn(async move { client.create_message(request).await });
    while world.number("select count(*) from holds").await == 0 {
        tokio::task::yield_now().await;
    }
    let during = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        health.check(check()).await.unwrap().into_inner().status()
    };
    let ((), during) = tokio::join!(world.stop(), during);
    assert_eq!(during, ServingStatus::NotServing);
    assert_eq!(call.await.unwrap().unwrap().get_ref().outcome(), Outcome::Complete);
    world.close().await;
}

#[tokio::test]
async fn a_list_of_envelopes_shows_each_with_its_own_limits() {
    let world = World::start().await;
    let mut opened = Vec::new();
    for calls in [3, 5, 7] {
        opened.push((world.open(limits(calls, 60, 100_000_000)).await, calls));
    }
    let list = ListEnvelopesRequest { page_size: 2, ..Default::default() };
    let page = world.envelopes().list_envelopes(world.host(list)).await.unwrap().into_inner();
    assert!(!page.next_page_token.is_empty());
    let listed: Vec<(String, i64)> = page
        .envelopes
        .iter()
        .map(|it| (it.name.clone(), it.left.as_ref().unwrap().calls))
        .collect();
    opened.reverse();
    assert_eq!(listed, opened[..2]);
    assert!(page.envelopes.iter().all(|it| it.user == "demo-user" && it.status.len() == 3));
    world.close().await;
}
