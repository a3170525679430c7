//! What a backend claims was used, believed or not.

use bursar::proto::{EntryKind, Outcome};
use serde_json::{Value, json};

use super::{
    price::{bound_of, exact, hold},
    world::{Change, World, ask, ask_in, charged, limits, nanos},
};

fn claims(usage: &Value) -> Value {
    json!({ "text": "four words are said", "usage": usage })
}

#[tokio::test]
async fn an_unknown_use_is_bounded_by_what_arrived() {
    let world = World::start().await;
    let unknown = [
        Value::Null,
        json!({}),
        json!({ "input": null, "output": null }),
        json!({ "input": 0, "output": 0 }),
        json!({ "output": 4 }),
    ];
    for usage in unknown {
        let script = claims(&usage);
        let reply = world.sample(ask(&script)).await.unwrap();
        assert_eq!(reply.outcome(), Outcome::Complete, "{script}");
        assert!(reply.charge.as_ref().unwrap().estimated, "{script}");
        let arrived = exact(bound_of(&script), "four words are said".len());
        assert_eq!(charged(&reply), arrived, "{script}");
    }
    world.close().await;
}

#[tokio::test]
async fn a_use_that_cannot_be_true_is_booked_at_the_hold_and_kept_as_disputed() {
    let absurd = [
        json!({ "input": -1, "output": 4 }),
        json!({ "input": 5, "output": -4 }),
        json!({ "input": 1_000_000, "output": 4 }),
        json!({ "input": 5, "output": 1_000_000_000_000_i64 }),
        json!({ "input": i64::MAX, "output": i64::MAX }),
        json!({ "input": 5, "cache_read": -2, "output": 4 }),
        // More than the model can hold at all, though nobody sees it.
        json!({ "input": 5, "output": 4, "reasoning": 1_000_000_000 }),
    ];
    for usage in absurd {
        let world = World::start().await;
        let script = claims(&usage);
        let reply = world.sample(ask(&script)).await.unwrap();
        assert_eq!(reply.outcome(), Outcome::Complete, "{script}");
        assert!(reply.charge.as_ref().unwrap().estimated, "{script}");
        assert_eq!(charged(&reply), hold(bound_of(&script), 100), "{script}");
        assert!(reply.warnings.iter().any(|it| it.contains("cannot be true")), "{script}");
        let disputed =
            "select count(*) from entries where certainty = 'disputed' and claim is not null";
        assert_eq!(world.number(disputed).await, 1, "{script}");
        world.close().await;
    }
}

#[tokio::test]
async fn a_claim_at_the_edge_of_what_can_be_true_is_believed() {
    let world = World::start().await;
    let text = "four words are said";
    // The number of the claim's digits is in the prompt; find the claim that says it.
    let bound = bound_of(&claims(&json!({ "input": 100, "output": 35 })));
    assert!((100..1_000).contains(&bound));
    let at = claims(&json!({ "input": bound, "output": text.len() + 16 }));
    let reply = world.sample(ask(&at)).await.unwrap();
    assert!(!reply.charge.as_ref().unwrap().estimated);
    assert_eq!(charged(&reply), exact(bound, text.len() + 16));
    let beyond = claims(&json!({ "input": bound + 1, "output": 35 }));
    let reply = world.sample(ask(&beyond)).await.unwrap();
    assert!(reply.charge.as_ref().unwrap().estimated);
    world.close().await;
}

#[tokio::test]
async fn use_beyond_the_hold_is_the_tenants_and_the_next_call_is_refused() {
    let world = World::start().await;
    // Hidden reasoning is true whatever its size: it was delivered to nobody.
    let script =
        json!({ "text": "hi", "usage": { "input": 10, "output": 1, "reasoning": 50_000 } });
    let whole = hold(bound_of(&script), 100);
    let room = whole + whole / 2;
    let envelope = world.open(limits(5, 60, room)).await;
    let reply = world.sample(ask_in(&envelope, &script)).await.unwrap();
    let truth = exact(10, 50_001);
    let charge = reply.charge.as_ref().unwrap();
    assert_eq!(charged(&reply), room, "no more than was granted");
    assert_eq!(nanos(charge.overrun.as_ref()), truth - room);
    assert!(!charge.estimated);
    let entry = world.entry().await;
    assert_eq!(entry.kind(), EntryKind::Settle);
    assert_eq!(nanos(entry.charge.as_ref()) + nanos(entry.overrun.as_ref()), truth);
    let accounts: Vec<&str> = entry.postings.iter().map(|it| it.account.as_str()).collect();
    assert!(accounts.contains(&"tenant_overrun"), "{accounts:?}");
    let next = world.sample(ask_in(&envelope, &json!({}))).await.unwrap();
    assert_eq!(next.outcome(), Outcome::Exhausted);
    let limit = next.limit.unwrap();
    assert_ne!(limit.overrun, "0.00");
    world.close().await;
}

#[tokio::test]
async fn reasoning_that_eats_the_cap_is_billed_and_no_error() {
    let world = World::start().await;
    let script = json!({ "text": "", "finish": "length",
        "usage": { "input": 10, "output": 0, "reasoning": 30 } });
    let reply = world.sample(ask(&script).max(30)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    assert_eq!(super::world::stop_reason(&reply), "maxTokens");
    assert_eq!(charged(&reply), exact(10, 30));
    // Where a clamp was what it ran into, that is said, and it is not out of calls.
    let envelope = world.open(limits(5, 60, hold(bound_of(&script), 20))).await;
    let reply = world.sample(ask_in(&envelope, &script)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Partial);
    assert_eq!(super::world::stop_reason(&reply), "maxTokens");
    assert_eq!(reply.limit.unwrap().name, envelope);
    world.close().await;
}
