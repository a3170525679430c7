//! What would be chosen and held, without spending anything.

use bursar::proto::{
    ContentBlock, CreateMessageRequest, ExplainRouteRequest, ExplainRouteResponse, LimitKind,
    MediaContent, Outcome, content_block::Block,
};
use serde_json::json;

use super::world::{Change, World, ask, ask_in, limits, nanos, says};

impl World {
    async fn explain(&self, request: CreateMessageRequest) -> ExplainRouteResponse {
        let request = ExplainRouteRequest { request: Some(request) };
        self.sampling().explain_route(self.host(request)).await.unwrap().into_inner()
    }
}

const ROWS: &str = "select (select count(*) from envelopes) + (select count(*) from limits)
    + (select count(*) from holds) + (select count(*) from entries)";

#[tokio::test]
async fn it_says_what_a_call_then_does_and_spends_nothing() {
    let world = World::start().await;
    let before = world.number(ROWS).await;
    let told = world.explain(ask(&json!({}))).await;
    assert_eq!(told.outcome(), Outcome::Complete);
    let aliases: Vec<_> = told.candidates.iter().map(|it| (it.alias.as_str(), it.chosen)).collect();
    assert_eq!(aliases, [("scripted-small", true)], "a dearer one would not follow");
    let first = &told.candidates[0];
    assert_eq!((first.model.as_str(), first.backend.as_str()), ("scripted-small", "scripted"));
    assert_eq!(first.max_tokens, 100);
    assert!(!first.reasons.is_empty());
    assert_eq!(told.left.as_ref().unwrap().calls, 20);
    assert_eq!(world.number(ROWS).await, before, "nothing was opened, held or booked");
    let hinted = world.explain(ask(&json!({})).hint("large")).await;
    let aliases: Vec<_> = hinted.candidates.iter().map(|it| it.alias.as_str()).collect();
    assert_eq!(aliases, ["scripted-large", "scripted-small"]);
    // The call holds what was said.
    let reply = world.sample(ask(&json!({}))).await.unwrap();
    assert_eq!(reply.route.unwrap().reasons, first.reasons);
    let held = world.number("select max(held_money) from entries").await;
    assert_eq!(held, nanos(first.hold.as_ref()));
    world.close().await;
}

#[tokio::test]
async fn it_names_the_limit_that_clamps_or_refuses() {
    let world = World::start().await;
    let envelope = world.open(limits(1, 60, 1_000_000)).await;
    let long = ask_in(&envelope, &json!({})).max(8_000);
    let told = world.explain(long).await;
    assert_eq!(told.outcome(), Outcome::Complete);
    let limit = told.limit.unwrap();
    assert_eq!((limit.name.as_str(), limit.kind()), (envelope.as_str(), LimitKind::Money));
    assert!(told.candidates[0].max_tokens < 8_000, "clamped");
    world.sample(ask_in(&envelope, &json!({}))).await.unwrap();
    let told = world.explain(ask_in(&envelope, &json!({}))).await;
    assert_eq!(told.outcome(), Outcome::Exhausted);
    assert_eq!(told.limit.unwrap().kind(), LimitKind::Calls);
    assert!(told.candidates.iter().all(|it| !it.chosen));
    world.close().await;
}

#[tokio::test]
async fn it_says_why_a_model_may_not_answer() {
    let world = World::start().await;
    world.regrant(|it| it.models = vec!["scripted-large".to_owned()]).await;
    let told = world.explain(says("hello")).await;
    let rejected: Vec<_> =
        told.rejected.iter().map(|it| (it.alias.as_str(), it.reason.as_str())).collect();
    assert_eq!(rejected, [("scripted-small", "the grant does not allow it")]);
    let nobody = CreateMessageRequest { server: "unknown".to_owned(), ..says("hello") };
    let told = world.explain(nobody).await;
    assert_eq!(told.outcome(), Outcome::Refused);
    assert_eq!(told.refusal.unwrap().reason, "NO_GRANT");
    assert!(told.rejected.is_empty(), "who has no grant learns nothing");
    world.regrant(|it| it.models.clear()).await;
    let sound = MediaContent { data: vec![0; 8], mime_type: "audio/wav".to_owned() };
    let sound = ContentBlock { block: Some(Block::Audio(sound)) };
    let heard = says("hello").params(|it| it.messages[0].content = vec![sound]);
    let told = world.explain(heard).await;
    assert_eq!(told.outcome(), Outcome::Refused);
    assert!(told.rejected.iter().all(|it| it.reason == "it takes no audio"), "{told:?}");
    assert_eq!(told.rejected.len(), 2);
    assert_eq!(told.refusal.unwrap().reason, "NO_MODEL");
    let foreign = CreateMessageRequest {
        envelope: "env_00000000000000000000000000000000".to_owned(),
        ..says("hello")
    };
    let request = ExplainRouteRequest { request: Some(foreign) };
    let missing = world.sampling().explain_route(world.host(request)).await.unwrap_err();
    assert_eq!(missing.code(), tonic::Code::NotFound);
    world.close().await;
}
