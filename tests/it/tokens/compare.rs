//! What backends count of prompts against what was held for them.

use std::time::Duration;

use bursar::{
    app::service::Running,
    config::Config,
    proto::{
        self, CreateMessageResponse, ModelBounds, Outcome,
        sampling_service_client::SamplingServiceClient,
    },
};
use serde_json::{Value, json};
use tonic::{Code, transport::Channel};

use crate::call::world::{World, ask, charged};

/// A world with one model `counted`, whose text is bounded like this.
async fn world(tokenizer: &str) -> World {
    let world = World::start().await;
    let backend = proto::Backend {
        backend: "counting".to_owned(),
        kind: proto::BackendKind::Scripted.into(),
        profile: Some(proto::BackendProfile::default()),
        ..Default::default()
    };
    let request = proto::CreateBackendRequest { backend: Some(backend) };
    world.admin().create_backend(world.operator(request)).await.unwrap();
    let price =
        proto::Price { input: "1".to_owned(), output: "1".to_owned(), ..Default::default() };
    let model = proto::Model {
        alias: "counted".to_owned(),
        backend: "counting".to_owned(),
        vendor_model: "any".to_owned(),
        context_tokens: 20_000,
        max_output_tokens: 1_000,
        tokenizer: tokenizer.to_owned(),
        price: Some(price),
        ..Default::default()
    };
    let request = proto::CreateModelRequest { model: Some(model) };
    let made = world.admin().create_model(world.operator(request)).await.unwrap().into_inner();
    assert_eq!(made.tokenizer, tokenizer);
    world.regrant(|it| it.models = vec!["counted".to_owned()]).await;
    world
}

/// A long prompt of which the backend says that it counted so many tokens.
fn counts(input: i64) -> Value {
    let text = "these are words that nobody reads ".repeat(100);
    json!({ "text": text, "usage": { "input": input, "output": 4 } })
}

async fn bounds(world: &World) -> ModelBounds {
    let request = world.operator(proto::ListModelsRequest::default());
    let models = world.admin().list_models(request).await.unwrap().into_inner().models;
    models.into_iter().find(|it| it.alias == "counted").unwrap().bounds.unwrap()
}

/// What is known once it was written, which takes a moment.
async fn once(world: &World, calls: i64) -> ModelBounds {
    for _ in 0..250 {
        let it = bounds(world).await;
        if it.calls >= calls {
            return it;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nothing was written of {calls} calls");
}

async fn resume(world: &World, model: &str, fine: bool) -> Result<proto::Model, tonic::Status> {
    let request = proto::ResumeModelRequest { model: model.to_owned(), fine };
    Ok(world.admin().resume_model(world.operator(request)).await?.into_inner())
}

async fn sample(world: &World, input: i64) -> CreateMessageResponse {
    world.sample(ask(&counts(input))).await.unwrap()
}

#[tokio::test]
async fn held_against_counted_is_shown_to_operators() {
    let world = world("o200k_base").await;
    let nothing = bounds(&world).await;
    assert_eq!((nothing.calls, nothing.held_to_actual.as_str()), (0, ""));
    assert_eq!(nothing.counted_by, "o200k_base");
    assert_eq!(sample(&world, 400).await.outcome(), Outcome::Complete);
    assert_eq!(sample(&world, 200).await.outcome(), Outcome::Complete);
    let it = once(&world, 2).await;
    assert_eq!((it.calls, it.actual_tokens, it.failures), (2, 600, 0));
    let hundredths = it.held_tokens * 100 / 600;
    assert_eq!(it.held_to_actual, format!("{}.{:02}", hundredths / 100, hundredths % 100));
    assert!(it.held_tokens > 2 * 700 && it.held_tokens < 2 * 1_300, "{it:?}");
    assert!(it.held_to_actual_least < it.held_to_actual, "{it:?}");
    assert!(!it.coarse && !it.suspended && it.last_failure_time.is_empty());
    world.close().await;
}

#[tokio::test]
async fn an_exact_bound_that_fails_gives_way_to_bytes_and_bytes_to_nothing() {
    let world = world("o200k_base").await;
    let fine = charged(&sample(&world, 2_000).await);
    let it = once(&world, 1).await;
    assert_eq!((it.failures, it.coarse, it.suspended), (1, true, false));
    assert_eq!(it.counted_by, "bytes");
    assert_ne!(it.last_failure_time, "");
    // The very same count is now within the bound.
    let reply = sample(&world, 2_000).await;
    assert!(!reply.charge.as_ref().unwrap().estimated);
    assert!(charged(&reply) > fine, "the first was booked at its smaller hold");
    assert_eq!(once(&world, 2).await.failures, 1);
    sample(&world, 19_000).await;
    let it = once(&world, 3).await;
    assert_eq!((it.failures, it.suspended), (2, true));
    assert_eq!(sample(&world, 10).await.outcome(), Outcome::Refused, "it is the only model");
    // Until an operator has looked at it.
    assert_eq!(resume(&world, "nosuch", false).await.unwrap_err().code(), Code::NotFound);
    let resumed = resume(&world, "counted", false).await.unwrap().bounds.unwrap();
    assert_eq!((resumed.coarse, resumed.suspended, resumed.failures), (true, false, 2));
    assert_eq!(sample(&world, 10).await.outcome(), Outcome::Complete);
    let resumed = resume(&world, "counted", true).await.unwrap().bounds.unwrap();
    assert_eq!((resumed.coarse, resumed.counted_by.as_str()), (false, "o200k_base"));
    world.close().await;
}

#[tokio::test]
async fn a_model_bounded_by_bytes_is_suspended_at_its_first_failure() {
    let world = world("bytes").await;
    // What cannot be true of any prompt says nothing of the bound.
    for absurd in [-1, 20_001, i64::MAX] {
        sample(&world, absurd).await;
    }
    assert_eq!(sample(&world, 1_000).await.outcome(), Outcome::Complete);
    assert_eq!(once(&world, 1).await.failures, 0);
    let reply = sample(&world, 19_000).await;
    assert_eq!(reply.outcome(), Outcome::Complete, "the answer is the caller's");
    assert!(reply.warnings.iter().any(|it| it.contains("cannot be true")));
    assert!(once(&world, 2).await.suspended);
    assert_eq!(sample(&world, 10).await.outcome(), Outcome::Refused);
    world.close().await;
}

#[tokio::test]
async fn every_replica_leaves_a_suspended_model_alone_within_seconds() {
    let world = world("bytes").await;
    let any = "127.0.0.1:0".parse().unwrap();
    let config = Config { scripted_backend: true, ..Config::of(world.db.url.clone(), any, any) };
    let other = Running::start(&config).await.unwrap();
    let channel = Channel::from_shared(format!("http://{}", other.grpc)).unwrap();
    let mut there = SamplingServiceClient::new(channel.connect().await.unwrap());
    let mut elsewhere = async || {
        let reply = there.create_message(world.host(ask(&counts(10)))).await.unwrap();
        reply.into_inner().outcome()
    };
    assert_eq!(elsewhere().await, Outcome::Complete);
    sample(&world, 19_000).await;
    assert!(once(&world, 1).await.suspended);
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(elsewhere().await, Outcome::Refused);
    resume(&world, "counted", false).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(elsewhere().await, Outcome::Complete);
    other.stop().await;
    world.close().await;
}
