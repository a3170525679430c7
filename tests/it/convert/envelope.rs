//! Money and the limits of envelopes.

use bursar::{
    domain::{
        envelope::{Allowance, Landing, Left, Lifetime},
        ids::{EnvelopeId, TenantId},
        limit::{LimitKind, Owner},
        money::{Amount, Currency},
        outcome::{Bounded, LimitStatus},
    },
    proto,
    transport::grpc::convert::{
        envelope::{self, View, allowance, partial_allowance},
        money::{amount, positive, to_wire},
    },
};
use proptest::prelude::*;
use uuid::Uuid;

use super::support::refused;

pub(super) fn eur() -> Currency {
    "EUR".parse().unwrap()
}

pub(super) fn money(units: i64, nanos: i32) -> proto::Money {
    proto::Money { currency_code: "EUR".to_owned(), units, nanos }
}

pub(super) fn limits() -> proto::EnvelopeLimits {
    proto::EnvelopeLimits {
        calls: Some(20),
        seconds: Some(120),
        money: Some(money(0, 500_000_000)),
        tokens: None,
        landing: None,
        concurrent_calls: None,
    }
}

#[test]
fn money_that_is_no_amount_of_the_tenants_currency_is_refused_by_its_part() {
    let cases = [
        (money(1, -1), "m.nanos"),
        (money(-1, 1), "m.nanos"),
        (money(0, 1_000_000_000), "m.nanos"),
        (money(0, -1_000_000_000), "m.nanos"),
        (money(0, i32::MIN), "m.nanos"),
        (money(0, -1), "m.nanos"),
        (money(-1, 0), "m.units"),
        (money(-1, -1), "m.units"),
        (money(i64::MIN, 0), "m.units"),
        (money(i64::MAX, 999_999_999), "m.units"),
        (money(1_000_000_000, 1), "m.units"),
    ];
    for (bad, field) in cases {
        refused(amount("m", &bad, eur()), field);
    }
    let own = proto::Money { currency_code: String::new(), units: 1, nanos: 0 };
    assert_eq!(amount("m", &own, eur()).unwrap().to_string(), "1.00");
    for code in ["USD", "eur", "EURO"] {
        let bad = proto::Money { currency_code: code.to_owned(), units: 1, nanos: 0 };
        refused(amount("m", &bad, eur()), "m.currency_code");
    }
    refused(positive("m", &money(0, 0), eur()), "m");
    let most = amount("m", &money(1_000_000_000, 0), eur()).unwrap();
    assert_eq!(most.to_string(), "1000000000.00");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn money_comes_back_as_it_went(nanos in 0..=1_000_000_000_000_000_000_i64) {
        let there = to_wire(Amount::from_nanos(nanos), eur());
        prop_assert_eq!(amount("m", &there, eur()).unwrap().nanos(), nanos);
    }

    #[test]
    fn both_parts_of_money_have_one_sign(nanos in any::<i64>()) {
        let there = to_wire(Amount::from_nanos(nanos), eur());
        prop_assert!(there.units.signum() * i64::from(there.nanos.signum()) >= 0);
        let back = i128::from(there.units) * 1_000_000_000 + i128::from(there.nanos);
        prop_assert_eq!(back, i128::from(nanos));
    }
}

#[test]
fn limits_out_of_range_are_refused_by_name() {
    type Spoil = fn(&mut proto::EnvelopeLimits);
    let landing = |it: &mut proto::EnvelopeLimits, reserve, tokens| {
        it.landing = Some(proto::Landing { reserve, tokens });
    };
    let cases: [(&str, Spoil); 9] = [
        ("limits.calls", |it| it.calls = Some(0)),
        ("limits.calls", |it| it.calls = Some(1_000_001)),
        ("limits.seconds", |it| it.seconds = Some(-1)),
        ("limits.seconds", |it| it.seconds = Some(31_536_001)),
        ("limits.tokens", |it| it.tokens = Some(0)),
        ("limits.tokens", |it| it.tokens = Some(i64::MAX)),
        ("limits.money", |it| it.money = Some(money(0, 0))),
        ("limits.money.units", |it| it.money = Some(money(-1, 0))),
        ("limits.money", |it| it.money = Some(proto::Money::default())),
    ];
    for (field, spoil) in cases {
        let mut bad = limits();
        spoil(&mut bad);
        refused(partial_allowance("limits", Some(&bad), eur()), field);
        refused(allowance("limits", Some(&bad), eur()), field);
    }
    for (field, reserve, tokens) in [
        ("limits.landing.tokens", None, -1),
        ("limits.landing.reserve", Some(money(1, 0)), 16),
        ("limits.landing.reserve.nanos", Some(money(0, -5)), 16),
    ] {
        let mut bad = limits();
        landing(&mut bad, reserve, tokens);
        refused(partial_allowance("limits", Some(&bad), eur()), field);
    }
}

#[test]
fn a_full_allowance_needs_calls_seconds_and_money() {
    refused(allowance("limits", None, eur()), "limits");
    let without = |spoil: fn(&mut proto::EnvelopeLimits)| {
        let mut bad = limits();
        spoil(&mut bad);
        allowance("limits", Some(&bad), eur())
    };
    refused(without(|it| it.calls = None), "limits.calls");
    refused(without(|it| it.seconds = None), "limits.seconds");
    refused(without(|it| it.money = None), "limits.money");
}

#[test]
fn what_a_host_leaves_out_comes_from_the_grant() {
    let landing = Landing { reserve: Amount::from_nanos(100_000_000), tokens: 64 };
    let mut default = allowance("d", Some(&limits()), eur()).unwrap();
    default.landing = Some(landing);
    assert_eq!(partial_allowance("l", None, eur()).unwrap().or(&default), default);
    let small = proto::EnvelopeLimits { money: Some(money(0, 50_000_000)), ..Default::default() };
    let mixed = partial_allowance("l", Some(&small), eur()).unwrap().or(&default);
    let fifty = Amount::from_nanos(50_000_000);
    let wanted = Allowance {
        money: fifty,
        landing: Some(Landing { reserve: fifty, tokens: 64 }),
        ..default
    };
    assert_eq!(mixed, wanted);
}

#[test]
fn an_envelope_shows_its_name_state_and_limits() {
    let (tenant, id) = (TenantId::from(Uuid::from_u128(1)), EnvelopeId::from(Uuid::from_u128(2)));
    let at = |text: &str| text.parse().unwrap();
    let allowance = allowance("l", Some(&limits()), eur()).unwrap();
    let money_limit = LimitStatus {
        owner: Owner::Envelope(id),
        kind: Bounded::Counted(LimitKind::Money),
        held: 0,
        settled: 4_500_000,
        overrun: 1,
        limit: 500_000_000,
        resets_at: Some(at("2026-01-01T00:00:00.5Z")),
    };
    let view = View {
        tenant,
        currency: eur(),
        user: "alice",
        server: "weather",
        parent: None,
        lifetime: Lifetime {
            id,
            opened_at: at("2025-11-25T10:00:00Z"),
            closes_at: at("2025-11-25T10:02:00Z"),
            closed_at: None,
        },
        allowance,
        left: Left { calls: 19, seconds: 60, money: Amount::from_nanos(495_500_000), tokens: None },
        status: &[money_limit],
        now: at("2025-11-25T10:01:00Z"),
    };
    let shown = envelope::to_wire(&view);
    let name = format!("tenants/ten_{:032x}/envelopes/env_{:032x}", 1, 2);
    assert_eq!(shown.name, name);
    assert_eq!(shown.state(), proto::EnvelopeState::Open);
    assert_eq!(shown.limits, Some(limits()));
    assert_eq!(shown.closes_at, "2025-11-25T10:02:00Z");
    assert_eq!(shown.closed_at, "");
    let status = &shown.status[0];
    assert_eq!((status.name.as_str(), status.kind()), (name.as_str(), proto::LimitKind::Money));
    let amounts = [&status.held, &status.settled, &status.overrun, &status.limit];
    assert_eq!(amounts, ["0.00", "0.0045", "0.000000001", "0.50"]);
    assert_eq!(status.resets_at, "2026-01-01T00:00:00Z");

    let late = View { now: view.lifetime.closes_at, ..view };
    assert_eq!(envelope::to_wire(&late).state(), proto::EnvelopeState::Exhausted);
    let used =
        View { left: Left { calls: 0, ..late.left }, now: at("2025-11-25T10:01:00Z"), ..late };
    assert_eq!(envelope::to_wire(&used).state(), proto::EnvelopeState::Exhausted);
    let lifetime = Lifetime { closed_at: Some(used.now), ..used.lifetime };
    let closed = View { lifetime, ..used };
    assert_eq!(envelope::to_wire(&closed).state(), proto::EnvelopeState::Closed);
}

#[test]
fn usage_that_a_host_reports_is_in_range() {
    let usage = |input| envelope::usage("usage", &proto::Usage { input, ..Default::default() });
    refused(usage(-1), "usage.input");
    refused(usage(i64::MAX), "usage.input");
    assert_eq!(usage(7).unwrap().input, 7);
    let output = proto::Usage { output: -5, ..Default::default() };
    refused(envelope::usage("usage", &output), "usage.output");
}
