//! A backend that fails is left alone: calls are told at once, and find it again when
//! it is back.

use std::time::Duration;

use bursar::proto::{self, CreateMessageRequest, Outcome};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::world::{Change, World, says};
use crate::support::vendor::{Answer, Vendor};

const CHUNK: &str = concat!(
    r#"{"choices":[{"index":0,"delta":{"content":"here"},"finish_reason":"stop"}],"#,
    r#""usage":{"prompt_tokens":3,"completion_tokens":1}}"#
);

fn ask() -> CreateMessageRequest {
    says("hello").hint("vendor").max(20)
}

fn reason(it: &Status) -> String {
    assert_eq!(it.code(), Code::Unavailable, "{it}");
    it.get_error_details().error_info().unwrap().reason.clone()
}

#[tokio::test]
async fn a_failing_backend_is_asked_no_more_until_it_had_a_rest() {
    let world = World::start().await;
    // Three attempts a call: it is left alone in the middle of the second.
    let mut answers = vec![Answer::json(503, "{}"); 6];
    answers.push(Answer::events(&[CHUNK]));
    let vendor = Vendor::answering_in_turn(answers).await;
    world
        .vendor(
            &vendor.base_url,
            proto::BackendProfile { unbilled_statuses: vec![503], ..Default::default() },
        )
        .await;
    for _ in 0..2 {
        assert_eq!(reason(&world.sample(ask()).await.unwrap_err()), "BACKEND_FAILED");
    }
    let asked = vendor.bodies().len();
    for _ in 0..10 {
        let refused = world.sample(ask()).await.unwrap_err();
        assert_eq!(reason(&refused), "BACKENDS_FAILING");
        let wait = refused.get_error_details().retry_info().unwrap().retry_delay.unwrap();
        assert!(wait <= Duration::from_secs(4), "{wait:?}");
    }
    assert_eq!(vendor.bodies().len(), asked, "nobody asked it meanwhile");
    assert_eq!(world.number("select count(*) from entries where charged > 0").await, 0);
    let mut reply = None;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        reply = world.sample(ask()).await.ok();
        if reply.is_some() {
            break;
        }
    }
    assert_eq!(reply.unwrap().outcome(), Outcome::Complete, "back after its rest");
    world.close().await;
}

#[tokio::test]
async fn a_wrong_key_is_the_operators_and_leaves_the_whole_backend_alone() {
    let world = World::start().await;
    let vendor = Vendor::answering(Answer::json(401, "{}")).await;
    world.vendor(&vendor.base_url, proto::BackendProfile::default()).await;
    assert_eq!(reason(&world.sample(ask()).await.unwrap_err()), "BACKEND_FAILED");
    let asked = vendor.bodies().len();
    let refused = world.sample(ask()).await.unwrap_err();
    assert_eq!(reason(&refused), "BACKENDS_FAILING");
    assert_eq!(vendor.bodies().len(), asked);
    // Who names a scripted model gets it: nothing is wrong with that one.
    let scripted = world.sample(says("hello").hint("scripted").max(20)).await.unwrap();
    assert_eq!(scripted.outcome(), Outcome::Complete);
    world.close().await;
}
