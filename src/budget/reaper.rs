//! Ends what nobody ended: a hold whose time is over is settled at its full amount,
//! marked as estimated. It is never released silently.

use std::time::Duration;

use futures_util::StreamExt;

use super::{Ended, Engine, Error};
use crate::{
    clock::Clock,
    domain::{
        entry::{EntryKind, Truth},
        fault::chain,
        ids::{HoldId, TenantId},
    },
    store::{self, Store, holds},
};

/// Between two looks when there was nothing to do.
const PAUSE: Duration = Duration::from_secs(1);

/// Between two looks while they fail: longer each time, up to this.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Holds looked up at a time.
const SWEEP_MAX: i64 = 500;

/// Holds ended at a time: few enough to leave connections to calls.
const AT_ONCE: usize = 4;

/// Sweeps for ever. Several replicas may: a hold ends once, whoever ends it.
pub async fn run(store: Store, clock: Clock, engine: Engine) {
    let mut failing = None;
    loop {
        failing = match sweep(&store, &engine).await {
            Ok(ended) => {
                if failing.is_some() {
                    tracing::info!("the sweep for expired holds works again");
                }
                if ended > 0 {
                    tracing::warn!(ended, "expired holds were settled at their full amount");
                    failing = None;
                    continue;
                }
                None
            }
            Err(it) => Some(again_after(failing, &it)),
        };
        clock.sleep(failing.unwrap_or(PAUSE)).await;
    }
}

/// How long to wait after a failure, given the pause after the one before. Only the
/// first of a row is logged.
fn again_after(before: Option<Duration>, error: &Error) -> Duration {
    let Some(before) = before else {
        tracing::warn!(error = chain(error), "the sweep for expired holds failed");
        return PAUSE;
    };
    before.saturating_mul(2).min(PAUSE_MAX)
}

/// Ends at most `SWEEP_MAX` expired holds, from the tables alone, and returns how
/// many. One that cannot be ended does not keep the others waiting.
pub async fn sweep(store: &Store, engine: &Engine) -> Result<usize, Error> {
    let expired = holds::expired(store, SWEEP_MAX).await?;
    let ends = expired.into_iter().map(|it| expire(store, engine, it));
    let mut ends = futures_util::stream::iter(ends).buffer_unordered(AT_ONCE);
    let mut ended = 0;
    while let Some(end) = ends.next().await {
        match end {
            Ok(true) => ended += 1,
            Ok(false) => {}
            Err(it) => tracing::warn!(error = %it, "an expired hold could not be ended"),
        }
    }
    Ok(ended)
}

/// Ends one hold; false when somebody else did meanwhile.
async fn expire(
    store: &Store,
    engine: &Engine,
    (tenant, id): (TenantId, HoldId),
) -> Result<bool, Error> {
    let mut tx = store.call_tx(tenant).await?;
    let found = holds::find(&mut tx, &[(tenant, id)]).await?;
    store::commit(tx).await?;
    let Some(hold) = found.into_iter().next() else { return Ok(false) };
    let truth = Truth::whole_hold(&hold, None);
    let truth = truth.map_err(|_| store::Error::Unreadable("holds.money"))?;
    let end = engine.end(hold, EntryKind::Expire, truth, None).await?;
    Ok(matches!(end, Ended::Booked { .. }))
}
