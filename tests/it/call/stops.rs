//! Kill switches: what an operator stops takes no call more, and what runs is cut.

use std::time::{Duration, Instant};

use bursar::{
    admin::demo,
    proto::{
        self, CreateMessageRequest, Cut, Outcome, ResumeSamplingRequest, StopSamplingRequest,
        stream_message_response::Event,
    },
};
use serde_json::json;
use tonic::Code;
use tonic_types::StatusExt;

use super::{
    price::{bound_of, hold},
    world::{World, ask, charged, limits, money, stop_reason, text},
};

/// A stop of the demonstration's user, its server or both.
fn of(user: bool, server: bool) -> StopSamplingRequest {
    let named = |it: bool, name: &str| if it { name.to_owned() } else { String::new() };
    StopSamplingRequest {
        user: named(user, demo::USER),
        server: named(server, demo::SERVER),
        whole_tenant: !(user || server),
        reason: "it went wild".to_owned(),
    }
}

async fn stop(world: &World, request: StopSamplingRequest) -> proto::Stop {
    world.admin().stop_sampling(world.operator(request)).await.unwrap().into_inner()
}

async fn resume(world: &World, name: &str) -> proto::Stop {
    let request = ResumeSamplingRequest { name: name.to_owned() };
    world.admin().resume_sampling(world.operator(request)).await.unwrap().into_inner()
}

#[tokio::test]
async fn whoever_is_stopped_is_refused_until_it_is_lifted() {
    let world = World::start().await;
    world.user("somebody").await;
    world.server("something").await;
    let elsewhere = [
        StopSamplingRequest { user: "somebody".to_owned(), ..of(true, false) },
        StopSamplingRequest { server: "something".to_owned(), ..of(false, true) },
        StopSamplingRequest { server: "something".to_owned(), ..of(true, true) },
        StopSamplingRequest { user: "somebody".to_owned(), ..of(true, true) },
    ];
    for it in elsewhere {
        stop(&world, it).await;
    }
    let fine = world.sample(ask(&json!({ "text": "one" }))).await.unwrap();
    assert_eq!(fine.outcome(), Outcome::Complete, "others are stopped");
    for (user, server) in [(true, false), (false, true), (true, true), (false, false)] {
        let made = stop(&world, of(user, server)).await;
        assert_eq!(stop(&world, of(user, server)).await, made, "again is harmless");
        let booked = world.entries().await.len();
        let refused = world.sample(ask(&json!({ "text": "one" }))).await.unwrap();
        assert_eq!(refused.outcome(), Outcome::Refused, "{user} {server}");
        assert_eq!(refused.refusal.unwrap().reason, "STOPPED");
        assert_eq!(world.entries().await.len(), booked);
        let request = proto::ExplainRouteRequest { request: Some(ask(&json!({}))) };
        let explained = world.sampling().explain_route(world.host(request)).await.unwrap();
        assert_eq!(explained.into_inner().refusal.unwrap().reason, "STOPPED");
        let request = proto::ReserveRequest {
            user: demo::USER.to_owned(),
            server: demo::SERVER.to_owned(),
            envelope: world.open(limits(2, 60, 10_000_000)).await,
            money: Some(money(1_000)),
            seconds: 5,
            ..Default::default()
        };
        let reserved = world.envelopes().reserve(world.host(request)).await.unwrap().into_inner();
        assert_eq!(reserved.outcome(), Outcome::Refused);
        let lifted = resume(&world, &made.name).await;
        assert!(!lifted.lift_time.is_empty() && !lifted.lifted_by.is_empty());
        assert_eq!(resume(&world, &made.name).await, lifted, "again is harmless");
        let fine = world.sample(ask(&json!({ "text": "one" }))).await.unwrap();
        assert_eq!(fine.outcome(), Outcome::Complete, "{user} {server}");
    }
    let list = |with_lifted| {
        let request = proto::ListStopsRequest { with_lifted, ..Default::default() };
        let request = world.operator(request);
        let mut admin = world.admin();
        async move { admin.list_stops(request).await.unwrap().into_inner().stops }
    };
    assert_eq!((list(false).await.len(), list(true).await.len()), (4, 8));
    // Whoever says that they come from elsewhere is not believed.
    let mut request = world.operator(of(true, true));
    request.metadata_mut().insert("bursar-peer", "192.0.2.1".parse().unwrap());
    let made = world.admin().stop_sampling(request).await.unwrap().into_inner();
    let request = proto::ListAuditEntriesRequest { resource: made.name, ..Default::default() };
    let audit = world.admin().list_audit_entries(world.operator(request)).await.unwrap();
    assert_eq!(audit.into_inner().audit_entries[0].peer, "127.0.0.1");
    world.close().await;
}

/// A call that says two words and then nothing for long.
fn slow() -> CreateMessageRequest {
    ask(&json!({ "text": "one two three", "stall_after": 2 }))
}

#[tokio::test]
async fn a_running_call_is_cut_and_what_came_is_kept_and_settled() {
    let world = World::start().await;
    let request = proto::StreamMessageRequest { request: Some(slow()) };
    let mut running =
        world.sampling().stream_message(world.host(request)).await.unwrap().into_inner();
    let mut seen = 0;
    while seen < 2 {
        let event = running.message().await.unwrap().unwrap().event.unwrap();
        seen += usize::from(matches!(event, Event::Text(_)));
    }
    let begun = Instant::now();
    stop(&world, of(false, true)).await;
    let Some(Event::Done(reply)) = running.message().await.unwrap().unwrap().event else {
        panic!("more text");
    };
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!((reply.outcome(), reply.cut()), (Outcome::Partial, Cut::Cancelled));
    assert_eq!((text(&reply), stop_reason(&reply)), ("one two ", "cancelled"));
    assert!(reply.warnings.iter().any(|it| it.contains("operator")), "{:?}", reply.warnings);
    let script = json!({ "text": "one two three", "stall_after": 2 });
    assert_eq!(charged(&reply), hold(bound_of(&script), 100));
    assert_eq!(world.entry().await.cut(), Cut::Cancelled);
    world.close().await;
}

#[tokio::test]
async fn a_call_that_had_delivered_nothing_fails_with_what_it_cost() {
    let world = World::start().await;
    let script = json!({ "text": "one", "first_delay_ms": 30_000 });
    let call = world.sample(ask(&script));
    let stopped = async {
        while world.number("select count(*) from holds").await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stop(&world, of(true, true)).await;
        Instant::now()
    };
    let (status, begun) = tokio::join!(call, stopped);
    let status = status.unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert_eq!(status.get_details_error_info().unwrap().reason, "STOPPED");
    assert!(status.message().contains("EUR were charged"), "{status}");
    world.close().await;
}

#[tokio::test]
async fn who_is_to_be_stopped_is_said_without_doubt() {
    let world = World::start().await;
    let nobody = StopSamplingRequest::default();
    let both = StopSamplingRequest { whole_tenant: true, ..of(true, false) };
    let unknown = StopSamplingRequest { user: "nobody".to_owned(), ..Default::default() };
    for (request, field) in [(nobody, "whole_tenant"), (both, "whole_tenant"), (unknown, "user")] {
        let status = world.admin().stop_sampling(world.operator(request)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, field);
    }
    world.close().await;
}
