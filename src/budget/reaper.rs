//! Ends what nobody ended: a hold whose time is over is settled at its full amount,
//! marked as estimated. It is never released silently.

use std::time::Duration;

use super::{Engine, Error};
use crate::{
    clock::Clock,
    domain::entry::{EntryKind, Truth},
    store::{self, Store, holds},
};

/// Between two looks when there was nothing to do.
const PAUSE: Duration = Duration::from_secs(1);

/// Holds ended at a time.
const SWEEP_MAX: i64 = 500;

/// Sweeps for ever. Several replicas may: a hold ends once, whoever ends it.
pub async fn run(store: Store, clock: Clock, engine: Engine) {
    loop {
        match sweep(&store, &engine).await {
            Ok(0) => {}
            Ok(ended) => {
                tracing::warn!(ended, "expired holds were settled at their full amount");
                continue;
            }
            Err(it) => tracing::warn!(error = %it, "the sweep for expired holds failed"),
        }
        clock.sleep(PAUSE).await;
    }
}

/// Ends at most [`SWEEP_MAX`] expired holds, from the tables alone, and returns how many.
pub async fn sweep(store: &Store, engine: &Engine) -> Result<usize, Error> {
    let expired = holds::expired(store, SWEEP_MAX).await?;
    let mut ended = 0;
    for (tenant, id) in expired {
        let mut tx = store.call_tx(tenant).await?;
        let found = holds::find(&mut tx, &[(tenant, id)]).await?;
        store::commit(tx).await?;
        for hold in found {
            let Ok(truth) = Truth::whole_hold(&hold, None) else {
                return Err(store::Error::Unreadable("holds.money").into());
            };
            engine.end(hold, EntryKind::Expire, truth, None).await?;
            ended += 1;
        }
    }
    Ok(ended)
}
