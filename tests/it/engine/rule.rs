//! The rule against a model of it, and the worked cases.

use bursar::{
    budget::{
        decide::{self, Ask, Book},
        offer::{Offer, Size},
    },
    clock::Clock,
    domain::{
        charge::Split,
        entry::{Booking, EntryKind},
        hold::{Hold, Parties},
        limit::{Limit, LimitKey, LimitKind, Owner, Width},
        money::Amount,
    },
};
use jiff::Timestamp;
use proptest::prelude::*;

use super::world::{parties, terms, truth};

// === The model: calls, and what a limit counts of them ===

#[derive(Clone, Copy)]
enum State {
    Held(i64),
    Booked(Split),
}

/// Limits of one kind, each with the calls that stand on it.
struct Model {
    amounts: Vec<(i64, bool)>,
    calls: Vec<(State, Vec<usize>)>,
}

impl Model {
    /// What the limit counts, but for one call.
    fn used(&self, limit: usize, except: Option<usize>) -> i64 {
        let calls = self.calls.iter().enumerate();
        let on = calls.filter(|(n, (_, on))| Some(*n) != except && on.contains(&limit));
        on.map(|(_, (state, _))| match state {
            State::Held(it) => *it,
            State::Booked(it) => it.charge + it.overrun,
        })
        .sum()
    }

    fn room(&self, on: &[usize], except: Option<usize>) -> i64 {
        let enforcing = on.iter().filter(|it| self.amounts[**it].1);
        let left = enforcing.map(|it| (self.amounts[*it].0 - self.used(*it, except)).max(0));
        left.min().unwrap_or(i64::MAX)
    }

    fn hold(&mut self, need: i64, on: &[usize]) -> bool {
        let fits = need == 0 || need <= self.room(on, None);
        if fits {
            self.calls.push((State::Held(need), on.to_vec()));
        }
        fits
    }

    /// The truth of a held or booked call.
    fn book(&mut self, call: usize, truth: i64) -> Split {
        let (state, on) = self.calls[call].clone();
        let split = match state {
            State::Held(hold) => {
                let charge = truth.min(hold.max(self.room(&on, Some(call))));
                Split { charge, overrun: truth - charge }
            }
            State::Booked(Split { charge, overrun }) if truth < charge + overrun => {
                let charge = charge.min(truth);
                Split { charge, overrun: truth - charge }
            }
            State::Booked(Split { charge, overrun }) => {
                let raise = (truth - charge - overrun).min(self.room(&on, None));
                Split { charge: charge + raise, overrun: truth - charge - raise }
            }
        };
        self.calls[call].0 = State::Booked(split);
        split
    }
}

// === The real thing, over the same limits ===

pub(super) struct Real {
    book: Book,
    keys: Vec<LimitKey>,
    parties: Parties,
    calls: Vec<(Hold, Booking)>,
}

impl Real {
    pub(super) fn new(amounts: &[(i64, bool)], kind: LimitKind) -> Self {
        let clock = Clock::default();
        let parties = parties(&clock);
        let limits = amounts.iter().map(|(amount, enforcing)| Limit {
            key: LimitKey { tenant: parties.tenant, width: Width::Envelope, id: clock.id() },
            owner: Owner::Envelope(parties.envelope),
            kind,
            amount: *amount,
            settled: 0,
            overrun: 0,
            held: 0,
            enforcing: *enforcing,
            opens_at: Timestamp::UNIX_EPOCH,
            closes_at: None,
            closed_at: None,
            revision: 0,
        });
        let limits: Vec<Limit> = limits.collect();
        let keys = limits.iter().map(|it| it.key).collect();
        Self {
            book: limits.into_iter().map(|it| (it.key, it)).collect(),
            keys,
            parties,
            calls: Vec::new(),
        }
    }

    pub(super) fn hold(&mut self, need: i64, on: &[usize]) -> bool {
        let clock = Clock::default();
        let size = Size::Fixed { money: Amount::from_nanos(need), tokens: need.unsigned_abs() };
        let limits = on.iter().map(|it| self.keys[*it]).collect();
        let ask = Ask {
            calls: 1,
            offers: vec![Offer { terms: terms(), route: None, size }],
            limits,
            reserve: None,
            kept: Vec::new(),
            not_after: None,
        };
        let Ok(grant) = decide::hold(&mut self.book, &ask, None) else { return false };
        let hold = Hold {
            id: clock.id(),
            call: clock.id(),
            attempt: 1,
            parties: self.parties,
            terms: terms(),
            route: None,
            need: grant.need,
            limits: grant.limits,
            reserved_by_host: false,
            incurred_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH,
        };
        self.calls.push((hold, Booking::default()));
        true
    }

    /// Money and tokens run in step, so either can be the kind in question.
    pub(super) fn settle(&mut self, call: usize, truth_: i64) -> Booking {
        let (hold, booking) = &mut self.calls[call];
        let truth = truth(truth_, truth_);
        *booking = decide::resolve(&mut self.book, hold, EntryKind::Settle, &truth).unwrap();
        *booking
    }

    fn void(&mut self, call: usize) {
        let (hold, booking) = &mut self.calls[call];
        let truth = truth(0, 0);
        *booking = decide::resolve(&mut self.book, hold, EntryKind::Void, &truth).unwrap();
    }

    pub(super) fn correct(&mut self, call: usize, truth_: i64) -> Booking {
        let (hold, before) = &mut self.calls[call];
        let truth = truth(truth_, truth_);
        let added = decide::correct(&mut self.book, &hold.limits, before, &truth).unwrap();
        let plus = |a: Split, b: Split| Split {
            charge: a.charge + b.charge,
            overrun: a.overrun + b.overrun,
        };
        before.money = plus(before.money, added.money);
        before.tokens = plus(before.tokens, added.tokens);
        *before
    }

    pub(super) fn limit(&self, n: usize) -> &Limit {
        &self.book[&self.keys[n]]
    }
}

// === Against each other ===

#[derive(Debug, Clone)]
enum Step {
    Hold(i64, Vec<usize>),
    Settle(usize, i64),
    Void(usize),
    Correct(usize, i64),
}

const LIMITS: usize = 4;

fn step() -> impl Strategy<Value = Step> {
    let amount = || prop_oneof![Just(0_i64), 0_i64..60, 0_i64..400];
    prop_oneof![
        4 => (amount(), proptest::sample::subsequence((0..LIMITS).collect::<Vec<_>>(), 1..=LIMITS))
            .prop_map(|(need, on)| Step::Hold(need, on)),
        3 => (any::<usize>(), amount()).prop_map(|(call, truth)| Step::Settle(call, truth)),
        1 => any::<usize>().prop_map(Step::Void),
        2 => (any::<usize>(), amount()).prop_map(|(call, truth)| Step::Correct(call, truth)),
    ]
}

fn run(kind: LimitKind, amounts: Vec<(i64, bool)>, steps: Vec<Step>) {
    let mut real = Real::new(&amounts, kind);
    let mut model = Model { amounts, calls: Vec::new() };
    let pick = |model: &Model, call: usize, held: bool| {
        let fits = |it: &&usize| matches!(model.calls[**it].0, State::Held(_)) == held;
        let all: Vec<usize> = (0..model.calls.len()).collect();
        let fitting: Vec<usize> = all.iter().filter(fits).copied().collect();
        (!fitting.is_empty()).then(|| fitting[call % fitting.len()])
    };
    let part = |it: Booking| if kind == LimitKind::Money { it.money } else { it.tokens };
    for step in steps {
        match step {
            Step::Hold(need, on) => {
                // Tokens have no free calls: nothing needs nothing, and fits.
                assert_eq!(real.hold(need, &on), model.hold(need, &on), "hold {need} on {on:?}");
            }
            Step::Settle(call, truth) => {
                let Some(call) = pick(&model, call, true) else { continue };
                assert_eq!(part(real.settle(call, truth)), model.book(call, truth));
            }
            Step::Void(call) => {
                let Some(call) = pick(&model, call, true) else { continue };
                real.void(call);
                model.book(call, 0);
            }
            Step::Correct(call, truth) => {
                let Some(call) = pick(&model, call, false) else { continue };
                assert_eq!(part(real.correct(call, truth)), model.book(call, truth));
            }
        }
        for n in 0..LIMITS {
            let limit = real.limit(n);
            assert_eq!(limit.settled + limit.overrun + limit.held, model.used(n, None));
            assert!(limit.settled >= 0 && limit.overrun >= 0 && limit.held >= 0);
            if limit.enforcing {
                assert!(limit.settled + limit.held <= limit.amount, "{limit:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_money_follows_the_model(
        amounts in proptest::collection::vec((0_i64..500, proptest::bool::weighted(0.8)), LIMITS),
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        run(LimitKind::Money, amounts, steps);
    }

    #[test]
    fn whatever_happens_tokens_follow_the_model(
        amounts in proptest::collection::vec((0_i64..500, proptest::bool::weighted(0.8)), LIMITS),
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        run(LimitKind::Tokens, amounts, steps);
    }
}

// === Worked cases, in cents ===

fn one_limit(amount: i64) -> Real {
    Real::new(&[(amount, true)], LimitKind::Money)
}

fn counters(it: &Real) -> (i64, i64, i64) {
    (it.limit(0).settled, it.limit(0).overrun, it.limit(0).held)
}

#[test]
fn limit_2_where_a_overruns_before_b_settles() {
    let mut real = one_limit(200);
    assert!(real.hold(50, &[0]) && real.hold(100, &[0]));
    // Beyond its hold A may have what B does not hold: 0.50.
    assert_eq!(real.settle(0, 300).money, Split { charge: 100, overrun: 200 });
    assert_eq!(counters(&real), (100, 200, 100));
    assert_eq!(real.settle(1, 10).money, Split { charge: 10, overrun: 0 });
    assert_eq!(counters(&real), (110, 200, 0));
    // C: what was overrun leaves no room.
    assert!(!real.hold(50, &[0]));
}

#[test]
fn limit_2_where_b_settles_before_a_overruns() {
    let mut real = one_limit(200);
    assert!(real.hold(50, &[0]) && real.hold(100, &[0]));
    assert_eq!(real.settle(1, 10).money, Split { charge: 10, overrun: 0 });
    assert_eq!(real.settle(0, 300).money, Split { charge: 190, overrun: 110 });
    assert_eq!(counters(&real), (200, 110, 0));
    assert!(!real.hold(50, &[0]));
}

#[test]
fn limit_1_where_the_late_truth_of_a_meets_the_hold_of_b() {
    let mut real = one_limit(100);
    assert!(real.hold(70, &[0]));
    real.settle(0, 40);
    assert!(real.hold(60, &[0]));
    // All is charged or held: the late 0.20 is nobody's but the tenant's.
    assert_eq!(real.correct(0, 60).money, Split { charge: 40, overrun: 20 });
    assert_eq!(counters(&real), (40, 20, 60));
    // B's hold stands whatever the overrun.
    assert_eq!(real.settle(1, 60).money, Split { charge: 60, overrun: 0 });
}

#[test]
fn a_decrease_takes_the_overrun_first() {
    let mut real = one_limit(100);
    assert!(real.hold(50, &[0]));
    assert_eq!(real.settle(0, 130).money, Split { charge: 100, overrun: 30 });
    assert_eq!(real.correct(0, 110).money, Split { charge: 100, overrun: 10 });
    assert_eq!(real.correct(0, 70).money, Split { charge: 70, overrun: 0 });
    assert_eq!(counters(&real), (70, 0, 0));
}

#[test]
fn hold_1_actual_5_left_a_half() {
    let mut real = one_limit(150);
    assert!(real.hold(100, &[0]));
    assert_eq!(real.settle(0, 500).money, Split { charge: 150, overrun: 350 });
    assert!(!real.hold(1, &[0]));
}

#[test]
fn a_call_that_was_thought_free_is_charged_within_its_limits_only() {
    let mut real = one_limit(10);
    assert!(real.hold(0, &[0]));
    assert_eq!(real.settle(0, 25).money, Split { charge: 10, overrun: 15 });
}

#[test]
fn an_observing_limit_counts_and_never_refuses() {
    let mut real = Real::new(&[(10, false), (100, true)], LimitKind::Money);
    assert!(real.hold(80, &[0, 1]));
    assert_eq!(real.settle(0, 90).money, Split { charge: 90, overrun: 0 });
    assert_eq!(counters(&real), (90, 0, 0));
}
