//! When a call must end.

use std::time::{Duration, Instant};

use super::admission::Admitted;

/// When a call must end, and for whose sake.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    /// The envelope's seconds are what ends it.
    pub(super) is_envelopes: bool,
}

impl Deadline {
    /// The earliest of what ends a call, the same whenever it is asked; none when the
    /// envelope's seconds are over by `now`.
    pub(super) fn of(admitted: &Admitted, now: Instant) -> Option<Self> {
        let Admitted { standing, until, seen_at, .. } = admitted;
        let closes_at = standing.envelope.life.closes_at;
        let left = Duration::try_from(closes_at.duration_since(standing.now)).ok()?;
        let envelope = seen_at.checked_add(left).filter(|it| *it > now)?;
        Some(Self { at: envelope.min(*until), is_envelopes: envelope <= *until })
    }
}
