//! The edge of an envelope: what was paid for, then an error that names the limit.

use std::time::Duration;

use bursar::{
    admin::demo,
    proto::{self, EnvelopeLimits, MintTokenRequest},
};
use serde_json::{Value, json};

use super::{Server, chat, scripted, weather, with};
use crate::call::world::{World, limits};

#[tokio::test]
async fn used_up_calls_are_named_with_their_numbers() {
    let world = World::start().await;
    let server = world.served(limits(1, 60, 100_000_000)).await;
    server.ask(&chat("hi")).await.answer();
    let got = server.ask(&chat("hi")).await;
    let error = got.error(402);
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("insufficient_quota"), &json!("budget_exhausted"))
    );
    assert_eq!(error["param"], Value::Null);
    let limit = json!({ "kind": "CALLS", "held": 0, "settled": 1, "limit": 1, "resets_at": null });
    assert_eq!(error["limit"], limit);
    assert_eq!(error["left"]["calls"], 0);
    assert_eq!(got.header("x-should-retry"), "false");
    assert!(error["message"].as_str().unwrap().contains("calls"));
    assert_eq!(world.entries().await.len(), 1);
    world.close().await;
}

#[tokio::test]
async fn money_is_clamped_to_what_it_affords_and_then_named_without_its_amount() {
    let world = World::start().await;
    // Room for half an answer, and no more.
    let server = world.served(limits(50, 60, 400_000)).await;
    let words = "word ".repeat(400);
    let body = with(scripted(&json!({ "text": words })), &json!({ "max_tokens": 1_000 }));
    let answer = server.ask(&body).await.answer();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    let said = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(!said.is_empty() && said.len() < words.len());
    let mut last = server.ask(&body).await;
    for _ in 0..20 {
        if last.status != 200 {
            break;
        }
        last = server.ask(&body).await;
    }
    let error = last.error(402);
    assert_eq!(error["limit"]["kind"], "MONEY");
    assert_eq!(
        (&error["limit"]["limit"], &error["limit"]["settled"]),
        (&Value::Null, &Value::Null)
    );
    for secret in ["0.0000", "EUR", "envelopes/"] {
        assert!(!last.text.contains(secret), "{secret}: {}", last.text);
    }
    world.close().await;
}

#[tokio::test]
async fn the_envelopes_time_cuts_and_is_then_named() {
    let world = World::start().await;
    let server = world.served(limits(50, 2, 100_000_000)).await;
    let script = json!({ "text": "one two three", "stall_after": 1 });
    let answer = server.ask(&scripted(&script)).await.answer();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert!(!answer["choices"][0]["message"]["content"].as_str().unwrap().is_empty());
    let error = server.ask(&chat("hi")).await.error(402);
    assert_eq!((&error["limit"]["kind"], &error["limit"]["limit"]), (&json!("SECONDS"), &json!(2)));
    world.close().await;
}

#[tokio::test]
async fn a_wider_limit_is_not_spoken_of() {
    let world = World::start().await;
    let budget =
        proto::Budget { period: proto::Period::Day.into(), calls: Some(1), ..Default::default() };
    let budget = world.budget(budget).await.unwrap();
    let server = world.served(limits(50, 60, 100_000_000)).await;
    server.ask(&chat("hi")).await.answer();
    let got = server.ask(&chat("hi")).await;
    let error = got.error(402);
    assert_eq!(error.get("limit"), None);
    assert!(!got.text.contains(budget.name.rsplit('/').next().unwrap()));
    assert!(!error["message"].as_str().unwrap().contains("calls"));
    world.close().await;
}

#[tokio::test]
async fn calls_at_once_are_bounded_on_every_replica_and_may_be_tried_later() {
    let world = World::start().await;
    let envelope = world.open(limits(50, 60, 100_000_000)).await;
    let request = MintTokenRequest {
        envelope: envelope.clone(),
        concurrent_calls: Some(1),
        ..Default::default()
    };
    let token = world.try_mint(request).await.unwrap();
    assert_ne!(token.envelope, envelope);
    assert_eq!(world.envelope(&token.envelope).await.parent, envelope);
    let server = Server::new(&world, &token.key);
    let slow = server.post(&scripted(&json!({ "text": "slow", "first_delay_ms": 1_500 })));
    let slow = tokio::spawn(super::got(slow));
    while world.number("select count(*) from holds").await == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let got = server.ask(&chat("hi")).await;
    assert_eq!(got.error(429)["code"], "too_many_calls_at_once");
    assert_eq!((got.header("x-should-retry"), got.header("retry-after")), ("true", "2"));
    slow.await.unwrap().answer();
    server.ask(&chat("hi")).await.answer();
    // What it spends is the envelope's that was named.
    assert_eq!(world.envelope(&envelope).await.left.unwrap().calls, 48);
    // At the end of the outer one, that one is named as its own.
    let outer = world.open(limits(1, 60, 100_000_000)).await;
    let request = MintTokenRequest {
        envelope: outer.clone(),
        concurrent_calls: Some(4),
        ..Default::default()
    };
    let server = Server::new(&world, &world.try_mint(request).await.unwrap().key);
    let of_host = crate::call::world::ask_in(&outer, &json!({ "text": "hi" }));
    world.sample(of_host).await.unwrap();
    assert_eq!(server.ask(&chat("hi")).await.error(402)["limit"]["kind"], "CALLS");
    world.close().await;
}

#[tokio::test]
async fn a_wider_bound_of_calls_at_once_may_be_tried_later_too() {
    let world = World::start().await;
    let budget = proto::Budget {
        period: proto::Period::Lifetime.into(),
        concurrent_calls: Some(1),
        ..Default::default()
    };
    world.budget(budget).await.unwrap();
    let server = world.served(limits(50, 60, 100_000_000)).await;
    let slow = server.post(&scripted(&json!({ "text": "slow", "first_delay_ms": 1_500 })));
    let slow = tokio::spawn(super::got(slow));
    while world.number("select count(*) from holds").await == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let got = server.ask(&chat("hi")).await;
    assert_eq!(got.error(429)["code"], "rate_limit_exceeded");
    assert_eq!(got.header("x-should-retry"), "true");
    slow.await.unwrap().answer();
    world.close().await;
}

#[tokio::test]
async fn what_is_not_granted_is_forbidden() {
    let world = World::start().await;
    world.regrant(|it| it.tools = false).await;
    let server = world.served(limits(50, 60, 100_000_000)).await;
    let got = server.ask(&with(chat("hi"), &json!({ "tools": weather() }))).await;
    let error = got.error(403);
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("permission_error"), &json!("tools_not_granted"))
    );
    assert_eq!(got.header("x-should-retry"), "false");
    assert!(world.entries().await.is_empty());
    world.close().await;
}

#[tokio::test]
async fn a_failure_of_the_backend_does_not_say_what_it_cost() {
    let world = World::start().await;
    let server = world.served(limits(50, 60, 100_000_000)).await;
    let got = server.ask(&scripted(&json!({ "fault": "disconnect" }))).await;
    assert_eq!(got.error(503)["code"], "backend_failed");
    for secret in ["EUR", "charged", "call_", "0."] {
        assert!(!got.text.contains(secret), "{secret}: {}", got.text);
    }
    world.close().await;
}

#[tokio::test]
async fn fifty_at_once_never_spend_more_than_the_envelope() {
    let world = World::start().await;
    let envelope =
        world.open(EnvelopeLimits { calls: Some(3), ..limits(3, 60, 100_000_000) }).await;
    let server = Server::new(&world, &world.mint(&envelope).await.key);
    let body = chat("hi");
    let all = futures_util::future::join_all((0..50).map(|_| server.ask(&body))).await;
    let count = |status: u16| all.iter().filter(|it| it.status == status).count();
    assert_eq!((count(200), count(402)), (3, 47));
    assert_eq!(world.entries().await.len(), 3);
    assert_eq!(demo::USER, world.envelope(&envelope).await.user);
    world.close().await;
}
