//! Own time: what is left of a call without its waiting. It is measured where it is
//! spent, each time the runtime lets a call go on; whatever it waits for, it does not run.

use std::{
    future::poll_fn,
    pin::pin,
    time::{Duration, Instant},
};

use crate::clock::Clock;

/// Does the work, and says for how long it was on a processor.
pub async fn measured<F: Future>(clock: &Clock, work: F) -> (F::Output, Duration) {
    let mut work = pin!(work);
    let mut own = Duration::ZERO;
    let output = poll_fn(|cx| {
        let begun: Instant = clock.monotonic();
        let polled = work.as_mut().poll(cx);
        own += clock.monotonic().saturating_duration_since(begun);
        polled
    })
    .await;
    (output, own)
}
