//! Hosts that run their own model, bounded by the same envelope.

use std::time::Duration;

use bursar::{
    admin::demo,
    proto::{
        self, EntryKind, Outcome, Reservation, ReserveRequest, SettleRequest, Settlement, Usage,
        VoidRequest,
    },
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::{
    price::{exact, hold},
    world::{World, limits, money, nanos, signed},
};

impl World {
    async fn reserve(
        &self,
        change: impl FnOnce(&mut ReserveRequest),
    ) -> Result<Reservation, Status> {
        let mut request = ReserveRequest {
            user: demo::USER.to_owned(),
            server: demo::SERVER.to_owned(),
            ..Default::default()
        };
        change(&mut request);
        Ok(self.envelopes().reserve(self.host(request)).await?.into_inner())
    }

    async fn settle(
        &self,
        hold: &str,
        usage: Option<Usage>,
        nanos: Option<i64>,
    ) -> Result<Settlement, Status> {
        let request = SettleRequest { hold: hold.to_owned(), usage, money: nanos.map(money) };
        Ok(self.envelopes().settle(self.host(request)).await?.into_inner())
    }

    async fn void(&self, hold: &str) -> Result<Settlement, Status> {
        let request = VoidRequest { hold: hold.to_owned() };
        Ok(self.envelopes().void(self.host(request)).await?.into_inner())
    }
}

type Change = fn(&mut ReserveRequest);

fn amount(it: &Settlement) -> i64 {
    nanos(it.charge.as_ref().unwrap().amount.as_ref())
}

fn field(it: &Status) -> String {
    assert_eq!(it.code(), Code::InvalidArgument, "{it}");
    it.get_error_details().bad_request().unwrap().field_violations[0].field.clone()
}

#[tokio::test]
async fn a_host_holds_money_and_pays_what_it_used() {
    let world = World::start().await;
    let envelope = world.open(limits(3, 60, 10_000_000)).await;
    let held = world
        .reserve(|it| {
            it.envelope.clone_from(&envelope);
            it.money = Some(money(4_000_000));
        })
        .await
        .unwrap();
    assert_eq!((held.outcome(), nanos(held.money.as_ref())), (Outcome::Complete, 4_000_000));
    assert_eq!((held.envelope.as_str(), held.left.as_ref().unwrap().calls), (envelope.as_str(), 2));
    let used = Usage { input: 10, output: 20, ..Default::default() };
    let settled = world.settle(&held.hold, Some(used), Some(1_500_000)).await.unwrap();
    assert_eq!((amount(&settled), settled.replayed), (1_500_000, false));
    // Repeating it books nothing, and another word is refused.
    let replayed = world.settle(&held.hold, Some(used), Some(1_500_000)).await.unwrap();
    assert_eq!((amount(&replayed), replayed.replayed), (1_500_000, true));
    let more = Usage { input: 11, ..used };
    for (used, money) in [(used, 9), (more, 1_500_000)] {
        let refused = world.settle(&held.hold, Some(used), Some(money)).await.unwrap_err();
        assert_eq!(refused.code(), Code::Aborted, "{refused:?}");
        let reason = refused.get_details_error_info().unwrap().reason;
        assert_eq!(reason, "HOLD_SETTLED_OTHERWISE");
    }
    assert_eq!(world.void(&held.hold).await.unwrap_err().code(), Code::FailedPrecondition);
    let entry = world.entry().await;
    assert!(entry.reported);
    assert_eq!(entry.usage.unwrap().output, 20);
    assert_eq!(nanos(world.envelope(&envelope).await.left.unwrap().money.as_ref()), 8_500_000);
    world.close().await;
}

#[tokio::test]
async fn a_host_holds_by_a_priced_model_and_pays_its_prices() {
    let world = World::start().await;
    let held = world
        .reserve(|it| {
            it.model = "scripted-small".to_owned();
            (it.input_tokens, it.max_output_tokens) = (1_000, 500);
        })
        .await
        .unwrap();
    assert_eq!(nanos(held.money.as_ref()), hold(1_000, 500));
    let used = Usage { input: 900, output: 123, ..Default::default() };
    let settled = world.settle(&held.hold, Some(used), None).await.unwrap();
    assert_eq!(amount(&settled), exact(900, 123));
    world.close().await;
}

#[tokio::test]
async fn what_was_not_used_is_given_back_once() {
    let world = World::start().await;
    let held = world.reserve(|it| it.money = Some(money(1_000))).await.unwrap();
    assert_eq!(held.left.unwrap().calls, 19);
    let voided = world.void(&held.hold).await.unwrap();
    assert_eq!((amount(&voided), voided.left.as_ref().unwrap().calls), (0, 20));
    assert!(world.void(&held.hold).await.unwrap().replayed);
    let late = world.settle(&held.hold, None, Some(5)).await.unwrap_err();
    assert_eq!(late.code(), Code::FailedPrecondition);
    assert_eq!(world.entry().await.kind(), EntryKind::Void);
    world.close().await;
}

#[tokio::test]
async fn truth_that_comes_after_the_hold_expired_corrects_it_once() {
    let world = World::start().await;
    let held = world
        .reserve(|it| {
            it.money = Some(money(4_000_000));
            it.seconds = 1;
        })
        .await
        .unwrap();
    for _ in 0..300 {
        if world.number("select count(*) from holds").await == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let entry = world.entry().await;
    assert_eq!((entry.kind(), entry.estimated), (EntryKind::Expire, true));
    assert_eq!(nanos(entry.charge.as_ref()), 4_000_000);
    let settled = world.settle(&held.hold, None, Some(1_000_000)).await.unwrap();
    assert_eq!((amount(&settled), settled.replayed), (1_000_000, false));
    let again = world.settle(&held.hold, None, Some(1_000_000)).await.unwrap();
    assert_eq!((amount(&again), again.replayed), (1_000_000, true));
    let other = world.settle(&held.hold, None, Some(2_000_000)).await.unwrap_err();
    assert_eq!(other.code(), Code::Aborted);
    let entries = world.entries().await;
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].kind(), EntryKind::LateSettle);
    assert_eq!(entries[0].corrects, entries[1].name);
    assert_eq!(nanos(settled.left.unwrap().money.as_ref()), 499_000_000);
    world.close().await;
}

#[tokio::test]
async fn tokens_that_nobody_counts_pass_no_limit_of_tokens() {
    let world = World::start().await;
    let tokens = proto::EnvelopeLimits { tokens: Some(100), ..limits(9, 60, 10_000_000) };
    let envelope = world.open(tokens).await;
    let reserve = |input, output| {
        let envelope = envelope.clone();
        world.reserve(move |it| {
            (it.envelope, it.money) = (envelope, Some(money(1_000)));
            (it.input_tokens, it.max_output_tokens) = (input, output);
        })
    };
    assert_eq!(field(&reserve(0, 0).await.unwrap_err()), "input_tokens");
    let held = reserve(30, 30).await.unwrap();
    assert_eq!(held.outcome(), Outcome::Complete);
    // Without a count the whole hold is taken to be used, until there is one.
    let settled = world.settle(&held.hold, None, Some(1_000)).await.unwrap();
    assert_eq!(settled.left.unwrap().tokens, Some(40));
    assert!(world.entry().await.estimated);
    let short = reserve(0, 41).await.unwrap();
    assert_eq!(
        (short.outcome(), short.limit.unwrap().kind()),
        (Outcome::Exhausted, proto::LimitKind::Tokens)
    );
    let used = Usage { input: 10, output: 5, ..Default::default() };
    let settled = world.settle(&held.hold, Some(used), Some(1_000)).await.unwrap();
    assert_eq!((settled.replayed, settled.left.unwrap().tokens), (false, Some(85)));
    world.close().await;
}

#[tokio::test]
async fn a_host_that_runs_its_own_model_is_told_of_the_landing_too() {
    let world = World::start().await;
    let landing = proto::Landing { reserve: Some(money(400)), tokens: 20 };
    let kept = proto::EnvelopeLimits { landing: Some(landing), ..limits(9, 60, 1_000) };
    let envelope = world.open(kept).await;
    let mut said = Vec::new();
    for amount in [300, 300, 301, 400, 1] {
        let change = |it: &mut ReserveRequest| {
            it.envelope.clone_from(&envelope);
            it.money = Some(money(amount));
        };
        let held = world.reserve(change).await.unwrap();
        if held.outcome() == Outcome::Complete {
            world.settle(&held.hold, None, Some(amount)).await.unwrap();
        }
        said.push((held.outcome(), held.landing));
    }
    let ordinary = (Outcome::Complete, false);
    // What is kept is for one that concludes, and then nothing is left.
    assert_eq!(said[..2], [ordinary, ordinary]);
    assert_eq!(said[2], (Outcome::Complete, true));
    assert_eq!(said[3], (Outcome::Exhausted, false));
    world.close().await;
}

#[tokio::test]
async fn a_hold_beyond_the_envelope_is_exhausted_and_one_beyond_it_when_settled_is_overrun() {
    let world = World::start().await;
    let envelope = world.open(limits(5, 60, 1_000)).await;
    let reserve = |amount| {
        let envelope = envelope.clone();
        world.reserve(move |it| {
            it.envelope = envelope;
            it.money = Some(money(amount));
        })
    };
    let short = reserve(1_001).await.unwrap();
    assert_eq!((short.outcome(), short.hold.as_str()), (Outcome::Exhausted, ""));
    assert_eq!(short.limit.unwrap().name, envelope);
    let held = reserve(600).await.unwrap();
    let settled = world.settle(&held.hold, None, Some(1_700)).await.unwrap();
    let charge = settled.charge.unwrap();
    assert_eq!((nanos(charge.amount.as_ref()), nanos(charge.overrun.as_ref())), (1_000, 700));
    assert_eq!(reserve(1).await.unwrap().outcome(), Outcome::Exhausted);
    world.close().await;
}

#[tokio::test]
async fn a_foreign_or_missing_hold_looks_the_same_and_a_wrong_field_is_named() {
    let world = World::start().await;
    let held = world.reserve(|it| it.money = Some(money(1_000))).await.unwrap();
    let other = proto::CreateCredentialRequest {
        role: proto::CredentialRole::Host.into(),
        host: "other-host".to_owned(),
        display_name: "other".to_owned(),
        ..Default::default()
    };
    let other = world.admin().create_credential(world.operator(other)).await.unwrap();
    let other = other.into_inner().key;
    let missing = "hold_00000000000070008000000000000001";
    let expected = world.settle(missing, None, Some(1)).await.unwrap_err();
    assert_eq!(expected.code(), Code::NotFound);
    let settle = SettleRequest { hold: held.hold.clone(), money: Some(money(1)), usage: None };
    let foreign = world.envelopes().settle(signed(&other, settle)).await.unwrap_err();
    assert_eq!((foreign.code(), foreign.message()), (expected.code(), expected.message()));
    let void = VoidRequest { hold: held.hold.clone() };
    let foreign = world.envelopes().void(signed(&other, void)).await.unwrap_err();
    assert_eq!((foreign.code(), foreign.message()), (expected.code(), expected.message()));

    assert_eq!(field(&world.settle("nonsense", None, Some(1)).await.unwrap_err()), "hold");
    assert_eq!(field(&world.settle(&held.hold, None, None).await.unwrap_err()), "usage");
    let negative = Usage { input: -1, ..Default::default() };
    let refused = world.settle(&held.hold, Some(negative), Some(1)).await.unwrap_err();
    assert_eq!(field(&refused), "usage.input");
    let usage_alone = world.settle(&held.hold, Some(Usage::default()), None).await.unwrap_err();
    assert_eq!(field(&usage_alone), "money");
    let wrong: [(&str, Change); 7] = [
        ("money", |_| {}),
        ("money.units", |it| it.money = Some(money(-5_000_000_000))),
        ("model", |it| it.model = "no-such-model".to_owned()),
        ("seconds", |it| {
            it.seconds = 3_601;
            it.money = Some(money(5));
        }),
        ("seconds", |it| {
            it.seconds = -1;
            it.money = Some(money(5));
        }),
        ("input_tokens", |it| {
            it.input_tokens = -1;
            it.money = Some(money(5));
        }),
        ("user", |it| {
            it.user.clear();
            it.money = Some(money(5));
        }),
    ];
    for (name, change) in wrong {
        assert_eq!(field(&world.reserve(change).await.unwrap_err()), name);
    }
    let refused = world
        .reserve(|it| {
            it.user = "nobody".to_owned();
            it.money = Some(money(5));
        })
        .await
        .unwrap();
    assert_eq!(refused.outcome(), Outcome::Refused);
    world.void(&held.hold).await.unwrap();
    world.close().await;
}
