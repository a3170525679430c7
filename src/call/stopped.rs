//! Kill switches and calls that run already. No hold is taken for whoever is stopped:
//! the statement that takes it sees to that. What was held before is looked up here, by
//! every replica, and cut; what had come until then is kept and settled.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    domain::{fault::chain, halt::Target, hold::Parties},
    store::{Store, stops},
};

/// Between two looks: a running call is cut within a second.
const PAUSE: Duration = Duration::from_millis(300);

/// The calls of this process that can be stopped, by their parties. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Running(Arc<Mutex<HashMap<Target, Weak<Watched>>>>);

/// A call's share of what is watched for its parties, for as long as it runs.
#[derive(Debug, Default)]
pub(super) struct Watched {
    stopped: CancellationToken,
}

impl Watched {
    /// Waits until somebody has stopped the call's parties.
    pub(super) async fn stopped(&self) {
        self.stopped.cancelled().await;
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_cancelled()
    }
}

impl Running {
    /// Watches a call of these parties until what is returned is dropped.
    pub(super) fn watch(&self, parties: &Parties) -> Arc<Watched> {
        let Parties { tenant, user, server, .. } = *parties;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.entry(Target { tenant, user, server }).or_default();
        if let Some(it) = entry.upgrade() {
            return it;
        }
        let fresh = Arc::new(Watched::default());
        *entry = Arc::downgrade(&fresh);
        fresh
    }

    /// Whose calls run; the rest is forgotten.
    fn targets(&self) -> Vec<Target> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, it| it.strong_count() > 0);
        all.keys().copied().collect()
    }

    /// Cuts the calls of these. Whoever asks again, once it is lifted, is watched anew.
    fn cut(&self, stopped: &[Target]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for target in stopped {
            if let Some(it) = all.remove(target).and_then(|it| it.upgrade()) {
                it.stopped.cancel();
            }
        }
    }
}

/// Looks for stops of running calls for ever. While the database does not answer nothing
/// new is held either.
pub async fn run(store: Store, clock: Clock, running: Running) {
    let mut fails = false;
    loop {
        clock.sleep(PAUSE).await;
        let targets = running.targets();
        if targets.is_empty() {
            continue;
        }
        match stops::among(&store, &targets).await {
            Ok(stopped) => {
                if !stopped.is_empty() {
                    tracing::warn!(parties = stopped.len(), "running calls were stopped");
                    running.cut(&stopped);
                }
                fails = false;
            }
            Err(it) if !fails => {
                tracing::warn!(error = chain(&it), "stops of running calls cannot be looked up");
                fails = true;
            }
            Err(_) => {}
        }
    }
}
