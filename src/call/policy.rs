//! What may follow an attempt that failed with nothing delivered. Pure.

use std::time::Duration;

use crate::{backend::Cause, catalogue::breaker::Seen};

/// Attempts of one call, the first among them.
pub const ATTEMPTS_MAX: u8 = 3;

/// The longest that a call waits for a backend: who wants to be left alone for longer
/// is not asked again by the same call.
pub const REST_MAX: Duration = Duration::from_secs(5);

/// What a way rests after the first failed attempt; doubled after each.
const REST: Duration = Duration::from_millis(200);

/// How far a failure reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It may pass: any other way, or the same one after a rest.
    Passing,
    /// The model at its backend does not take this request: any other way.
    Way,
    /// The backend answers nobody, or not in a way that can be understood: only ways
    /// at other backends.
    Backend,
    /// It ends the call: a laxer filter is not shopped for.
    Call,
}

/// How far a failure reaches; none: the backend was silent for too long.
pub const fn reach(cause: Option<Cause>) -> Reach {
    let Some(cause) = cause else { return Reach::Backend };
    match cause {
        Cause::Unreachable
        | Cause::Disconnected
        | Cause::ErrorFrame
        | Cause::Status(408 | 425 | 429 | 500 | 502 | 503 | 504 | 529) => Reach::Passing,
        // Malformed to it, unknown to it, too long for it, or not what it can do.
        Cause::Status(400 | 404 | 413 | 422) | Cause::Unsupported => Reach::Way,
        Cause::Status(_) | Cause::Quota(_) | Cause::NoKey | Cause::Malformed | Cause::TooLarge => {
            Reach::Backend
        }
        Cause::Filtered(_) => Reach::Call,
    }
}

/// What a failure says of the backend, for the calls after this one; no cause: it was
/// silent for too long.
pub fn seen(cause: Option<Cause>, wish: Option<Duration>) -> Seen {
    let Some(cause) = cause else { return Seen::Failing };
    match cause {
        Cause::Status(429) => Seen::Busy(wish.unwrap_or(REST)),
        Cause::Status(401..=403) | Cause::Quota(_) | Cause::NoKey => Seen::Broken,
        Cause::Unreachable
        | Cause::Disconnected
        | Cause::ErrorFrame
        | Cause::Malformed
        | Cause::TooLarge
        | Cause::Status(404 | 408 | 425 | 500..=599) => wish.map_or(Seen::Failing, Seen::Busy),
        // The request was not to its liking.
        Cause::Status(_) | Cause::Unsupported | Cause::Filtered(_) => Seen::Nothing,
    }
}

/// How long a way rests after the `attempt`th attempt of a call, which was made on it;
/// none: for too long to wait. Never less than the backend wishes; `chance`, evenly
/// spread, adds up to half of our own pause, so that many who failed together do not
/// come back together.
pub fn rest(attempt: u8, wish: Option<Duration>, chance: u8) -> Option<Duration> {
    let doublings = u32::from(attempt.saturating_sub(1)).min(8);
    let own = REST.saturating_mul(1 << doublings);
    let spread = own.saturating_mul(u32::from(chance)) / (2 * 255);
    let wish = wish.unwrap_or_default();
    (wish <= REST_MAX).then(|| wish.max(own).saturating_add(spread))
}
