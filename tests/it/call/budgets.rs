//! Operators' budgets beside the envelope, and many callers at once.

use bursar::{
    admin::demo,
    proto::{self, Budget, CreateMessageResponse, Cut, LimitKind, Outcome, Period},
};
use futures_util::future::join_all;
use serde_json::json;

use super::{
    price::{bound_of, hold},
    world::{Change, World, ask, ask_in, charged, limits, money},
};

fn scopes() -> [(&'static str, &'static str); 4] {
    [(demo::USER, demo::SERVER), (demo::USER, ""), ("", demo::SERVER), ("", "")]
}

fn budget((user, server): (&str, &str), period: Period) -> Budget {
    Budget {
        display_name: "bound".to_owned(),
        user: user.to_owned(),
        server: server.to_owned(),
        period: period.into(),
        ..Default::default()
    }
}

#[tokio::test]
async fn a_budget_of_any_scope_binds_and_is_named_until_it_is_deleted() {
    let world = World::start().await;
    for scope in scopes() {
        for period in [Period::Day, Period::Lifetime] {
            let wanted = Budget { calls: Some(1), ..budget(scope, period) };
            let made = world.budget(wanted).await.unwrap();
            let first = world.sample(ask(&json!({}))).await.unwrap();
            assert_eq!(first.outcome(), Outcome::Complete, "{scope:?}");
            let second = world.sample(ask(&json!({}))).await.unwrap();
            assert_eq!((second.outcome(), second.cut()), (Outcome::Exhausted, Cut::Budget));
            let limit = second.limit.as_ref().unwrap();
            assert_eq!((limit.name.as_str(), limit.kind()), (made.name.as_str(), LimitKind::Calls));
            assert_eq!((limit.settled.as_str(), limit.limit.as_str()), ("1", "1"));
            assert_eq!(limit.resets_at.is_empty(), period == Period::Lifetime, "{scope:?}");
            if period == Period::Day {
                assert!(limit.resets_at.ends_with("T00:00:00Z"), "{}", limit.resets_at);
            }
            // The server hears nothing of limits wider than its own.
            assert_eq!(super::world::meta(&second).get("limit"), None);
            let delete = proto::DeleteBudgetRequest { name: made.name };
            world.admin().delete_budget(world.operator(delete)).await.unwrap();
            let third = world.sample(ask(&json!({}))).await.unwrap();
            assert_eq!(third.outcome(), Outcome::Complete, "a deleted budget binds no more");
        }
    }
    world.close().await;
}

#[tokio::test]
async fn a_budget_in_money_clamps_and_one_that_only_observes_never_does() {
    let world = World::start().await;
    let words: Vec<String> = (0..100).map(|it| format!("w{it}")).collect();
    let script = json!({ "text": words.join(" ") });
    let room = hold(bound_of(&script), 30);
    let observe = Budget {
        money: Some(money(1)),
        calls: Some(1),
        observe_only: true,
        ..budget(("", ""), Period::Month)
    };
    world.budget(observe).await.unwrap();
    for _ in 0..2 {
        assert_eq!(world.sample(ask(&script)).await.unwrap().outcome(), Outcome::Complete);
    }
    let binding = Budget { money: Some(money(room)), ..budget((demo::USER, ""), Period::Month) };
    let made = world.budget(binding).await.unwrap();
    let reply = world.sample(ask(&script)).await.unwrap();
    assert_eq!((reply.outcome(), reply.cut()), (Outcome::Partial, Cut::Budget));
    assert_eq!(reply.limit.as_ref().unwrap().name, made.name);
    assert!(charged(&reply) <= room);
    world.close().await;
}

fn outcomes(replies: &[CreateMessageResponse], wanted: Outcome) -> usize {
    replies.iter().filter(|it| it.outcome() == wanted).count()
}

#[tokio::test]
async fn fifty_at_once_on_room_for_two_and_a_part_never_spend_more() {
    let world = World::start().await;
    let words: Vec<String> = (0..100).map(|it| format!("w{it}")).collect();
    // Held, used and claimed to the last token of the answer, so that what is held
    // is close to what is spent.
    let mut script = json!({ "text": words.join(" "), "first_delay_ms": 300 });
    script["usage"] = json!({ "input": 100, "output": 100 });
    let one = hold(bound_of(&script), 100);
    let room = one * 5 / 2;
    let envelope = world.open(limits(1_000, 60, room)).await;
    let replies = join_all((0..50).map(|_| world.sample(ask_in(&envelope, &script)))).await;
    let replies: Vec<_> = replies.into_iter().map(Result::unwrap).collect();
    assert_eq!(outcomes(&replies, Outcome::Complete), 2);
    assert!(outcomes(&replies, Outcome::Partial) <= 1);
    let spent: i64 = replies.iter().filter(|it| it.charge.is_some()).map(charged).sum();
    assert!(spent <= room, "{spent} of {room}");
    for it in replies.iter().filter(|it| it.outcome() == Outcome::Exhausted) {
        let limit = it.limit.as_ref().unwrap();
        assert_eq!((limit.name.as_str(), limit.kind()), (envelope.as_str(), LimitKind::Money));
        assert_ne!(limit.held, "0.00", "nothing was spent yet: all of it was held");
    }
    world.close().await;
}

#[tokio::test]
async fn two_hundred_at_once_on_room_for_three_make_exactly_three_calls() {
    let world = World::start().await;
    for (calls, tenant_calls) in [(3, None), (1_000, Some(3))] {
        let made = match tenant_calls {
            None => None,
            Some(it) => {
                let wanted = Budget { calls: Some(it), ..budget(("", ""), Period::Day) };
                Some(world.budget(wanted).await.unwrap())
            }
        };
        let envelope = world.open(limits(calls, 60, 100_000_000)).await;
        let script = json!({ "text": "hi", "first_delay_ms": 20 });
        let request = ask_in(&envelope, &script).max(20);
        let replies = join_all((0..200).map(|_| world.sample(request.clone()))).await;
        let replies: Vec<_> = replies.into_iter().map(Result::unwrap).collect();
        assert_eq!(outcomes(&replies, Outcome::Complete), 3);
        assert_eq!(outcomes(&replies, Outcome::Exhausted), 197);
        let name = made.map_or(envelope, |it| it.name);
        let named =
            |it: &&CreateMessageResponse| it.limit.as_ref().is_some_and(|it| it.name == name);
        assert_eq!(replies.iter().filter(named).count(), 197);
    }
    world.close().await;
}
