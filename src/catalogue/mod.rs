//! What can be asked and at what price: a tenant's models, backends and rate, as
//! they stood at most two seconds ago.

pub mod bounds;
pub mod breaker;
pub mod connections;
pub mod health;
pub mod reach;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

pub use bounds::Bounds;
pub use connections::Connections;
pub use health::Health;

use crate::{
    clock::Clock,
    domain::{
        family::Names,
        fault::Fault,
        fx::{FxQuote, buffer_for_age},
        ids::{BackendId, TenantId},
        model::{Backend, BackendKind, Model},
        money::Currency,
        period::days_since,
        vocabulary::Vocabulary,
    },
    store::{
        self, Store,
        catalogue::{self, FxRate},
    },
};

/// How old a remembered snapshot may be.
const FRESH: Duration = Duration::from_secs(2);

/// Tenants remembered at once.
const TENANTS_MAX: usize = 10_000;

/// Models and backends a tenant may have.
const ROWS_MAX: i64 = 5_000;

/// A model with what routing asks of it, worked out once for many requests.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The model.
    pub model: Model,
    /// What wishes are matched with.
    pub names: Names,
    /// Whether its backend only plays what it is told: for demonstrations and tests.
    pub is_demonstration: bool,
}

/// A tenant's catalogue at one instant.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Every model, with its price where it has one.
    pub models: Vec<Listed>,
    /// Every backend.
    pub backends: Vec<Backend>,
    /// The newest rate.
    pub fx: Option<FxRate>,
    /// The vocabularies that the models count text in.
    pub vocabularies: Vec<Vocabulary>,
}

/// Snapshots, and when each was read.
type Known = HashMap<TenantId, (Instant, Arc<Snapshot>)>;

/// Remembers snapshots. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    known: Arc<Mutex<Known>>,
    /// What backends counted against what was held for.
    pub bounds: Bounds,
}

impl Catalogue {
    /// The tenant's catalogue, from memory while that is fresh.
    pub async fn of(
        &self,
        store: &Store,
        clock: &Clock,
        tenant: TenantId,
    ) -> Result<Arc<Snapshot>, Fault> {
        if let Some(it) = self.fresh(clock, tenant) {
            return Ok(it);
        }
        let read_at = clock.monotonic();
        let mut tx = store.call_tx(tenant).await?;
        let models = catalogue::models(&mut tx, tenant, (None, ROWS_MAX)).await?;
        let backends = catalogue::backends(&mut tx, tenant, (None, ROWS_MAX)).await?;
        let fx = catalogue::fx_rate(&mut tx, tenant).await?;
        let vocabularies = vocabularies(&models);
        let models = listed(models, &backends);
        let snapshot = Arc::new(Snapshot { models, backends, fx, vocabularies });
        store::commit(tx).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TENANTS_MAX {
            known.clear();
        }
        known.insert(tenant, (read_at, Arc::clone(&snapshot)));
        Ok(snapshot)
    }

    /// Forgets a tenant's, since this process has just changed it.
    pub fn forget(&self, tenant: TenantId) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&tenant);
    }

    /// Forgets everybody's, since what all share has changed.
    pub fn forget_all(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn fresh(&self, clock: &Clock, tenant: TenantId) -> Option<Arc<Snapshot>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (read_at, snapshot) = known.get(&tenant)?;
        let age = clock.monotonic().saturating_duration_since(*read_at);
        (age < FRESH).then(|| Arc::clone(snapshot))
    }
}

fn vocabularies(models: &[Model]) -> Vec<Vocabulary> {
    let is_used = |it: &Vocabulary| models.iter().any(|of| of.bound.vocabulary() == Some(*it));
    Vocabulary::ALL.into_iter().filter(is_used).collect()
}

fn listed(models: Vec<Model>, backends: &[Backend]) -> Vec<Listed> {
    let scripted = backends.iter().filter(|it| it.kind == BackendKind::Scripted);
    let scripted: HashSet<BackendId> = scripted.map(|it| it.id).collect();
    let listed = models.into_iter().map(|model| Listed {
        names: Names::of(&model.alias, &model.vendor_model),
        is_demonstration: scripted.contains(&model.backend),
        model,
    });
    listed.collect()
}

impl Snapshot {
    /// The rate for a call that begins now: an old one costs more. None when there
    /// is no rate at all.
    pub fn quote(&self, currency: Currency, clock: &Clock) -> Option<FxQuote> {
        let rate = self.fx?;
        let age = days_since(rate.fixing_date, clock.now());
        Some(FxQuote {
            rate: rate.id,
            usd_nanos_per_unit: rate.usd_nanos_per_unit,
            buffer_basis_points: if currency == Currency::USD { 0 } else { buffer_for_age(age) },
        })
    }

    /// A backend by its id.
    pub fn backend(&self, id: BackendId) -> Option<&Backend> {
        self.backends.iter().find(|it| it.id == id)
    }
}
