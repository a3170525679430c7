//! How far the limits of an envelope rise, without a database.

use bursar::{
    budget::{
        extension::{part, raise},
        reserve::Reserve,
    },
    domain::{
        envelope::Landing,
        extension::Extra,
        ids::EnvelopeId,
        limit::{Limit, LimitKey, LimitKind, Owner, Width},
        money::Amount,
    },
};
use jiff::Timestamp;
use uuid::Uuid;

const OWN: u128 = 1;
const AROUND: u128 = 2;

fn id(n: u128) -> EnvelopeId {
    Uuid::from_u128(n).into()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn limit(owner: u128, kind: LimitKind, (amount, used): (i64, i64), ends: i64) -> Limit {
    let at_kind = match kind {
        LimitKind::Calls => 0,
        LimitKind::Money => 1,
        LimitKind::Tokens => 2,
        LimitKind::ConcurrentCalls => 3,
    };
    Limit {
        key: LimitKey {
            tenant: Uuid::from_u128(9).into(),
            width: Width::Envelope,
            id: Uuid::from_u128(owner * 10 + at_kind).into(),
        },
        owner: Owner::Envelope(id(owner)),
        kind,
        amount,
        settled: used,
        overrun: 0,
        held: 0,
        enforcing: true,
        opens_at: at(0),
        closes_at: Some(at(ends)),
        closed_at: None,
        revision: 0,
    }
}

/// An envelope of 10 calls and 100 nano-units, used up, that ends after 60 seconds.
fn used_up() -> Vec<Limit> {
    vec![
        limit(OWN, LimitKind::Calls, (10, 10), 60),
        limit(OWN, LimitKind::Money, (100, 100), 60),
        limit(OWN, LimitKind::Tokens, (1_000, 7), 60),
        limit(OWN, LimitKind::ConcurrentCalls, (3, 0), 60),
    ]
}

fn extra(calls: i64, seconds: i64, nanos: i64) -> Extra {
    Extra { calls, seconds, money: Amount::from_nanos(nanos) }
}

#[test]
fn without_envelopes_around_all_of_it_may_be_given() {
    let wanted = extra(5, 30, 50);
    assert_eq!(part(&used_up(), id(OWN), &[], (wanted, at(10))), wanted);
}

#[test]
fn what_is_around_gives_what_it_has_left_and_keeps_its_landing() {
    let around = |calls: i64, nanos: i64, ends: i64| {
        let mut limits = used_up();
        limits.push(limit(AROUND, LimitKind::Calls, (20, 20 - calls), ends));
        limits.push(limit(AROUND, LimitKind::Money, (500, 500 - nanos), ends));
        limits
    };
    let wanted = extra(5, 30, 50);
    let check = |limits: &[Limit], kept: &[Reserve], expected: Extra| {
        assert_eq!(part(limits, id(OWN), kept, (wanted, at(10))), expected);
    };
    check(&around(9, 90, 200), &[], wanted);
    check(&around(3, 20, 75), &[], extra(3, 15, 20));
    check(&around(0, 0, 60), &[], extra(0, 0, 0));
    let landing = Landing { reserve: Amount::from_nanos(15), tokens: 1 };
    let kept = [Reserve::of(id(AROUND), &landing)];
    check(&around(3, 20, 75), &kept, extra(2, 15, 5));
    // What the envelope itself still has is not given twice.
    let mut limits = around(3, 20, 75);
    limits[0].settled = 9;
    check(&limits, &[], extra(2, 15, 20));
}

#[test]
fn the_end_moves_by_the_wait_and_the_seconds_but_not_past_those_around() {
    let check = |(asked, now): (i64, i64), seconds: i64, around: Option<i64>, expected| {
        let mut limits = used_up();
        limits.extend(around.map(|it| limit(AROUND, LimitKind::Calls, (99, 0), it)));
        let moved = raise(&mut limits, id(OWN), &extra(4, seconds, 30), (at(asked), at(now)));
        let ends: Vec<_> =
            limits.iter().filter(|it| it.owner == Owner::Envelope(id(OWN))).collect();
        assert!(ends.iter().all(|it| it.closes_at == Some(at(60 + moved.0))), "{ends:?}");
        assert_eq!(moved, expected, "asked {asked}, now {now}, {seconds} s, around {around:?}");
        let amounts: Vec<i64> = limits.iter().take(4).map(|it| it.amount).collect();
        assert_eq!(amounts, [14, 130, 1_000, 3]);
    };
    check((40, 40), 30, None, (30, 0));
    check((40, 55), 30, None, (45, 15));
    // It had twenty seconds left when asked, and has them again.
    check((40, 500), 0, None, (460, 460));
    // It was over when asked: the seconds begin with the answer, and without any it stays so.
    check((70, 100), 30, None, (70, 40));
    check((70, 100), 0, None, (0, 0));
    check((60, 60), 30, None, (30, 0));
    check((40, 55), 30, Some(80), (20, 15));
    check((40, 55), 30, Some(65), (5, 5));
    check((40, 55), 30, Some(60), (0, 0));
    // A clock that went back moves nothing.
    check((40, 30), 30, None, (30, 0));
}

#[test]
fn a_wait_is_rounded_up_to_whole_seconds() {
    let mut limits = used_up();
    let now = at(40).checked_add(jiff::SignedDuration::from_nanos(1)).unwrap();
    assert_eq!(raise(&mut limits, id(OWN), &extra(0, 0, 0), (at(40), now)), (1, 1));
}
