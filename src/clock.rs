//! Time and randomness, as inputs: the one place that reads either.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::Timestamp;
use nix::time::{ClockId, clock_gettime};

use crate::domain::ids::{Id, uuid_v7};

/// Where a process gets the time and its identifiers from. Cheap to clone.
///
/// Postgres' time decides expiry and windows; this clock follows it by the offset
/// last measured and is otherwise used for what lies within one call.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    offset_ms: Arc<AtomicI64>,
}

impl Clock {
    /// The wall clock, in Postgres' time as far as it was measured.
    pub fn now(&self) -> Timestamp {
        let offset = self.offset_ms.load(Ordering::Relaxed);
        let offset = jiff::SignedDuration::from_millis(offset);
        own().checked_add(offset).unwrap_or(Timestamp::MAX)
    }

    /// Milliseconds since the Unix epoch by this machine alone.
    pub fn own_unix_ms(&self) -> i64 {
        own().as_millisecond()
    }

    /// Takes over how far Postgres' clock is ahead of this machine's.
    pub fn set_offset_ms(&self, ahead: i64) {
        self.offset_ms.store(ahead, Ordering::Relaxed);
    }

    /// A point on a clock that never jumps.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn monotonic(&self) -> Instant {
        Instant::now()
    }

    /// How long this thread has been on a processor, system calls included. Zero where
    /// the operating system does not tell.
    pub fn on_processor(&self) -> Duration {
        let spent = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
        spent.map_or(Duration::ZERO, Duration::from)
    }

    /// Waits.
    pub async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// A fresh identifier, ordered by time.
    pub fn id<T: Id>(&self) -> T {
        let unix_ms = u64::try_from(self.now().as_millisecond()).unwrap_or_default();
        uuid_v7(unix_ms, random()).into()
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn own() -> Timestamp {
    Timestamp::now()
}

/// Bytes from the operating system.
///
/// # Panics
/// When the operating system has none to give.
#[expect(clippy::expect_used, reason = "without entropy no key and no id can be made: stop")]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}
