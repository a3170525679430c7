//! Sheds what comes too fast, by key and by server, before anything is looked up.
//! It protects this process; what a user may spend is counted in Postgres alone.

use std::{hash::Hash, num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
    state::keyed::DefaultKeyedStateStore,
};

use crate::domain::{
    fault::Fault,
    ids::{CredentialId, TenantId},
};

type Limiter<K> = RateLimiter<K, DefaultKeyedStateStore<K>, DefaultClock>;

/// Keys remembered before those that are back at rest are forgotten.
const REMEMBERED: usize = 100_000;

/// Requests per second, each with a burst of twice that.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// For each key.
    pub per_key: NonZeroU32,
    /// For each server of a tenant.
    pub per_server: NonZeroU32,
}

/// Counts, per process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shed {
    keys: Arc<Limiter<CredentialId>>,
    servers: Arc<Limiter<(TenantId, String)>>,
}

impl Shed {
    /// Nothing has come yet.
    pub fn new(rates: Rates) -> Self {
        Self { keys: limiter(rates.per_key), servers: limiter(rates.per_server) }
    }

    /// Lets a request of this key pass, or says when to come back.
    pub fn key(&self, id: CredentialId) -> Result<(), Fault> {
        check(&self.keys, &id)
    }

    /// Lets a request of this server pass, or says when to come back.
    pub fn server(&self, tenant: TenantId, server: &str) -> Result<(), Fault> {
        check(&self.servers, &(tenant, server.to_owned()))
    }
}

fn limiter<K: Hash + Eq + Clone>(per_second: NonZeroU32) -> Arc<Limiter<K>> {
    let burst = per_second.saturating_mul(NonZeroU32::MIN.saturating_add(1));
    Arc::new(RateLimiter::keyed(Quota::per_second(per_second).allow_burst(burst)))
}

fn check<K: Hash + Eq + Clone>(limiter: &Limiter<K>, key: &K) -> Result<(), Fault> {
    if limiter.len() > REMEMBERED {
        limiter.retain_recent();
    }
    limiter.check_key(key).map_err(|it| {
        let wait = it.wait_time_from(DefaultClock::default().now());
        Fault::Shed { retry_after: wait.max(Duration::from_millis(1)) }
    })
}
