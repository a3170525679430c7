//! What backends counted of prompts against what was held for them, gathered in memory
//! and written now and then: no call waits for it. A failure is written at once, so that
//! every replica knows within seconds.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::Catalogue;
use crate::{
    clock::Clock,
    domain::{
        fault::{Fault, chain},
        ids::{ModelId, TenantId},
        model::{Record, Trust},
    },
    store::{
        self, Store,
        bounds::{self, Seen},
    },
};

/// Between two writings while nothing fails.
const PAUSE: Duration = Duration::from_secs(1);

/// Between two writings while the database does not answer.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Models with something unwritten at once; what is seen of more is lost, unless it is a
/// failure.
const UNWRITTEN_MAX: usize = 10_000;

/// Models written in one statement.
const WRITTEN_MAX: usize = 1_000;

type Unwritten = HashMap<(TenantId, ModelId), (Record, Trust)>;

/// See the module. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    unwritten: Arc<Mutex<Unwritten>>,
    failed: Arc<Notify>,
}

impl Bounds {
    /// Takes in one prompt. `is_fine`: its bound trusted more than bytes and declared
    /// maxima; so if it failed, those are what is left, and otherwise nothing.
    pub fn saw(&self, of: (TenantId, ModelId), is_fine: bool, record: Record) {
        let trust = match (record.failures > 0, is_fine) {
            (false, _) => Trust::Fine,
            (true, true) => Trust::Coarse,
            (true, false) => Trust::Suspended,
        };
        self.add(of, record, trust);
        if trust > Trust::Fine {
            let (tenant, model) = of;
            let consequence = if is_fine { "bytes alone are relied on" } else { "suspended" };
            tracing::error!(
                %tenant,
                %model,
                held = record.held,
                counted = record.actual,
                consequence,
                "a backend counted more prompt tokens than the bound"
            );
            self.failed.notify_one();
        }
    }

    fn add(&self, of: (TenantId, ModelId), record: Record, trust: Trust) {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        if unwritten.len() < UNWRITTEN_MAX || unwritten.contains_key(&of) || trust > Trust::Fine {
            let it = unwritten.entry(of).or_default();
            *it = (it.0.and(&record), it.1.max(trust));
        }
    }

    /// What is unwritten, by tenant.
    fn take(&self) -> BTreeMap<TenantId, Vec<Seen>> {
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_tenant: BTreeMap<TenantId, Vec<Seen>> = BTreeMap::new();
        for ((tenant, model), (record, trust)) in unwritten.drain() {
            by_tenant.entry(tenant).or_default().push(Seen { model, record, trust });
        }
        by_tenant
    }
}

/// Writes for ever.
pub async fn run(store: Store, clock: Clock, catalogue: Catalogue) {
    let mut pause = PAUSE;
    loop {
        tokio::select! {
            () = clock.sleep(pause) => {}
            () = catalogue.bounds.failed.notified(), if pause == PAUSE => {}
        }
        pause = match write(&store, &catalogue).await {
            Ok(()) => PAUSE,
            Err(it) => {
                if pause == PAUSE {
                    tracing::warn!(error = chain(&it), "counts of prompts could not be written");
                }
                pause.saturating_mul(2).min(PAUSE_MAX)
            }
        };
    }
}

/// Writes what is unwritten. What cannot be written is kept, and the first error told.
pub async fn write(store: &Store, catalogue: &Catalogue) -> Result<(), Fault> {
    let mut outcome = Ok(());
    for (tenant, seen) in catalogue.bounds.take() {
        for some in seen.chunks(WRITTEN_MAX) {
            if let Err(it) = write_some(store, tenant, some).await {
                for it in some {
                    catalogue.bounds.add((tenant, it.model), it.record, it.trust);
                }
                outcome = outcome.and(Err(it));
            }
        }
        if seen.iter().any(|it| it.trust > Trust::Fine) {
            catalogue.forget(tenant);
        }
    }
    outcome
}

/// On a connection of calls, which finds rows by key whatever the statistics say.
async fn write_some(store: &Store, tenant: TenantId, seen: &[Seen]) -> Result<(), Fault> {
    let mut tx = store.call_tx(tenant).await?;
    bounds::add(&mut tx, tenant, seen).await?;
    Ok(store::commit(tx).await?)
}
