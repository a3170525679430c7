//! The names of all that is measured, in one place.

/// Calls that ended.
pub const CALLS: &str = "bursar.calls";

/// How long they took.
pub const CALL_DURATION: &str = "bursar.call.duration";

/// How much of that was this process' own work.
pub const CALL_OWN_TIME: &str = "bursar.call.own_time";

/// How a call ended.
pub const OUTCOME: &str = "outcome";

/// What ended its answer early.
pub const CUT: &str = "cut";
