//! Own time: what is left of a call without its waiting. It is measured where it is
//! spent, each time the runtime lets a call go on, in time on a processor: what the
//! machine does meanwhile for others, the database among them, is not the call's.

use std::{future::poll_fn, pin::pin, time::Duration};

use crate::clock::Clock;

/// Does the work, and says for how long it was on a processor.
pub async fn measured<F: Future>(clock: &Clock, work: F) -> (F::Output, Duration) {
    let mut work = pin!(work);
    let mut own = Duration::ZERO;
    let output = poll_fn(|cx| {
        // One poll is on one thread from its beginning to its end.
        let begun = clock.on_processor();
        let polled = work.as_mut().poll(cx);
        own += clock.on_processor().saturating_sub(begun);
        polled
    })
    .await;
    (output, own)
}
