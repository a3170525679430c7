//! Requests that are repeated under one id: answered once, booked once.

mod kept;

use std::time::Duration;

use bursar::{
    admin::{demo, platform_key},
    app::service::Running,
    config::Config,
    proto::{
        self, CreateMessageRequest, CreateMessageResponse, OpenEnvelopeRequest, Outcome,
        envelope_service_client::EnvelopeServiceClient,
        sampling_service_client::SamplingServiceClient, stream_message_response::Event,
    },
    store::{Settings, Store},
    vault::Vault,
};
use futures_util::future::join_all;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tonic::{Code, Status, transport::Channel};
use tonic_types::StatusExt;

use crate::call::world::{World, ask, limits, says, signed, text};

const ENTRIES: &str = "select count(*) from entries";
const REQUESTS: &str = "select count(*) from requests";

/// The key of the first replica.
const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

async fn world() -> World {
    World::with(|it| it.vault_key = Some(KEY.to_owned().into())).await
}

/// Another replica on the same database.
async fn replica(world: &World, keys: &str) -> (Running, Channel) {
    let any = "127.0.0.1:0".parse().unwrap();
    let config = Config {
        scripted_backend: true,
        vault_key: Some(keys.to_owned().into()),
        ..Config::of(world.db.url.clone(), any, any)
    };
    let running = Running::start(&config).await.unwrap();
    let url = format!("http://{}", running.grpc);
    (running, Channel::from_shared(url).unwrap().connect().await.unwrap())
}

async fn sample(
    channel: &Channel,
    key: &str,
    request: CreateMessageRequest,
) -> Result<CreateMessageResponse, Status> {
    let mut client = SamplingServiceClient::new(channel.clone());
    Ok(client.create_message(signed(key, request)).await?.into_inner())
}

fn named(id: &str, request: CreateMessageRequest) -> CreateMessageRequest {
    CreateMessageRequest { request_id: id.to_owned(), ..request }
}

#[track_caller]
fn aborted<T: std::fmt::Debug>(it: Result<T, Status>, reason: &str) -> Status {
    let status = it.unwrap_err();
    assert_eq!(status.code(), Code::Aborted, "{status:?}");
    assert_eq!(status.get_details_error_info().unwrap().reason, reason);
    status
}

async fn execute(world: &World, sql: &str) {
    let mut owner = PgConnection::connect(&world.db.url).await.unwrap();
    sqlx::query(AssertSqlSafe(sql)).execute(&mut owner).await.unwrap();
}

async fn until(world: &World, sql: &str, wanted: i64) {
    for _ in 0..500 {
        if world.number(sql).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{sql}: never {wanted}");
}

#[tokio::test]
async fn a_repeated_request_gets_the_same_reply_and_costs_nothing() {
    let world = world().await;
    let request = named("r-1", ask(&json!({ "text": "one two" })));
    let first = world.sample(request.clone()).await.unwrap();
    assert_eq!((first.outcome(), text(&first)), (Outcome::Complete, "one two"));
    for _ in 0..3 {
        assert_eq!(world.sample(request.clone()).await.unwrap(), first);
    }
    assert_eq!(world.number(ENTRIES).await, 1);
    assert_eq!(world.envelope(&first.envelope).await.left.unwrap().calls, 19);
    // Without an id, or with another one, it is another request.
    let other = world.sample(named("r-2", request.clone())).await.unwrap();
    let none = world.sample(named("", request)).await.unwrap();
    assert!(other.call != first.call && none.call != first.call);
    assert_eq!((world.number(ENTRIES).await, world.number(REQUESTS).await), (3, 2));
    world.close().await;
}

#[tokio::test]
async fn an_id_is_good_for_one_request_of_one_host() {
    let world = world().await;
    let request = named("r-1", ask(&json!({ "text": "one" })));
    let first = world.sample(request.clone()).await.unwrap();
    aborted(world.sample(named("r-1", ask(&json!({ "text": "two" })))).await, "REQUEST_ID_REUSED");
    let open = OpenEnvelopeRequest {
        user: demo::USER.to_owned(),
        server: demo::SERVER.to_owned(),
        limits: None,
        request_id: "r-1".to_owned(),
        parent: String::new(),
    };
    let opened = world.envelopes().open_envelope(world.host(open)).await;
    aborted(opened, "REQUEST_ID_REUSED");
    // Another host of the tenant, and another tenant.
    let create = proto::CreateCredentialRequest {
        display_name: "other".to_owned(),
        role: proto::CredentialRole::Host.into(),
        host: "other-host".to_owned(),
        ..Default::default()
    };
    let made = world.admin().create_credential(world.operator(create.clone())).await.unwrap();
    let theirs = sample(&world.channel, &made.into_inner().key, request.clone()).await.unwrap();
    assert_eq!(theirs.outcome(), Outcome::Complete);
    assert_ne!(theirs.call, first.call);
    let stranger = stranger(&world, create).await;
    let refused = sample(&world.channel, &stranger, request.clone()).await.unwrap();
    assert_eq!((refused.outcome(), refused.result), (Outcome::Refused, None));
    assert_eq!(world.sample(request).await.unwrap(), first);
    assert_eq!((world.number(ENTRIES).await, world.number(REQUESTS).await), (2, 3));
    world.close().await;
}

/// The key of a host of another tenant.
async fn stranger(world: &World, create: proto::CreateCredentialRequest) -> String {
    let settings =
        Settings { url: world.db.url.clone(), call_connections: 1, report_connections: 1 };
    let store = Store::open(&settings).unwrap();
    let platform = platform_key(&store, &bursar::clock::Clock::default()).await.unwrap();
    store.close().await;
    let tenant = proto::CreateTenantRequest {
        display_name: "Strangers".to_owned(),
        currency_code: "EUR".to_owned(),
    };
    let made = world.admin().create_tenant(signed(platform.reveal(), tenant)).await.unwrap();
    let operator = made.into_inner().operator_key;
    let made = world.admin().create_credential(signed(&operator, create)).await.unwrap();
    made.into_inner().key
}

#[tokio::test]
async fn twenty_at_once_make_one_call() {
    let world = world().await;
    let request = named("r-1", ask(&json!({ "text": "slow", "first_delay_ms": 500 })));
    let replies = join_all((0..20).map(|_| world.sample(request.clone()))).await;
    let replies: Vec<_> = replies.into_iter().map(Result::unwrap).collect();
    assert_eq!(text(&replies[0]), "slow");
    assert!(replies.iter().all(|it| *it == replies[0]));
    assert_eq!(world.number(ENTRIES).await, 1);
    // One that cannot wait so long is told so in its own time.
    let slow = named("r-2", ask(&json!({ "text": "slow", "first_delay_ms": 3_000 })));
    let mut hurried = world.host(slow.clone());
    hurried.set_timeout(Duration::from_secs(1));
    let mut client = world.sampling();
    let second = async {
        until(&world, "select count(*) from holds", 1).await;
        client.create_message(hurried).await
    };
    let (reply, second) = tokio::join!(world.sample(slow), second);
    assert_eq!(text(&reply.unwrap()), "slow");
    let status = aborted(second, "REQUEST_IN_FLIGHT");
    assert!(status.get_details_retry_info().is_some(), "{status:?}");
    assert_eq!(world.number(ENTRIES).await, 2);
    world.close().await;
}

#[tokio::test]
async fn who_repeats_a_request_that_runs_gets_all_of_it_though_the_first_goes_away() {
    let world = world().await;
    let script = json!({ "text": "one two three", "deltas": 3, "delay_ms": 400 });
    let request = named("r-1", ask(&script));
    let (mut client, first) = (world.sampling(), world.host(request.clone()));
    let first = tokio::spawn(async move { client.create_message(first).await });
    until(&world, "select count(*) from holds", 1).await;
    let (mut client, second) = (world.sampling(), world.host(request.clone()));
    let second = tokio::spawn(async move { client.create_message(second).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    first.abort();
    let reply = second.await.unwrap().unwrap().into_inner();
    assert_eq!((reply.outcome(), text(&reply)), (Outcome::Complete, "one two three"));
    assert_eq!(world.number(ENTRIES).await, 1);
    // With nobody left it is cut, and what there is of it is what is replayed.
    let request = named("r-2", ask(&script));
    let (mut client, first) = (world.sampling(), world.host(request.clone()));
    let first = tokio::spawn(async move { client.create_message(first).await });
    until(&world, "select count(*) from holds", 1).await;
    first.abort();
    until(&world, "select count(*) from entries where cut = 'client_gone'", 1).await;
    let reply = world.sample(request).await.unwrap();
    assert!(matches!(reply.outcome(), Outcome::Partial | Outcome::Exhausted), "{reply:?}");
    assert_eq!(world.number(ENTRIES).await, 2);
    world.close().await;
}

#[tokio::test]
async fn a_failure_that_cost_nothing_gives_the_id_back_and_one_that_cost_does_not() {
    let world = world().await;
    let free = json!({ "fault": "http_status", "status": 429 });
    let costly = json!({ "fault": "disconnect" });
    for (id, script) in [("free", free), ("costly", costly)] {
        let failed = world.sample(named(id, ask(&script))).await.unwrap_err();
        assert_eq!(failed.code(), Code::Unavailable, "{id}");
    }
    let count = |kind: &str| format!("select count(*) from entries where kind = '{kind}'");
    // Each was tried three times.
    assert_eq!(world.number(&count("void")).await, 3);
    assert_eq!(world.number(&count("settle")).await, 3);
    let again = world.sample(named("free", ask(&json!({ "text": "now" })))).await.unwrap();
    assert_eq!(text(&again), "now");
    let costly = named("costly", ask(&json!({ "fault": "disconnect" })));
    aborted(world.sample(costly).await, "REQUEST_OUTCOME_LOST");
    assert_eq!(world.number(&count("settle")).await, 4);
    // What could not be read was never claimed; a fixed one may have its id.
    let mut wrong = named("wrong", says("hello"));
    wrong.params.as_mut().unwrap().max_tokens = Some(0);
    assert_eq!(world.sample(wrong).await.unwrap_err().code(), Code::InvalidArgument);
    world.sample(named("wrong", says("hello"))).await.unwrap();
    world.close().await;
}

#[tokio::test]
async fn another_replica_neither_waits_nor_makes_the_call_again() {
    let world = world().await;
    let (other, there) = replica(&world, &format!("{},{KEY}", Vault::generate())).await;
    let key = world.demo.host_key.reveal();
    let request = named("r-1", ask(&json!({ "text": "slow", "first_delay_ms": 2_500 })));
    let meanwhile = async {
        until(&world, "select count(*) from holds", 1).await;
        let status = aborted(sample(&there, key, request.clone()).await, "REQUEST_IN_FLIGHT");
        let retry = status.get_details_retry_info().unwrap();
        assert_eq!(retry.retry_delay, Some(Duration::from_secs(1)));
        // As if the first process had died with its hold open.
        execute(&world, "update requests set expires_at = now() - interval '1 second'").await;
        aborted(sample(&there, key, request.clone()).await, "REQUEST_OUTCOME_LOST");
        let other = named("r-1", ask(&json!({})));
        aborted(sample(&there, key, other).await, "REQUEST_ID_REUSED");
    };
    let (reply, ()) = tokio::join!(world.sample(request.clone()), meanwhile);
    let reply = reply.unwrap();
    assert_eq!(text(&reply), "slow");
    assert_eq!(sample(&there, key, request.clone()).await.unwrap(), reply);
    // What this replica seals with its newest key the first one cannot open yet.
    let theirs = named("r-2", ask(&json!({ "text": "there" })));
    sample(&there, key, theirs.clone()).await.unwrap();
    aborted(world.sample(theirs).await, "REQUEST_REPLY_NOT_KEPT");
    assert_eq!(world.number(ENTRIES).await, 2);
    other.stop().await;
    world.close().await;
}

#[tokio::test]
async fn after_the_death_of_a_process_a_call_is_made_again_only_if_it_cost_nothing() {
    let world = world().await;
    let request = named("r-1", ask(&json!({ "text": "hi" })));
    world.sample(request.clone()).await.unwrap();
    // It died after booking: while its claim lasts, when the entry is old, and after.
    execute(&world, "update requests set ended = null, reply = null").await;
    aborted(world.sample(request.clone()).await, "REQUEST_IN_FLIGHT");
    execute(&world, "update entries set booked_at = now() - interval '2 minutes'").await;
    aborted(world.sample(request.clone()).await, "REQUEST_OUTCOME_LOST");
    execute(&world, "update entries set booked_at = now()").await;
    execute(&world, "update requests set expires_at = now()").await;
    aborted(world.sample(request.clone()).await, "REQUEST_OUTCOME_LOST");
    // It died before it held anything.
    execute(&world, "update requests set call_id = gen_random_uuid()").await;
    let again = world.sample(request.clone()).await.unwrap();
    assert_eq!(world.number(ENTRIES).await, 2);
    assert_eq!(world.sample(request).await.unwrap(), again);
    assert_eq!(world.number(ENTRIES).await, 2);
    world.close().await;
}

#[tokio::test]
async fn a_repeated_stream_shows_its_text_and_then_the_same_reply() {
    let world = world().await;
    let request = named("r-1", ask(&json!({ "text": "one two three" })));
    let (events, end) = world.stream(request.clone()).await;
    end.unwrap();
    let Some(Event::Done(reply)) = events.last().cloned() else { panic!("{events:?}") };
    assert!(events.len() > 3 && matches!(events[0], Event::Started(_)));
    let (again, end) = world.stream(request.clone()).await;
    end.unwrap();
    let text = proto::TextDelta { text: "one two three".to_owned() };
    assert_eq!(again, [Event::Text(text), Event::Done(reply.clone())]);
    assert_eq!(world.sample(request).await.unwrap(), reply, "streamed or not is the same");
    let silent = named("r-2", ask(&json!({ "text": "" })));
    let (events, end) = world.stream(silent.clone()).await;
    end.unwrap();
    let (again, end) = world.stream(silent).await;
    end.unwrap();
    assert_eq!(again, [events.last().unwrap().clone()]);
    assert_eq!(world.number(ENTRIES).await, 2);
    world.close().await;
}

#[tokio::test]
async fn an_envelope_is_opened_once() {
    let world = world().await;
    let open = |id: &str, calls| OpenEnvelopeRequest {
        user: demo::USER.to_owned(),
        server: demo::SERVER.to_owned(),
        limits: Some(limits(calls, 60, 1_000_000)),
        request_id: id.to_owned(),
        parent: String::new(),
    };
    let ask = |request: OpenEnvelopeRequest| {
        let mut client = EnvelopeServiceClient::new(world.channel.clone());
        let request = world.host(request);
        async move { client.open_envelope(request).await.map(tonic::Response::into_inner) }
    };
    let opened = join_all((0..10).map(|_| ask(open("e-1", 3)))).await;
    let opened: Vec<_> = opened.into_iter().map(Result::unwrap).collect();
    assert!(opened.iter().all(|it| *it == opened[0]));
    assert_eq!(ask(open("e-1", 3)).await.unwrap(), opened[0]);
    aborted(ask(open("e-1", 4)).await, "REQUEST_ID_REUSED");
    assert_eq!(world.number("select count(*) from envelopes").await, 1);
    assert_ne!(ask(open("e-2", 3)).await.unwrap().name, opened[0].name);
    // What was refused is asked anew.
    let early = OpenEnvelopeRequest { server: "later".to_owned(), ..open("e-3", 3) };
    let refused = ask(early.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let allowance = limits(3, 60, 1_000_000);
    world.server("later").await;
    let grant = proto::Grant {
        user: demo::USER.to_owned(),
        server: "later".to_owned(),
        default_envelope: Some(allowance.clone()),
        max_envelope: Some(allowance),
        ..Default::default()
    };
    world.grant(grant).await;
    ask(early).await.unwrap();
    let control = ask(open("bell\u{7}", 3)).await.unwrap_err();
    assert_eq!(control.code(), Code::InvalidArgument);
    world.close().await;
}
