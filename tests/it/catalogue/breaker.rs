//! A backend that fails is left alone, and tried again one call at a time.

use std::time::{Duration, Instant};

use bursar::catalogue::breaker::{Breaker, Open, Seen};

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn five_failures_in_a_row_open_it_and_one_success_between_does_not() {
    let now = Instant::now();
    let mut it = Breaker::default();
    for round in 0..3 {
        for _ in 0..4 {
            assert!(!it.saw(Seen::Failing, now), "round {round}");
            assert_eq!(it.is_open(now), None);
        }
        it.saw(Seen::Fine, now);
        assert!(it.is_clean());
    }
    for n in 1..=5 {
        assert_eq!(it.saw(Seen::Failing, now), n == 5);
    }
    assert_eq!(it.is_open(now), Some(Open { why: Seen::Failing, again_in: seconds(2) }));
}

#[test]
fn after_its_pause_one_call_is_let_through_and_decides() {
    let start = Instant::now();
    let mut it = Breaker::default();
    for _ in 0..5 {
        it.saw(Seen::Failing, start);
    }
    let mut now = start;
    let mut pause = 2;
    for _ in 0..8 {
        now += seconds(pause);
        assert_eq!(it.is_open(now), None, "one may try");
        it.asked(now);
        assert!(it.is_open(now).is_some(), "and no other beside it");
        assert!(!it.saw(Seen::Failing, now), "it was open before");
        pause = (pause * 2).min(60);
        assert_eq!(it.is_open(now).unwrap().again_in, seconds(pause));
    }
    now += seconds(pause);
    it.asked(now);
    it.saw(Seen::Fine, now);
    assert!(it.is_clean());
}

#[test]
fn a_try_that_never_comes_back_does_not_keep_it_open_for_ever() {
    let now = Instant::now();
    let mut it = Breaker::default();
    it.saw(Seen::Busy(seconds(1)), now);
    let later = now + seconds(1);
    it.asked(later);
    assert!(it.is_open(later + seconds(59)).is_some());
    assert_eq!(it.is_open(later + seconds(60)), None);
}

#[test]
fn who_asks_to_be_left_alone_is_but_not_for_a_day() {
    let now = Instant::now();
    let mut it = Breaker::default();
    assert!(it.saw(Seen::Busy(seconds(7)), now));
    assert_eq!(it.is_open(now).unwrap().again_in, seconds(7));
    it.saw(Seen::Busy(seconds(86_400)), now);
    assert_eq!(it.is_open(now).unwrap().again_in, seconds(60));
}

#[test]
fn what_somebody_has_to_mend_opens_it_at_once() {
    let now = Instant::now();
    let mut it = Breaker::default();
    assert!(it.saw(Seen::Broken, now));
    assert_eq!(it.is_open(now), Some(Open { why: Seen::Broken, again_in: seconds(60) }));
}
