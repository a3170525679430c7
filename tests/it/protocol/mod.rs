//! The protocol of holds, played through to the end: every order of every step, with
//! lost answers, crashes and callers that leave. The rule that it asks is the
//! program's own; its steps are those of `budget::lane`, `budget::reaper` and
//! `budget::late`, one a message. With `BURSAR_LONG=1` it looks further.

mod database;
mod explore;
mod game;
mod invariants;
mod lane;
mod model;
mod random;
mod reference;
mod rows;
mod rule;
mod state;
mod steps;

use self::{
    explore::{Explored, STUCK, explore},
    model::{Plot, Rules, SOUND, Scenario},
};
use crate::engine::world::is_long;

const STATES_MAX: usize = 20_000_000;

const BOTH: &[usize] = &[0, 1];

const ONE: Plot = Plot { need: 2, truth: 5, on: BOTH, at: 0, by_host: false };
const TWO: Plot = Plot { need: 2, truth: 1, on: &[1], at: 1, by_host: true };

/// Two calls on two replicas that share one envelope with room for one and a half:
/// the first costs more than it held, the second less.
fn two_calls(rules: Rules) -> Scenario {
    Scenario {
        amounts: [3, 3],
        calls: vec![ONE, TWO],
        breaks: 1,
        crashes: 1,
        leaves: 1,
        ticks: 1,
        closes: None,
        rules,
    }
}

#[track_caller]
fn sound(scenario: &Scenario) -> Explored {
    match explore(scenario, STATES_MAX) {
        Ok(it) => {
            eprintln!("{} states, {} steps", it.states, it.steps);
            it
        }
        Err(it) => panic!("{it:#?}"),
    }
}

#[track_caller]
fn unsound(scenario: &Scenario, problem: &str) {
    match explore(scenario, STATES_MAX) {
        Ok(it) => panic!("nobody missed the rule in {} states", it.states),
        Err(it) => assert_eq!(it.problem, problem, "{it:#?}"),
    }
}

#[test]
fn nothing_is_lost_or_doubled_when_an_answer_is_lost() {
    let explored = sound(&Scenario { crashes: 0, leaves: 0, ..two_calls(SOUND) });
    assert!(explored.states > 10_000, "{explored:?}");
}

#[test]
fn nothing_is_lost_or_doubled_when_a_replica_crashes() {
    let explored = sound(&Scenario { breaks: 0, leaves: 0, ..two_calls(SOUND) });
    assert!(explored.states > 10_000, "{explored:?}");
}

#[test]
fn nothing_is_lost_or_doubled_when_a_caller_leaves() {
    let explored = sound(&Scenario { breaks: 0, crashes: 0, ..two_calls(SOUND) });
    assert!(explored.states > 1_000, "{explored:?}");
}

#[test]
fn nothing_is_lost_or_doubled_at_the_end_of_a_window() {
    let scenario = Scenario { crashes: 0, leaves: 0, closes: Some(1), ..two_calls(SOUND) };
    sound(&scenario);
}

/// The long run: all of the above in one, and a third call.
#[test]
fn nothing_is_lost_or_doubled_whatever_comes_together() {
    if is_long() {
        let three = Plot { at: 0, ..TWO };
        let calls = vec![ONE, TWO, three];
        sound(&Scenario { breaks: 0, crashes: 0, leaves: 0, calls, ..two_calls(SOUND) });
        sound(&two_calls(SOUND));
    }
}

// === Each rule is missed when it is off ===

const OVERSPENT: &str = "more is held and charged than was granted";
const NOT_HELD: &str = "what is held is not the fold of the open holds";
const REFUSED_AND_HELD: &str = "a call was refused, and has a hold";
const REFUSED_WRONGLY: &str = "a call is refused though there is room for it";
const NO_HOLD: &str = "something was dispatched without a durable hold";
const UNSOUND_VOID: &str = "something was dispatched and its hold given back";
const NOT_GIVEN_BACK: &str = "a hold that nobody waits for was not given back";
const TRUTH_TWICE: &str = "the truth of a hold has come twice";
const ENDED_AND_OPEN: &str = "a hold has ended and is open";

#[test]
fn a_write_that_ignores_revisions_overspends() {
    unsound(&two_calls(Rules { revisions: false, ..SOUND }), OVERSPENT);
}

#[test]
fn holds_looked_up_before_the_locks_are_overlooked() {
    unsound(&two_calls(Rules { locks_then_looks: false, ..SOUND }), REFUSED_AND_HELD);
}

#[test]
fn an_order_that_expired_unheard_would_be_carried_out_again() {
    let rules = Rules { knows_the_ended: false, ..SOUND };
    let scenario = Scenario { amounts: [9, 9], crashes: 0, leaves: 0, ..two_calls(rules) };
    unsound(&scenario, ENDED_AND_OPEN);
}

#[test]
fn a_refusal_that_does_not_fence_is_overtaken_by_the_write_it_takes_back() {
    let rules = Rules { fences: false, ..SOUND };
    let scenario = Scenario { crashes: 0, leaves: 0, closes: Some(1), ..two_calls(rules) };
    unsound(&scenario, REFUSED_AND_HELD);
}

#[test]
fn an_end_that_does_not_count_the_holds_it_deletes_ends_one_twice() {
    unsound(&two_calls(Rules { ends_once: false, ..SOUND }), NOT_HELD);
}

#[test]
fn a_reaper_that_does_not_check_ends_a_hold_twice() {
    unsound(&two_calls(Rules { reaper_checks: false, ..SOUND }), NOT_HELD);
}

#[test]
fn a_refusal_from_memory_is_wrong() {
    unsound(&two_calls(Rules { refuses_under_locks: false, ..SOUND }), REFUSED_WRONGLY);
}

#[test]
fn a_dispatch_before_the_answer_has_no_hold() {
    unsound(&two_calls(Rules { holds_first: false, ..SOUND }), NO_HOLD);
}

#[test]
fn a_void_after_the_dispatch_is_a_free_call() {
    unsound(&two_calls(Rules { voids_unsent_only: false, ..SOUND }), UNSOUND_VOID);
}

#[test]
fn a_hold_without_a_caller_stays_unless_it_is_given_back() {
    unsound(&two_calls(Rules { gives_back: false, ..SOUND }), NOT_GIVEN_BACK);
}

#[test]
fn without_a_reaper_a_crash_leaves_a_hold_for_ever() {
    let rules = Rules { reaps: false, ..SOUND };
    unsound(&Scenario { breaks: 0, leaves: 0, ..two_calls(rules) }, STUCK);
}

#[test]
fn a_late_truth_that_does_not_look_comes_twice() {
    unsound(&two_calls(Rules { late_once: false, ..SOUND }), TRUTH_TWICE);
}
