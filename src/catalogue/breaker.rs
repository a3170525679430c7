//! A circuit breaker: pure, its time handed in.

use std::time::{Duration, Instant};

/// So many temporary failures in a row open it.
const FAILURES_MAX: u32 = 5;

/// How long it stays open at first; doubled each time that the try after it fails.
const PAUSE: Duration = Duration::from_secs(2);

/// How long at most, whatever a backend asks for.
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// How long a try may take before another one is let through in its place.
const TRY_MAX: Duration = Duration::from_mins(1);

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It answered.
    Fine,
    /// Nothing: something else ended the call first, or it was the request's fault.
    Nothing,
    /// It failed in a way that may pass.
    Failing,
    /// It asks to be left alone for so long.
    Busy(Duration),
    /// It will fail until somebody mends it: a wrong key, an empty account.
    Broken,
}

/// Why nothing is asked of it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// What was last seen of it.
    pub why: Seen,
    /// When it may be tried again, from now on.
    pub again_in: Duration,
}

/// See the module. A closed one lets everything through; an open one nothing; and after
/// its pause one call at a time, whose outcome decides.
#[derive(Debug, Clone, Copy, Default)]
pub struct Breaker {
    failures: u32,
    /// How often it opened in a row.
    openings: u32,
    open: Option<(Seen, Instant)>,
    /// Since when a try is under way.
    trying: Option<Instant>,
}

impl Breaker {
    /// Whether it is closed for good: nothing needs to be remembered.
    pub const fn is_clean(&self) -> bool {
        self.failures == 0 && self.open.is_none()
    }

    /// Why it lets nothing through, if it does not. Changes nothing.
    pub fn is_open(&self, now: Instant) -> Option<Open> {
        let (why, until) = self.open?;
        let again_in = until.saturating_duration_since(now);
        if !again_in.is_zero() {
            return Some(Open { why, again_in });
        }
        let trying = self.trying?;
        let left = TRY_MAX.saturating_sub(now.saturating_duration_since(trying));
        (!left.is_zero()).then_some(Open { why, again_in: left.min(PAUSE) })
    }

    /// Says that it is asked now. After a pause that is the try.
    pub fn asked(&mut self, now: Instant) {
        if self.open.is_some() && self.is_open(now).is_none() {
            self.trying = Some(now);
        }
    }

    /// Takes in what came of it. True when it opens by this.
    pub fn saw(&mut self, seen: Seen, now: Instant) -> bool {
        let was_open = self.open.is_some();
        self.trying = None;
        let pause = match seen {
            Seen::Fine => {
                *self = Self::default();
                return false;
            }
            Seen::Nothing => return false,
            Seen::Busy(asked) => asked.min(PAUSE_MAX),
            Seen::Broken => PAUSE_MAX,
            Seen::Failing => {
                self.failures = self.failures.saturating_add(1);
                if self.failures < FAILURES_MAX && !was_open {
                    return false;
                }
                PAUSE.saturating_mul(1 << self.openings.min(6)).min(PAUSE_MAX)
            }
        };
        self.openings = self.openings.saturating_add(1);
        self.open = now.checked_add(pause).map(|until| (seen, until));
        !was_open
    }
}
