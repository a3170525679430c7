//! Limits of host applications, project roots, calls at once and shares: all must have
//! room, and the one that has none is named.

use std::time::Duration;

use bursar::{
    admin::demo,
    proto::{
        self, Budget, CreateMessageRequest, CreateMessageResponse, EnvelopeLimits, LimitKind,
        Outcome, Period,
    },
};
use futures_util::future::join_all;
use serde_json::json;
use tonic::Code;
use tonic_types::StatusExt;

use super::world::{Change, World, ask, ask_in, limits, meta, money, signed};

const ROOT: &str = "file:///home/alice/project";

type Set = fn(&mut Budget);

fn budget() -> Budget {
    Budget { period: Period::Month.into(), ..Default::default() }
}

fn in_root(root: &str) -> CreateMessageRequest {
    CreateMessageRequest { root: root.to_owned(), ..ask(&json!({})) }
}

#[track_caller]
fn short(reply: &CreateMessageResponse, budget: &Budget, kind: LimitKind) {
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    let limit = reply.limit.as_ref().unwrap();
    assert_eq!((limit.name.as_str(), limit.kind()), (budget.name.as_str(), kind));
    assert_eq!(meta(reply).get("limit"), None, "the server hears nothing of wider limits");
}

#[tokio::test]
async fn a_project_root_has_a_budget_of_its_own() {
    let world = World::start().await;
    let wanted = Budget { root: format!("{ROOT}/"), calls: Some(1), ..budget() };
    let made = world.budget(wanted).await.unwrap();
    assert_eq!(made.root, ROOT, "a slash at the end makes no other root");
    for root in ["", "file:///home/alice", "file:///home/alice/project/sub"] {
        let elsewhere = world.sample(in_root(root)).await.unwrap();
        assert_eq!(elsewhere.outcome(), Outcome::Complete, "{root}");
    }
    let first = world.sample(in_root(ROOT)).await.unwrap();
    assert_eq!(first.outcome(), Outcome::Complete);
    let second = world.sample(in_root(&format!("{ROOT}/"))).await.unwrap();
    short(&second, &made, LimitKind::Calls);
    assert!(second.limit.unwrap().resets_at.ends_with("-01T00:00:00Z"));
    // Holds of a host with a model of its own count as well.
    let reserve = proto::ReserveRequest {
        user: demo::USER.to_owned(),
        server: demo::SERVER.to_owned(),
        money: Some(money(1_000)),
        root: ROOT.to_owned(),
        ..Default::default()
    };
    let held = world.envelopes().reserve(world.host(reserve)).await.unwrap().into_inner();
    assert_eq!((held.outcome(), held.limit.unwrap().name), (Outcome::Exhausted, made.name));
    let roots: Vec<_> = world.entries().await.into_iter().map(|it| it.root).collect();
    assert_eq!(
        roots,
        [ROOT, "file:///home/alice/project/sub", "file:///home/alice", ""],
        "the ledger says where it was"
    );
    world.close().await;
}

#[tokio::test]
async fn a_host_application_has_a_budget_of_its_own() {
    let world = World::start().await;
    let request = proto::CreateCredentialRequest {
        role: proto::CredentialRole::Host.into(),
        host: "editor".to_owned(),
        ..Default::default()
    };
    let made = world.admin().create_credential(world.operator(request)).await.unwrap();
    let key = made.into_inner().key;
    let wanted = Budget { host: "editor".to_owned(), calls: Some(1), ..budget() };
    let made = world.budget(wanted).await.unwrap();
    assert_eq!(made.host, "editor");
    let mut replies = Vec::new();
    for _ in 0..2 {
        let reply = world.sampling().create_message(signed(&key, ask(&json!({})))).await;
        replies.push(reply.unwrap().into_inner());
        let other = world.sample(ask(&json!({}))).await.unwrap();
        assert_eq!(other.outcome(), Outcome::Complete, "another host is not bound");
    }
    assert_eq!(replies[0].outcome(), Outcome::Complete);
    short(&replies[1], &made, LimitKind::Calls);
    let unknown = Budget { host: "nobody".to_owned(), calls: Some(1), ..budget() };
    let refused = world.budget(unknown).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let details = refused.get_error_details();
    assert_eq!(details.bad_request().unwrap().field_violations[0].field, "budget.host");
    world.close().await;
}

#[tokio::test]
async fn calls_at_once_are_bounded_and_free_again_when_they_end() {
    let world = World::start().await;
    let at_once = EnvelopeLimits { concurrent_calls: Some(2), ..limits(20, 60, 400_000_000) };
    let narrow = world.open(at_once).await;
    let wide = world.open(limits(20, 60, 400_000_000)).await;
    let slow = json!({ "text": "slow", "first_delay_ms": 400 });
    for (envelope, most) in [(&narrow, 2), (&wide, 3)] {
        if envelope == &wide {
            let wanted = Budget { concurrent_calls: Some(3), ..budget() };
            world.budget(wanted).await.unwrap();
        }
        for _ in 0..2 {
            let calls = (0..8).map(|_| world.sample(ask_in(envelope, &slow).max(20)));
            let replies: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
            let complete = replies.iter().filter(|it| it.outcome() == Outcome::Complete).count();
            assert_eq!(complete, most);
            for it in replies.iter().filter(|it| it.outcome() == Outcome::Exhausted) {
                let limit = it.limit.as_ref().unwrap();
                assert_eq!(limit.kind(), LimitKind::ConcurrentCalls);
                let most = most.to_string();
                assert_eq!((&limit.held, &limit.limit), (&most, &most));
                assert_eq!((limit.settled.as_str(), limit.resets_at.as_str()), ("0", ""));
                let said = meta(it).get("limit").cloned();
                let own = (envelope == &narrow).then(|| json!("CONCURRENT_CALLS"));
                assert_eq!(said, own, "only its own envelope is the server's business");
            }
            world.nothing_is_held().await;
        }
    }
    world.close().await;
}

#[tokio::test]
async fn one_server_has_at_most_its_share_of_a_common_budget() {
    let world = World::start().await;
    world.server("second").await;
    world
        .grant(proto::Grant {
            user: demo::USER.to_owned(),
            server: "second".to_owned(),
            default_envelope: Some(limits(20, 60, 400_000_000)),
            ..Default::default()
        })
        .await;
    let wanted = Budget { calls: Some(10), server_share_percent: 50, ..budget() };
    let made = world.budget(wanted).await.unwrap();
    assert_eq!(made.server_share_percent, 50);
    let of = |server: &str, n: usize| {
        let slow = json!({ "text": "hi", "first_delay_ms": 30 });
        let call = CreateMessageRequest { server: server.to_owned(), ..ask(&slow).max(20) };
        let calls: Vec<_> = (0..n).map(|_| world.sample(call.clone())).collect();
        async { join_all(calls).await.into_iter().map(Result::unwrap).collect::<Vec<_>>() }
    };
    let complete = |it: &[CreateMessageResponse]| {
        it.iter().filter(|it| it.outcome() == Outcome::Complete).count()
    };
    let first = of(demo::SERVER, 12).await;
    assert_eq!(complete(&first), 5, "half of ten, however many come at once");
    let refused = first.iter().find(|it| it.outcome() == Outcome::Exhausted).unwrap();
    short(refused, &made, LimitKind::Calls);
    let limit = refused.limit.as_ref().unwrap();
    assert!(limit.share, "it is the share that was short, not the budget");
    assert_eq!(limit.limit, "5");
    assert!(!limit.resets_at.is_empty());
    let second = of("second", 12).await;
    assert_eq!(complete(&second), 5, "the other half was kept for the others");
    // Nobody has more than the whole.
    world.server("third").await;
    let delete = proto::DeleteBudgetRequest { name: made.name };
    world.admin().delete_budget(world.operator(delete)).await.unwrap();
    assert_eq!(complete(&of(demo::SERVER, 1).await), 1, "a deleted budget's shares bind no more");
    world.close().await;
}

#[tokio::test]
async fn every_limit_must_have_room_and_the_short_one_is_named() {
    let world = World::start().await;
    let root = || ROOT.to_owned();
    let (user, server) = (demo::USER.to_owned(), demo::SERVER.to_owned());
    let scopes = [
        budget(),
        Budget { host: demo::HOST.to_owned(), ..budget() },
        Budget { root: root(), ..budget() },
        Budget { user: user.clone(), ..budget() },
        Budget { server: server.clone(), ..budget() },
        Budget { user, server, ..budget() },
        Budget { host: demo::HOST.to_owned(), root: root(), ..budget() },
    ];
    let amounts: [(LimitKind, Set); 4] = [
        (LimitKind::Calls, |it| it.calls = Some(1)),
        (LimitKind::Money, |it| it.money = Some(money(1))),
        (LimitKind::Tokens, |it| it.tokens = Some(1)),
        (LimitKind::ConcurrentCalls, |it| it.concurrent_calls = Some(1)),
    ];
    for scope in scopes {
        for (kind, set) in amounts {
            let mut wanted = scope.clone();
            set(&mut wanted);
            let made = world.budget(wanted).await.unwrap();
            let slow = CreateMessageRequest {
                root: root(),
                ..ask(&json!({ "text": "slow", "first_delay_ms": 150 })).max(20)
            };
            let (first, second) = tokio::join!(world.sample(slow.clone()), async {
                tokio::time::sleep(Duration::from_millis(40)).await;
                world.sample(slow.clone()).await
            });
            let refused = [first.unwrap(), second.unwrap()];
            let refused = refused.iter().find(|it| it.outcome() == Outcome::Exhausted).unwrap();
            short(refused, &made, kind);
            let delete = proto::DeleteBudgetRequest { name: made.name };
            world.admin().delete_budget(world.operator(delete)).await.unwrap();
        }
    }
    world.close().await;
}

#[tokio::test]
async fn a_budget_that_cannot_be_says_which_field_is_wrong() {
    let world = World::start().await;
    let cases = [
        (Budget { server_share_percent: 100, calls: Some(1), ..budget() }, "server_share_percent"),
        (Budget { server_share_percent: -1, calls: Some(1), ..budget() }, "server_share_percent"),
        (
            Budget {
                server_share_percent: 10,
                server: demo::SERVER.to_owned(),
                calls: Some(1),
                ..budget()
            },
            "server_share_percent",
        ),
        (Budget { concurrent_calls: Some(0), ..budget() }, "concurrent_calls"),
        (Budget { root: "https://example.org".to_owned(), calls: Some(1), ..budget() }, "root"),
        (Budget { root: "file:///a/../b".to_owned(), calls: Some(1), ..budget() }, "root"),
    ];
    for (wanted, field) in cases {
        let refused = world.budget(wanted).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        let details = refused.get_error_details();
        let named = &details.bad_request().unwrap().field_violations[0].field;
        assert_eq!(named, &format!("budget.{field}"));
    }
    world.close().await;
}
