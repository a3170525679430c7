//! The same answer more than once: at once, at several replicas, after a lost reply, after
//! a crash.

use bursar::{
    app::service::Running,
    config::Config,
    proto::{
        CreateMessageRequest, CreateMessageResponse, Outcome,
        sampling_service_client::SamplingServiceClient,
    },
};
use futures_util::future::join_all;
use serde_json::json;
use tonic::{Status, transport::Channel};

use super::{ANSWERS, ENTRIES, HOLDS, KEY, call, no, outcomes, question, terms, world, yes};
use crate::{
    call::world::{World, ask_in, limits, signed, text},
    support::replicas::Replica,
};

async fn at(
    channel: &Channel,
    world: &World,
    request: CreateMessageRequest,
) -> Result<CreateMessageResponse, Status> {
    let mut client = SamplingServiceClient::new(channel.clone());
    let request = signed(world.demo.host_key.reveal(), request);
    Ok(client.create_message(request).await?.into_inner())
}

async fn replica(world: &World) -> (Running, Channel) {
    let any = "127.0.0.1:0".parse().unwrap();
    let config = Config {
        scripted_backend: true,
        vault_key: Some(KEY.to_owned().into()),
        ..Config::of(world.db.url.clone(), any, any)
    };
    let running = Running::start(&config).await.unwrap();
    let url = format!("http://{}", running.grpc);
    (running, Channel::from_shared(url).unwrap().connect().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_token_at_two_replicas_at_once_is_one_extension() {
    let world = world(terms(5)).await;
    let (other, channel) = replica(&world).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    let asked = world.runs_out(&name, 1).await;
    // Of the twelve some say no: whoever is first decides, once.
    for saying in [yes, no] {
        let before = world.number(ANSWERS).await;
        let request = saying(&call(&name), &asked);
        let calls = (0..6).map(|n| {
            let channel = if n % 2 == 0 { &world.channel } else { &channel };
            at(channel, &world, request.clone())
        });
        let replies: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
        let complete = outcomes(&replies).iter().filter(|it| **it == Outcome::Complete).count();
        assert_eq!(complete, if before == 0 { 6 } else { 4 }, "{replies:?}");
        assert_eq!(world.number(ANSWERS).await, 1);
    }
    assert_eq!(world.envelope(&name).await.limits.unwrap().calls, Some(11));
    other.stop().await;
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_questions_at_once_are_answered_no_more_often_than_the_grant_allows() {
    let world = world(terms(2)).await;
    let (other, channel) = replica(&world).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    world.sample(call(&name)).await.unwrap();
    let mut answers = Vec::new();
    for _ in 0..6 {
        answers.push(yes(&call(&name), &question(&world.sample(call(&name)).await.unwrap())));
    }
    let calls = answers.into_iter().enumerate().map(|(n, request)| {
        let channel = if n % 2 == 0 { &world.channel } else { &channel };
        at(channel, &world, request)
    });
    let replies: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert!(outcomes(&replies).iter().all(|it| *it == Outcome::Complete), "{replies:?}");
    let late = |it: &&CreateMessageResponse| {
        it.warnings.iter().any(|it| it.contains("all answers that its grant allows"))
    };
    assert_eq!(replies.iter().filter(late).count(), 4);
    assert_eq!(world.envelope(&name).await.limits.unwrap().calls, Some(21));
    assert_eq!(world.number(ANSWERS).await, 2);
    other.stop().await;
    world.close().await;
}

#[tokio::test]
async fn an_answer_comes_under_the_id_of_the_request_that_it_is_for() {
    let world = world(terms(5)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    world.sample(call(&name)).await.unwrap();
    let request = CreateMessageRequest { request_id: "r-1".to_owned(), ..call(&name) };
    let asked = question(&world.sample(request.clone()).await.unwrap());
    // A question is no reply to be kept: asked again it is another one, as good.
    let again = question(&world.sample(request.clone()).await.unwrap());
    assert_ne!(again.resume_token, asked.resume_token);
    let first = world.sample(yes(&request, &asked)).await.unwrap();
    assert_eq!((first.outcome(), text(&first)), (Outcome::Complete, "one two"));
    // Whatever is said afterwards: the request was answered.
    for repeated in [yes(&request, &asked), no(&request, &asked), yes(&request, &again), request] {
        assert_eq!(world.sample(repeated).await.unwrap(), first);
    }
    assert_eq!((world.number(ENTRIES).await, world.number(ANSWERS).await), (2, 1));
    world.close().await;
}

#[tokio::test]
async fn a_call_that_fails_after_the_answer_goes_on_with_it_when_it_comes_again() {
    let world = world(terms(1)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    world.sample(call(&name)).await.unwrap();
    let script = json!({ "fault": "http_status", "status": 429 });
    let failing = CreateMessageRequest { accepts_input_required: true, ..ask_in(&name, &script) };
    let asked = question(&world.sample(failing.clone()).await.unwrap());
    for _ in 0..2 {
        let status = world.sample(yes(&failing, &asked)).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::Unavailable, "{status:?}");
    }
    assert_eq!(world.number(ANSWERS).await, 1);
    let allowed = world.envelope(&name).await;
    assert_eq!((allowed.limits.unwrap().calls, allowed.left.unwrap().calls), (Some(11), 10));
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_dies_after_the_answer_has_extended_once() {
    let world = world(terms(3)).await;
    let mut replica = Replica::serve(&world.db.url, &[("BURSAR_VAULT_KEY", KEY)]);
    let channel = replica.channel().await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    world.sample(call(&name)).await.unwrap();
    let script = json!({ "text": "slow", "first_delay_ms": 1_000 });
    let slow = CreateMessageRequest { accepts_input_required: true, ..ask_in(&name, &script) };
    let asked = question(&world.sample(slow.clone()).await.unwrap());
    let request = yes(&slow, &asked);
    let dying = at(&channel, &world, request.clone());
    let killing = async {
        while world.number(HOLDS).await == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        replica.kill();
    };
    let (died, ()) = tokio::join!(dying, killing);
    died.unwrap_err();
    let reply = world.sample(request).await.unwrap();
    assert_eq!((reply.outcome(), text(&reply)), (Outcome::Complete, "slow"));
    assert_eq!(world.number(ANSWERS).await, 1);
    assert_eq!(world.envelope(&name).await.limits.unwrap().calls, Some(11));
    // The dead one's hold is the reaper's, at once here.
    world.execute("update holds set expires_at = now()").await.unwrap();
    world.close().await;
}
