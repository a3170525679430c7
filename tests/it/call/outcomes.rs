//! How a call ends when nothing breaks: complete, clamped, out of calls.

use bursar::proto::{Cut, LimitKind, Outcome, ToolChoiceMode};
use serde_json::json;

use super::{
    price::{affords, bound_of, exact, hold, words_of},
    world::{Change, World, ask, ask_in, charged, limits, meta, stop_reason, text},
};

#[tokio::test]
async fn an_answer_comes_and_costs_what_was_counted() {
    let world = World::start().await;
    let script = json!({ "text": "The sky scatters blue light." });
    let reply = world.sample(ask(&script)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    assert_eq!(text(&reply), "The sky scatters blue light.");
    assert_eq!((stop_reason(&reply), reply.cut()), ("endTurn", Cut::Unspecified));
    assert_eq!(reply.limit, None);
    let words = words_of(&script);
    assert_eq!(charged(&reply), exact(words, 5));
    assert!(!reply.charge.as_ref().unwrap().estimated);
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input, usage.output), (words.try_into().unwrap(), 5));
    assert_eq!(reply.left.unwrap().calls, 19);
    let entry = world.entry().await;
    assert_eq!(entry.call, reply.call);
    assert_eq!(super::world::nanos(entry.hold.as_ref()), hold(bound_of(&script), 100));
    assert_eq!(
        entry.postings.iter().map(|it| super::world::nanos(it.amount.as_ref())).sum::<i64>(),
        0
    );
    world.close().await;
}

#[tokio::test]
async fn the_requests_own_maximum_is_a_complete_answer() {
    let world = World::start().await;
    let script = json!({ "text": "one two three four" });
    let reply = world.sample(ask(&script).max(2)).await.unwrap();
    assert_eq!((reply.outcome(), reply.cut()), (Outcome::Complete, Cut::Unspecified));
    assert_eq!((text(&reply), stop_reason(&reply)), ("one two", "maxTokens"));
    assert_eq!(charged(&reply), exact(words_of(&script), 2));
    world.close().await;
}

#[tokio::test]
async fn money_that_does_not_suffice_shortens_the_answer_and_says_which_envelope() {
    let world = World::start().await;
    let words: Vec<String> = (0..200).map(|it| format!("w{it}")).collect();
    let script = json!({ "text": words.join(" ") });
    let room = hold(bound_of(&script), 40) + 5;
    assert_eq!(affords(room, bound_of(&script)), 40);
    let envelope = world.open(limits(5, 60, room)).await;
    let reply = world.sample(ask_in(&envelope, &script)).await.unwrap();
    assert_eq!((reply.outcome(), reply.cut()), (Outcome::Partial, Cut::Budget));
    assert_eq!((text(&reply), stop_reason(&reply)), (words[..40].join(" ").as_str(), "maxTokens"));
    let limit = reply.limit.as_ref().unwrap();
    assert_eq!((limit.name.as_str(), limit.kind()), (envelope.as_str(), LimitKind::Money));
    assert_eq!(limit.resets_at, "");
    assert_eq!(charged(&reply), exact(words_of(&script), 40));
    assert_eq!(world.entry().await.cut(), Cut::Budget);
    assert!(reply.warnings.iter().any(|it| it.contains("from 100 to 40")), "{:?}", reply.warnings);
    // The server is told that it was its budget, and no amount.
    let meta = meta(&reply);
    assert_eq!((&meta["outcome"], &meta["cut"]), (&json!("PARTIAL"), &json!("BUDGET")));
    assert_eq!(meta.get("limit"), None);
    world.close().await;
}

#[tokio::test]
async fn out_of_calls_is_an_empty_answer_and_not_an_error() {
    let world = World::start().await;
    let envelope = world.open(limits(1, 60, 100_000_000)).await;
    let script = json!({ "text": "hello" });
    world.sample(ask_in(&envelope, &script)).await.unwrap();
    let plain = ask_in(&envelope, &script);
    let tools = plain.clone().tool("look").choice(ToolChoiceMode::Required);
    for request in [plain, tools] {
        let reply = world.sample(request).await.unwrap();
        assert_eq!((reply.outcome(), reply.cut()), (Outcome::Exhausted, Cut::Budget));
        assert_eq!((text(&reply), stop_reason(&reply)), ("", "budgetExhausted"));
        let limit = reply.limit.as_ref().unwrap();
        assert_eq!((limit.name.as_str(), limit.kind()), (envelope.as_str(), LimitKind::Calls));
        assert_eq!(
            (limit.held.as_str(), limit.settled.as_str(), limit.limit.as_str()),
            ("0", "1", "1")
        );
        assert_eq!(meta(&reply)["limit"], "CALLS");
        assert_eq!((reply.charge.as_ref(), reply.left.unwrap().calls), (None, 0));
    }
    assert_eq!(world.entries().await.len(), 1);
    world.close().await;
}

#[tokio::test]
async fn a_cheaper_model_takes_over_when_money_is_short() {
    let world = World::start().await;
    let script = json!({ "text": "hello" });
    let envelope = world.open(limits(5, 60, hold(bound_of(&script), 100))).await;
    let reply = world.sample(ask_in(&envelope, &script).hint("large")).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    assert_eq!(reply.route.as_ref().unwrap().alias, "scripted-small");
    assert_eq!(charged(&reply), exact(words_of(&script), 1));
    world.close().await;
}

#[tokio::test]
async fn an_empty_answer_is_one_empty_block() {
    let world = World::start().await;
    let reply = world.sample(ask(&json!({ "text": "" }))).await.unwrap();
    assert_eq!(
        (reply.outcome(), text(&reply), stop_reason(&reply)),
        (Outcome::Complete, "", "endTurn")
    );
    world.close().await;
}

#[tokio::test]
async fn a_filtered_answer_is_a_refusal_of_the_model_and_no_error() {
    let world = World::start().await;
    let script = json!({ "text": "I will not", "finish": "content_filter" });
    let reply = world.sample(ask(&script)).await.unwrap();
    assert_eq!((reply.outcome(), stop_reason(&reply)), (Outcome::Complete, "refusal"));
    assert_eq!(charged(&reply), exact(words_of(&script), 3));
    world.close().await;
}
