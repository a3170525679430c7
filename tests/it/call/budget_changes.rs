//! Budgets that are changed while calls count on them.

use bursar::{
    admin::demo,
    proto::{self, Budget, FieldMask, LimitKind, Outcome, Period, UpdateBudgetRequest},
};
use serde_json::json;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::world::{World, ask, money};

fn budget() -> Budget {
    Budget {
        display_name: "bound".to_owned(),
        user: demo::USER.to_owned(),
        period: Period::Month.into(),
        calls: Some(2),
        ..Default::default()
    }
}

async fn update(world: &World, budget: Budget, fields: &[&str]) -> Result<Budget, Status> {
    let paths = fields.iter().map(|it| (*it).to_owned()).collect();
    let request = UpdateBudgetRequest {
        budget: Some(budget),
        update_mask: Some(FieldMask { paths }),
        validate_only: false,
    };
    Ok(world.admin().update_budget(world.operator(request)).await?.into_inner())
}

/// What a limit of the budget says: settled and allowed.
fn status(budget: &Budget, kind: LimitKind) -> (String, String) {
    let found = budget.status.iter().find(|it| it.kind() == kind && !it.share).unwrap();
    (found.settled.clone(), found.limit.clone())
}

async fn outcome(world: &World) -> Outcome {
    world.sample(ask(&json!({ "text": "one" }))).await.unwrap().outcome()
}

#[tokio::test]
async fn a_changed_budget_keeps_what_was_counted() {
    let world = World::start().await;
    let made = world.budget(budget()).await.unwrap();
    for wanted in [Outcome::Complete, Outcome::Complete, Outcome::Exhausted] {
        assert_eq!(outcome(&world).await, wanted);
    }
    // Raised: one more.
    let raised =
        update(&world, Budget { calls: Some(3), ..made.clone() }, &["calls"]).await.unwrap();
    assert_eq!(status(&raised, LimitKind::Calls), ("2".to_owned(), "3".to_owned()));
    assert_ne!(raised.etag, made.etag);
    assert_eq!(outcome(&world).await, Outcome::Complete);
    assert_eq!(outcome(&world).await, Outcome::Exhausted);
    // Lowered below what is spent: allowed, shown, and the proof knows it.
    let lowered = update(&world, Budget { calls: Some(1), ..raised }, &["calls"]).await.unwrap();
    assert_eq!(status(&lowered, LimitKind::Calls), ("3".to_owned(), "1".to_owned()));
    assert_eq!(outcome(&world).await, Outcome::Exhausted);
    // Only watched for a while, and binding again.
    let watched = Budget { observe_only: true, ..lowered };
    let watched = update(&world, watched, &["observe_only"]).await.unwrap();
    assert_eq!(outcome(&world).await, Outcome::Complete);
    let binding = Budget { observe_only: false, ..watched };
    let binding = update(&world, binding, &["observe_only"]).await.unwrap();
    assert_eq!(outcome(&world).await, Outcome::Exhausted);
    // Another bound in place of the first, and the first again with its count.
    let other = Budget { calls: None, tokens: Some(1_000_000), ..binding };
    let other = update(&world, other, &["calls", "tokens"]).await.unwrap();
    assert_eq!(other.status.len(), 1);
    assert_eq!(outcome(&world).await, Outcome::Complete);
    let both = update(&world, Budget { calls: Some(5), ..other }, &["calls"]).await.unwrap();
    assert_eq!(status(&both, LimitKind::Calls), ("4".to_owned(), "5".to_owned()));
    assert_eq!(outcome(&world).await, Outcome::Complete);
    assert_eq!(outcome(&world).await, Outcome::Exhausted);
    world.close().await;
}

#[tokio::test]
async fn a_change_may_be_tried_and_never_overwrites_somebody_elses() {
    let world = World::start().await;
    let made = world.budget(budget()).await.unwrap();
    let dry = UpdateBudgetRequest {
        budget: Some(Budget { calls: Some(9), money: Some(money(5)), ..made.clone() }),
        update_mask: None,
        validate_only: true,
    };
    let shown = world.admin().update_budget(world.operator(dry)).await.unwrap().into_inner();
    assert_eq!(status(&shown, LimitKind::Calls).1, "9");
    let request = proto::ListBudgetsRequest::default();
    let listed = world.admin().list_budgets(world.operator(request)).await.unwrap().into_inner();
    assert_eq!(listed.budgets.first(), Some(&made), "nothing was changed");
    let first =
        update(&world, Budget { calls: Some(4), ..made.clone() }, &["calls"]).await.unwrap();
    let late = update(&world, Budget { calls: Some(8), ..made.clone() }, &["calls"]).await;
    let late = late.unwrap_err();
    assert_eq!(late.code(), Code::Aborted);
    assert_eq!(late.get_details_error_info().unwrap().reason, "ETAG_MISMATCH");
    let blind = Budget { calls: Some(8), etag: String::new(), ..made };
    assert_eq!(update(&world, blind, &["calls"]).await.unwrap().calls, Some(8));
    for (spoiled, mask, field) in [
        (Budget { calls: None, ..first.clone() }, "calls", "budget"),
        (Budget { calls: Some(0), ..first.clone() }, "calls", "budget.calls"),
        (first.clone(), "period", "update_mask"),
        (first.clone(), "user", "update_mask"),
        (Budget { name: String::new(), ..first.clone() }, "calls", "budget.name"),
    ] {
        let spoiled = Budget { etag: String::new(), ..spoiled };
        let status = update(&world, spoiled, &[mask]).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{mask}: {status}");
        assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, field);
    }
    world.close().await;
}

#[tokio::test]
async fn calls_are_counted_by_the_minute() {
    let world = World::start().await;
    let wanted = Budget { period: Period::Minute.into(), calls: Some(2), ..budget() };
    let made = world.budget(wanted).await.unwrap();
    let mut exhausted = None;
    // A minute may end in between, once.
    for _ in 0..5 {
        let reply = world.sample(ask(&json!({ "text": "one" }))).await.unwrap();
        if reply.outcome() == Outcome::Exhausted {
            exhausted = reply.limit;
        }
    }
    let limit = exhausted.unwrap();
    assert_eq!(limit.name, made.name);
    assert!(limit.resets_at.ends_with(":00Z"), "{}", limit.resets_at);
    world.close().await;
}

#[tokio::test]
async fn a_raise_is_taken_back_by_itself_and_what_it_let_through_stays_spent() {
    let world = World::start().await;
    let made = world.budget(budget()).await.unwrap();
    for wanted in [Outcome::Complete, Outcome::Complete, Outcome::Exhausted] {
        assert_eq!(outcome(&world).await, wanted);
    }
    let raise = proto::RaiseBudgetRequest {
        name: made.name.clone(),
        calls: Some(2),
        seconds: 60,
        reason: "a fire".to_owned(),
        ..Default::default()
    };
    let raised = world.admin().raise_budget(world.operator(raise.clone())).await.unwrap();
    let raised = raised.into_inner();
    assert_eq!(status(&raised, LimitKind::Calls), ("2".to_owned(), "4".to_owned()));
    assert_eq!((raised.calls, raised.raises[0].calls), (Some(2), Some(2)));
    assert!(!raised.raises[0].end_time.is_empty());
    assert_eq!(outcome(&world).await, Outcome::Complete);
    // A change of the budget lets the raise be.
    let changed = update(&world, Budget { calls: Some(3), ..raised }, &["calls"]).await.unwrap();
    assert_eq!(status(&changed, LimitKind::Calls), ("3".to_owned(), "5".to_owned()));
    for wanted in [Outcome::Complete, Outcome::Complete, Outcome::Exhausted] {
        assert_eq!(outcome(&world).await, wanted);
    }
    // As if its time had passed.
    let over = "with over as (update budget_raises set raised_at = raised_at - interval '1 hour',
        ends_at = now() returning 1) select count(*) from over";
    assert_eq!(world.number(over).await, 1);
    let begun = std::time::Instant::now();
    let in_force = "select count(*) from budget_raises where ended_at is null";
    while world.number(in_force).await > 0 {
        assert!(begun.elapsed().as_secs() < 20, "it is never taken back");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let request = proto::ListBudgetsRequest::default();
    let listed = world.admin().list_budgets(world.operator(request)).await.unwrap().into_inner();
    let [it] = listed.budgets.as_slice() else { panic!("{listed:?}") };
    assert_eq!(status(it, LimitKind::Calls), ("5".to_owned(), "3".to_owned()));
    assert_eq!((it.raises.len(), outcome(&world).await), (0, Outcome::Exhausted));
    let more = |calls, tokens, seconds, reason: &str| proto::RaiseBudgetRequest {
        calls,
        tokens,
        seconds,
        reason: reason.to_owned(),
        ..raise.clone()
    };
    for (spoiled, field) in [
        (more(None, None, 60, "a fire"), "calls"),
        (more(None, Some(5), 60, "a fire"), "tokens"),
        (more(Some(0), None, 60, "a fire"), "calls"),
        (more(Some(1), None, 59, "a fire"), "seconds"),
        (more(Some(1), None, 604_801, "a fire"), "seconds"),
        (more(Some(1), None, 60, ""), "reason"),
    ] {
        let status = world.admin().raise_budget(world.operator(spoiled)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, field);
    }
    world.close().await;
}
