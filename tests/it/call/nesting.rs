//! Sub-agents that start sub-agents: envelopes inside envelopes.

use bursar::{
    admin::demo,
    proto::{
        self, CreateMessageResponse, Envelope, EnvelopeLimits, EnvelopeState, LimitKind,
        OpenEnvelopeRequest, Outcome,
    },
};
use futures_util::future::join_all;
use serde_json::json;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::world::{Change, World, ask, ask_in, limits, meta, money, nanos};

impl World {
    async fn open_inside(
        &self,
        parent: &str,
        limits: Option<EnvelopeLimits>,
    ) -> Result<Envelope, Status> {
        let request = OpenEnvelopeRequest {
            user: demo::USER.to_owned(),
            server: demo::SERVER.to_owned(),
            limits,
            request_id: String::new(),
            parent: parent.to_owned(),
        };
        Ok(self.envelopes().open_envelope(self.host(request)).await?.into_inner())
    }

    async fn close_envelope(&self, name: &str) -> Envelope {
        let request = proto::CloseEnvelopeRequest { name: name.to_owned() };
        self.envelopes().close_envelope(self.host(request)).await.unwrap().into_inner()
    }
}

fn calls_left(it: &Envelope) -> i64 {
    it.left.as_ref().unwrap().calls
}

fn reason(it: &Status) -> String {
    assert_eq!(it.code(), Code::FailedPrecondition, "{it}");
    it.get_error_details().error_info().unwrap().reason.clone()
}

fn count(replies: &[CreateMessageResponse], wanted: Outcome) -> usize {
    replies.iter().filter(|it| it.outcome() == wanted).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn none_stays_open_in_one_that_is_closed_while_it_opens() {
    let world = World::start().await;
    let (mut opened, mut refused) = (0, 0);
    for _ in 0..40 {
        let outer = world.open(limits(10, 60, 100_000_000)).await;
        let inside = Some(limits(3, 50, 50_000_000));
        let (inner, _) =
            tokio::join!(world.open_inside(&outer, inside), world.close_envelope(&outer));
        match inner {
            Ok(it) => {
                opened += 1;
                assert_eq!(world.envelope(&it.name).await.state(), EnvelopeState::Closed);
            }
            Err(it) => {
                refused += 1;
                assert_eq!(reason(&it), "ENVELOPE_CLOSED");
            }
        }
    }
    assert_eq!(opened + refused, 40);
    world.close().await;
}

#[tokio::test]
async fn what_a_nested_one_spends_counts_in_each_that_it_stands_in() {
    let world = World::start().await;
    let outer = world.open(limits(10, 60, 100_000_000)).await;
    let middle = world.open_inside(&outer, Some(limits(6, 50, 50_000_000))).await.unwrap();
    let inner = world.open_inside(&middle.name, Some(limits(3, 40, 20_000_000))).await.unwrap();
    assert_eq!((middle.parent.as_str(), inner.parent.as_str()), (outer.as_str(), &*middle.name));
    let script = json!({ "text": "one two", "usage": { "input": 100, "output": 50 } });
    for name in [&inner.name, &middle.name, &outer] {
        let reply = world.sample(ask_in(name, &script)).await.unwrap();
        assert_eq!(reply.outcome(), Outcome::Complete);
        assert_eq!(&reply.envelope, name);
    }
    let mut spent = Vec::new();
    for (name, left) in [(&outer, 7), (&middle.name, 4), (&inner.name, 2)] {
        let it = world.envelope(name).await;
        assert_eq!(calls_left(&it), left, "{name}");
        let all = nanos(it.limits.as_ref().unwrap().money.as_ref());
        spent.push(all - nanos(it.left.as_ref().unwrap().money.as_ref()));
    }
    assert_eq!((spent[0], spent[1]), (3 * spent[2], 2 * spent[2]));
    assert!(spent[2] > 0);
    let list = proto::ListEnvelopesRequest { parent: outer.clone(), ..Default::default() };
    let listed = world.envelopes().list_envelopes(world.host(list)).await.unwrap().into_inner();
    let names: Vec<_> = listed.envelopes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, [middle.name.as_str()], "at first hand");
    world.close().await;
}

#[tokio::test]
async fn a_nested_one_gets_at_most_what_is_left() {
    let world = World::start().await;
    let outer = world.open(limits(3, 30, 10_000_000)).await;
    world.sample(ask_in(&outer, &json!({}))).await.unwrap();
    let left = world.envelope(&outer).await.left.unwrap();
    // The grant's default, and a wish, are both for more.
    for wish in [None, Some(limits(20, 120, 400_000_000))] {
        let it = world.open_inside(&outer, wish).await.unwrap();
        let granted = it.limits.unwrap();
        assert_eq!(granted.calls, Some(2));
        assert!(granted.seconds.unwrap() <= 30);
        assert_eq!(nanos(granted.money.as_ref()), nanos(left.money.as_ref()));
        assert!(it.closes_at <= world.envelope(&outer).await.closes_at);
    }
    // A smaller wish is kept as it is.
    let it = world.open_inside(&outer, Some(limits(1, 10, 1_000_000))).await.unwrap();
    assert_eq!(it.limits.unwrap().calls, Some(1));
    // More than the grant lets a host open is an error, inside or not.
    let beyond = world.open_inside(&outer, Some(limits(1_000_000, 10, 1))).await.unwrap_err();
    assert_eq!(beyond.code(), Code::InvalidArgument);
    for _ in 0..2 {
        world.sample(ask_in(&outer, &json!({}))).await.unwrap();
    }
    let nothing = world.open_inside(&outer, None).await.unwrap_err();
    assert_eq!(reason(&nothing), "ENVELOPE_EXHAUSTED");
    world.close().await;
}

#[tokio::test]
async fn many_nested_ones_together_never_pass_the_outer_one() {
    let world = World::start().await;
    let outer = world.open(limits(5, 60, 100_000_000)).await;
    let mut inner = Vec::new();
    for _ in 0..3 {
        inner.push(world.open_inside(&outer, None).await.unwrap().name);
    }
    let script = json!({ "text": "hi", "first_delay_ms": 20 });
    let calls = (0..60).map(|n| world.sample(ask_in(&inner[n % 3], &script).max(20)));
    let replies: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(count(&replies, Outcome::Complete), 5);
    assert_eq!(count(&replies, Outcome::Exhausted), 55);
    for it in replies.iter().filter(|it| it.outcome() == Outcome::Exhausted) {
        let limit = it.limit.as_ref().unwrap();
        if limit.name == outer {
            assert_eq!((limit.kind(), limit.limit.as_str()), (LimitKind::Calls, "5"));
            // The server is told of its own envelope alone.
            assert_eq!(meta(it).get("limit"), None);
        } else {
            assert_eq!(limit.name, it.envelope, "its own was short first");
        }
    }
    world.close().await;
}

#[tokio::test]
async fn closing_the_outer_one_closes_all_that_stand_in_it() {
    let world = World::start().await;
    let outer = world.open(limits(10, 60, 100_000_000)).await;
    let middle = world.open_inside(&outer, None).await.unwrap().name;
    let inner = world.open_inside(&middle, None).await.unwrap().name;
    let beside = world.open(limits(10, 60, 100_000_000)).await;
    let running = ask_in(&inner, &json!({ "text": "to the end", "first_delay_ms": 600 }));
    let (reply, ()) = tokio::join!(world.sample(running), async {
        while world.number("select count(*) from holds").await == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        world.close_envelope(&outer).await;
    });
    assert_eq!(reply.unwrap().outcome(), Outcome::Complete, "what runs settles");
    for name in [&outer, &middle, &inner] {
        assert_eq!(world.envelope(name).await.state(), EnvelopeState::Closed);
        let refused = world.sample(ask_in(name, &json!({}))).await.unwrap_err();
        assert_eq!(reason(&refused), "ENVELOPE_CLOSED");
        let refused = world.open_inside(name, None).await.unwrap_err();
        assert_eq!(reason(&refused), "ENVELOPE_CLOSED");
    }
    let open = world.sample(ask_in(&beside, &json!({}))).await.unwrap();
    assert_eq!(open.outcome(), Outcome::Complete);
    // Closing the inner one alone leaves the outer one as it is.
    let nested = world.open_inside(&beside, None).await.unwrap().name;
    world.close_envelope(&nested).await;
    assert_eq!(world.envelope(&beside).await.state(), EnvelopeState::Open);
    world.close().await;
}

#[tokio::test]
async fn nesting_has_a_bottom_and_stays_with_one_person() {
    let world = World::start().await;
    let mut name = world.open(limits(10, 60, 100_000_000)).await;
    let outer = name.clone();
    for _ in 0..4 {
        name = world.open_inside(&name, None).await.unwrap().name;
    }
    let deep = world.sample(ask_in(&name, &json!({}))).await.unwrap();
    assert_eq!(deep.outcome(), Outcome::Complete);
    assert_eq!(calls_left(&world.envelope(&outer).await), 9, "five deep, all of them count");
    assert_eq!(reason(&world.open_inside(&name, None).await.unwrap_err()), "ENVELOPE_TOO_DEEP");
    // Another server of the same person may stand inside; another person may not.
    world.user("somebody-else").await;
    world.server("another-server").await;
    let default_envelope = Some(limits(5, 60, 50_000_000));
    for (user, server) in [(demo::USER, "another-server"), ("somebody-else", demo::SERVER)] {
        world
            .grant(proto::Grant {
                user: user.to_owned(),
                server: server.to_owned(),
                default_envelope: default_envelope.clone(),
                ..Default::default()
            })
            .await;
        let request = OpenEnvelopeRequest {
            user: user.to_owned(),
            server: server.to_owned(),
            parent: outer.clone(),
            ..Default::default()
        };
        let opened = world.envelopes().open_envelope(world.host(request)).await;
        if user == demo::USER {
            let name = opened.unwrap().into_inner().name;
            let mut call = ask(&json!({}));
            (call.server, call.envelope) = (server.to_owned(), name);
            assert_eq!(world.sample(call).await.unwrap().outcome(), Outcome::Complete);
            assert_eq!(calls_left(&world.envelope(&outer).await), 8);
        } else {
            assert_eq!(opened.unwrap_err().code(), Code::NotFound);
        }
    }
    let unknown = "env_00000000000000000000000000000000";
    assert_eq!(world.open_inside(unknown, None).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(
        world.open_inside("?", None).await.unwrap_err().code(),
        Code::InvalidArgument,
        "a name is read before anything is looked up"
    );
    world.close().await;
}

#[tokio::test]
async fn what_the_outer_one_keeps_for_its_last_call_is_not_the_inner_ones() {
    let world = World::start().await;
    let landing = Some(proto::Landing { reserve: Some(money(30_000_000)), tokens: 20 });
    let outer = world.open(EnvelopeLimits { landing, ..limits(4, 60, 100_000_000) }).await;
    let no_landing = EnvelopeLimits {
        landing: Some(proto::Landing { reserve: None, tokens: 0 }),
        ..limits(4, 60, 100_000_000)
    };
    let inner = world.open_inside(&outer, Some(no_landing)).await.unwrap().name;
    // Two in the inner one and one in the outer; the last of four is the outer one's.
    for name in [&outer, &inner, &inner] {
        let reply = world.sample(ask_in(name, &json!({}))).await.unwrap();
        assert_eq!((reply.outcome(), reply.landing), (Outcome::Complete, false), "{name}");
    }
    let fourth = world.sample(ask_in(&inner, &json!({}))).await.unwrap();
    assert_eq!(fourth.outcome(), Outcome::Exhausted);
    assert_eq!(fourth.limit.unwrap().name, outer);
    let last = world.sample(ask_in(&outer, &json!({}))).await.unwrap();
    assert_eq!((last.outcome(), last.landing), (Outcome::Complete, true));
    world.close().await;
}
