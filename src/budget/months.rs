//! The ledger has a table for each month, made ahead. Where one is missing its entries
//! stand in a table for all the rest: nothing is lost, but it grows.

use std::time::Duration;

use crate::{
    clock::Clock,
    domain::fault::chain,
    store::{self, Store, months},
};

/// Months beyond the present one.
const AHEAD: u32 = 3;

/// Between two looks.
const PAUSE: Duration = Duration::from_hours(1);

/// Between two looks while they fail.
const AGAIN: Duration = Duration::from_secs(30);

/// Makes them for ever. Several replicas may.
pub async fn run(store: Store, clock: Clock) {
    let mut failing = false;
    loop {
        let made = make(&store).await;
        // Once for each time that it begins to fail: the rest is the same news.
        if let (Err(it), false) = (&made, failing) {
            tracing::warn!(error = chain(it), "the ledger's tables of the next months are missing");
        }
        failing = made.is_err();
        clock.sleep(if failing { AGAIN } else { PAUSE }).await;
    }
}

/// Makes what is missing of this month and the next three, by Postgres' time.
pub async fn make(store: &Store) -> Result<(), store::Error> {
    months::make(store, AHEAD).await
}
