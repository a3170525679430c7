//! Which envelope a call counts against, and who may use one.

use std::collections::HashSet;

use bursar::{
    admin::demo,
    proto::{
        self, CloseEnvelopeRequest, CreateMessageRequest, CreateMessageResponse, EnvelopeLimits,
        EnvelopeState, Grant, Origin, OriginatingCall, Outcome, ToolChoiceMode,
    },
};
use futures_util::future::join_all;
use serde_json::json;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::world::{Change, World, ask, ask_in, limits, money, signed};

fn of_call(conversation: &str, id: &str) -> CreateMessageRequest {
    CreateMessageRequest {
        conversation: conversation.to_owned(),
        originating_call: Some(OriginatingCall {
            id: id.to_owned(),
            method: "tools/call".to_owned(),
            name: "search".to_owned(),
        }),
        ..ask(&json!({ "text": "hi" }))
    }
}

#[tokio::test]
async fn calls_share_the_envelope_of_their_origin() {
    let world = World::start().await;
    let plain = ask(&json!({ "text": "hi" }));
    let talk = |it: &str| CreateMessageRequest { conversation: it.to_owned(), ..plain.clone() };
    let scopes = [
        plain.clone(),
        talk("a"),
        talk("b"),
        of_call("", "1"),
        of_call("a", "1"),
        of_call("b", "1"),
        of_call("a", "2"),
    ];
    let mut envelopes = Vec::new();
    for round in 0..2 {
        for (at, request) in scopes.iter().enumerate() {
            let reply = world.sample(request.clone()).await.unwrap();
            assert_eq!(reply.left.unwrap().calls, 19 - round);
            if round == 0 {
                envelopes.push(reply.envelope);
            } else {
                assert_eq!(reply.envelope, envelopes[at]);
            }
        }
    }
    assert_eq!(envelopes.iter().collect::<HashSet<_>>().len(), scopes.len());
    world.close().await;
}

#[tokio::test]
async fn eight_first_calls_at_once_share_one_envelope_and_its_bound_binds() {
    let world = World::start().await;
    world.regrant(|it| it.default_envelope.as_mut().unwrap().calls = Some(3)).await;
    for conversation in ["", "fresh"] {
        let request = CreateMessageRequest {
            conversation: conversation.to_owned(),
            ..ask(&json!({ "text": "hi", "first_delay_ms": 50 }))
        };
        let replies = join_all((0..8).map(|_| world.sample(request.clone()))).await;
        let replies: Vec<CreateMessageResponse> = replies.into_iter().map(Result::unwrap).collect();
        let envelopes: HashSet<&str> = replies.iter().map(|it| it.envelope.as_str()).collect();
        assert_eq!(envelopes.len(), 1);
        let complete = replies.iter().filter(|it| it.outcome() == Outcome::Complete).count();
        assert_eq!(complete, 3);
        for exhausted in replies.iter().filter(|it| it.outcome() == Outcome::Exhausted) {
            assert_eq!(exhausted.left.as_ref().unwrap().calls, 0, "it was refused for its calls");
        }
    }
    world.close().await;
}

#[tokio::test]
async fn a_closed_envelope_takes_no_call_however_it_is_reached() {
    let world = World::start().await;
    let named = world.open(limits(5, 60, 100_000_000)).await;
    let of_origin = world.sample(of_call("a", "1")).await.unwrap().envelope;
    for (envelope, request) in
        [(&named, ask_in(&named, &json!({}))), (&of_origin, of_call("a", "1"))]
    {
        let close = CloseEnvelopeRequest { name: envelope.clone() };
        let closed = world.envelopes().close_envelope(world.host(close)).await.unwrap();
        assert_eq!(closed.get_ref().state(), EnvelopeState::Closed);
        let refused = world.sample(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        let reason = refused.get_error_details().error_info().unwrap().reason.clone();
        assert_eq!(reason, "ENVELOPE_CLOSED");
    }
    // A conversation just begins anew.
    let talk = CreateMessageRequest { conversation: "a".to_owned(), ..ask(&json!({})) };
    let first = world.sample(talk.clone()).await.unwrap().envelope;
    let close = CloseEnvelopeRequest { name: first.clone() };
    world.envelopes().close_envelope(world.host(close)).await.unwrap();
    assert_ne!(world.sample(talk).await.unwrap().envelope, first);
    world.close().await;
}

#[tokio::test]
async fn closing_an_envelope_lets_the_running_call_end() {
    let world = World::start().await;
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let script = json!({ "text": "one two", "first_delay_ms": 300 });
    let (mut client, request) = (world.sampling(), world.host(ask_in(&envelope, &script)));
    let call = tokio::spawn(async move { client.create_message(request).await });
    while world.number("select count(*) from holds").await == 0 {
        tokio::task::yield_now().await;
    }
    let close = CloseEnvelopeRequest { name: envelope.clone() };
    world.envelopes().close_envelope(world.host(close)).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap().get_ref().outcome(), Outcome::Complete);
    world.close().await;
}

#[tokio::test]
async fn finance_sees_an_envelope_but_cannot_close_it() {
    let world = World::start().await;
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let get = proto::GetEnvelopeRequest { name: envelope.clone() };
    world.envelopes().get_envelope(world.finance(get)).await.unwrap();
    let close = || CloseEnvelopeRequest { name: envelope.clone() };
    let refused = world.envelopes().close_envelope(world.finance(close())).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(world.envelope(&envelope).await.state(), EnvelopeState::Open);
    let closed = world.envelopes().close_envelope(world.operator(close())).await.unwrap();
    assert_eq!(closed.get_ref().state(), EnvelopeState::Closed);
    world.close().await;
}

/// What a caller may tell apart of an error.
fn seen(it: &Status) -> (Code, String, Vec<u8>) {
    (it.code(), it.message().to_owned(), it.details().to_vec())
}

#[tokio::test]
async fn an_envelope_of_somebody_else_looks_missing() {
    let world = World::start().await;
    world.user("other-user").await;
    world.server("other-server").await;
    let demo =
        |it: &str, default: &str| if it.is_empty() { default.to_owned() } else { it.to_owned() };
    for (user, server) in [("other-user", ""), ("", "other-server")] {
        let bounds = || Some(limits(5, 60, 100_000_000));
        world
            .grant(Grant {
                user: demo(user, demo::USER),
                server: demo(server, demo::SERVER),
                default_envelope: bounds(),
                max_envelope: bounds(),
                ..Default::default()
            })
            .await;
    }
    let other_host = proto::CreateCredentialRequest {
        display_name: "other".to_owned(),
        role: proto::CredentialRole::Host.into(),
        host: "other-host".to_owned(),
        expire_time: String::new(),
    };
    let other_host =
        world.admin().create_credential(world.operator(other_host)).await.unwrap().into_inner().key;
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let id = envelope.rsplit('/').next().unwrap();
    let ask = |name: &str| ask_in(name, &json!({}));
    let missing = world.demo.tenant;
    let missing = format!("tenants/{missing}/envelopes/env_00000000000070008000000000000001");
    let expected = seen(&world.sample(ask(&missing)).await.unwrap_err());
    assert_eq!(expected.0, Code::NotFound);
    let mut got = vec![
        world
            .sample(CreateMessageRequest { user: "other-user".to_owned(), ..ask(&envelope) })
            .await,
        world
            .sample(CreateMessageRequest { server: "other-server".to_owned(), ..ask(&envelope) })
            .await,
        world
            .sample(ask(&format!("tenants/ten_00000000000040008000000000000001/envelopes/{id}")))
            .await,
    ];
    let foreign = world.sampling().create_message(signed(&other_host, ask(&envelope))).await;
    got.push(foreign.map(tonic::Response::into_inner));
    for it in got {
        assert_eq!(seen(&it.unwrap_err()), expected);
    }
    let get = |name: &str| proto::GetEnvelopeRequest { name: name.to_owned() };
    let close = |name: &str| CloseEnvelopeRequest { name: name.to_owned() };
    let expected = world.envelopes().get_envelope(signed(&other_host, get(&missing))).await;
    let expected = seen(&expected.unwrap_err());
    let foreign = world.envelopes().get_envelope(signed(&other_host, get(&envelope))).await;
    assert_eq!(seen(&foreign.unwrap_err()), expected);
    let foreign = world.envelopes().close_envelope(signed(&other_host, close(&envelope))).await;
    assert_eq!(seen(&foreign.unwrap_err()), expected);
    assert_eq!(world.envelope(&envelope).await.state(), EnvelopeState::Open);
    assert_eq!(world.entries().await.len(), 0);
    world.close().await;
}

#[tokio::test]
async fn without_a_grant_nobody_learns_who_exists() {
    let world = World::start().await;
    world.user("ungranted").await;
    let who = [
        ("ungranted", demo::SERVER),
        ("never-seen", demo::SERVER),
        (demo::USER, "never-seen"),
        ("never-seen", "never-seen"),
    ];
    let mut replies = Vec::new();
    for (user, server) in who {
        let request = CreateMessageRequest {
            user: user.to_owned(),
            server: server.to_owned(),
            ..ask(&json!({}))
        };
        replies.push(world.sample(request).await.unwrap());
    }
    assert_eq!(replies[0].outcome(), Outcome::Refused);
    assert_eq!(replies[0].refusal.as_ref().unwrap().reason, "NO_GRANT");
    assert_eq!(replies[0].result, None);
    assert!(replies.iter().all(|it| *it == replies[0]));
    assert_eq!(world.entries().await.len(), 0);
    world.close().await;
}

#[tokio::test]
async fn a_grant_says_which_models_tools_and_origins_may_be() {
    let world = World::start().await;
    let reason = |it: &CreateMessageResponse| {
        it.refusal.as_ref().map_or_else(String::new, |it| it.reason.clone())
    };
    let background = CreateMessageRequest { origin: Origin::Background.into(), ..ask(&json!({})) };
    let refused = world.sample(background.clone()).await.unwrap();
    assert_eq!(reason(&refused), "BACKGROUND_NOT_GRANTED");
    world
        .regrant(|it| {
            it.models = vec!["scripted-large".to_owned()];
            it.tools = false;
            it.background = true;
        })
        .await;
    let reply = world.sample(background).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Complete);
    assert_eq!(reply.route.unwrap().alias, "scripted-large");
    let hinted = world.sample(ask(&json!({})).hint("scripted-small")).await.unwrap();
    assert_eq!(hinted.route.unwrap().alias, "scripted-large");
    let tools = ask(&json!({})).tool("look").choice(ToolChoiceMode::Auto);
    assert_eq!(reason(&world.sample(tools).await.unwrap()), "TOOLS_NOT_GRANTED");
    world.close().await;
}

#[tokio::test]
async fn an_envelope_beyond_the_grant_is_refused_with_the_field() {
    let world = World::start().await;
    world
        .regrant(|it| {
            let most = EnvelopeLimits { tokens: Some(1_000), ..limits(10, 100, 1_000_000_000) };
            it.default_envelope = Some(most.clone());
            it.max_envelope = Some(most);
        })
        .await;
    let field = |it: Status| {
        assert_eq!(it.code(), Code::InvalidArgument);
        it.get_error_details().bad_request().unwrap().field_violations[0].field.clone()
    };
    let wishes = [
        ("limits.calls", EnvelopeLimits { calls: Some(11), ..Default::default() }),
        ("limits.seconds", EnvelopeLimits { seconds: Some(101), ..Default::default() }),
        (
            "limits.money",
            EnvelopeLimits { money: Some(money(1_000_000_001)), ..Default::default() },
        ),
        ("limits.tokens", EnvelopeLimits { tokens: Some(1_001), ..Default::default() }),
        (
            "limits.landing.reserve",
            EnvelopeLimits {
                landing: Some(proto::Landing { reserve: Some(money(1_000_000_001)), tokens: 1 }),
                ..Default::default()
            },
        ),
        ("limits.calls", EnvelopeLimits { calls: Some(0), ..Default::default() }),
        ("limits.seconds", EnvelopeLimits { seconds: Some(-1), ..Default::default() }),
        (
            "limits.money.units",
            EnvelopeLimits { money: Some(money(-1_000_000_000)), ..Default::default() },
        ),
    ];
    for (name, wish) in wishes {
        assert_eq!(field(world.try_open(wish).await.unwrap_err()), name);
    }
    let opened =
        world.try_open(EnvelopeLimits { calls: Some(10), ..Default::default() }).await.unwrap();
    let left = opened.left.unwrap();
    assert_eq!((left.calls, left.tokens), (10, Some(1_000)));
    world.close().await;
}

#[tokio::test]
async fn tokens_bind_like_money() {
    let world = World::start().await;
    let script = json!({ "text": "a b c d e f g h i j k l m n o p q r s t u v w x y z" });
    let bound = i64::try_from(super::price::bound_of(&script)).unwrap();
    let envelope =
        world.open(EnvelopeLimits { tokens: Some(bound + 20), ..limits(5, 60, 100_000_000) }).await;
    let reply = world.sample(ask_in(&envelope, &script)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Partial);
    let limit = reply.limit.unwrap();
    assert_eq!((limit.name.as_str(), limit.kind()), (envelope.as_str(), proto::LimitKind::Tokens));
    let used = reply.usage.unwrap();
    assert_eq!(used.output, 20);
    assert_eq!(reply.left.unwrap().tokens, Some(bound + 20 - used.input - used.output));
    let reply = world.sample(ask_in(&envelope, &script)).await.unwrap();
    assert_eq!(reply.outcome(), Outcome::Exhausted);
    world.close().await;
}
