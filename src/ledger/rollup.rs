//! Keeps the sums and the chain: takes batches as they are booked, in the background and
//! before a report is read.

use std::time::Duration;

use super::chain;
use crate::{
    clock::Clock,
    domain::{fault::chain, ids::TenantId},
    store::{
        self, Store,
        rollups::{self, Step},
    },
};

/// Between two looks when there is nothing to do.
const PAUSE: Duration = Duration::from_secs(2);

/// Between two looks after a failure.
const PAUSE_FAILED: Duration = Duration::from_secs(15);

/// Tenants taken at a time.
const TENANTS_MAX: i64 = 200;

/// Steps in a row for one tenant, so that others have their turn.
const STEPS_MAX: usize = 50;

/// Keeps every tenant's sums for ever. Several replicas may: the lock of a tenant's
/// progress is a lease that ends with its transaction.
pub async fn run(store: Store, clock: Clock) {
    let mut failing = false;
    loop {
        let pause = match sweep(&store).await {
            Ok(()) => {
                failing = false;
                PAUSE
            }
            Err(it) => {
                if !failing {
                    tracing::warn!(error = chain(&it), "the ledger's sums could not be kept");
                }
                failing = true;
                PAUSE_FAILED
            }
        };
        clock.sleep(pause).await;
    }
}

async fn sweep(store: &Store) -> Result<(), store::Error> {
    let mut after = None;
    loop {
        let tenants = rollups::behind(store, (after, TENANTS_MAX)).await?;
        let Some(last) = tenants.last() else { return Ok(()) };
        after = Some(*last);
        for tenant in tenants {
            advance(store, tenant).await?;
            chain::seal(store, tenant, false).await?;
        }
    }
}

/// Counts what was booked until now, as far as that is not too much at once: a report
/// says how far it came.
pub(super) async fn catch_up(store: &Store, tenant: TenantId) -> Result<(), store::Error> {
    match advance(store, tenant).await {
        // Another replica is at it, or was a moment ago.
        Err(it) if it.is_retryable() => Ok(()),
        other => other,
    }
}

async fn advance(store: &Store, tenant: TenantId) -> Result<(), store::Error> {
    for _ in 0..STEPS_MAX {
        let mut tx = store.report_tx(tenant).await?;
        let step = rollups::advance(&mut tx, tenant).await?;
        store::commit(tx).await?;
        if step != Step::More {
            break;
        }
    }
    Ok(())
}
