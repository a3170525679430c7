//! How backends fare, as this replica sees it: who fails is left alone for a while.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::breaker::{Breaker, Open, Seen};
use crate::{
    clock::Clock,
    domain::ids::{BackendId, ModelId},
};

/// Pairs of backend and model that are remembered; those that fare well need not be.
const KNOWN_MAX: usize = 10_000;

/// A model at a backend, or with none the backend as a whole: an empty account or a
/// wrong key is no single model's fault.
type Place = (BackendId, Option<ModelId>);

/// See the module. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Health {
    known: Arc<Mutex<HashMap<Place, Breaker>>>,
}

impl Health {
    /// Why a model is not asked now, if it is not.
    pub fn is_open(&self, clock: &Clock, backend: BackendId, model: ModelId) -> Option<Open> {
        let now = clock.monotonic();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |place: Place| known.get(&place)?.is_open(now);
        of((backend, None)).or_else(|| of((backend, Some(model))))
    }

    /// Says that a model is asked now.
    pub fn asked(&self, clock: &Clock, backend: BackendId, model: ModelId) {
        let now = clock.monotonic();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for place in [(backend, None), (backend, Some(model))] {
            if let Some(it) = known.get_mut(&place) {
                it.asked(now);
            }
        }
    }

    /// Takes in what came of asking. True when something is left alone by this from
    /// now on that was not before: worth a line in the log.
    pub fn saw(&self, clock: &Clock, (backend, model): (BackendId, ModelId), seen: Seen) -> bool {
        let now = clock.monotonic();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let places = [(backend, None), (backend, Some(model))];
        if matches!(seen, Seen::Fine | Seen::Nothing) {
            for place in places {
                if let Some(it) = known.get_mut(&place) {
                    it.saw(seen, now);
                }
            }
            known.retain(|_, it| !it.is_clean());
            return false;
        }
        if known.len() >= KNOWN_MAX {
            known.retain(|_, it| it.is_open(now).is_some());
        }
        if known.len() >= KNOWN_MAX {
            return false;
        }
        let place = match seen {
            Seen::Broken => (backend, None),
            Seen::Fine | Seen::Nothing | Seen::Failing | Seen::Busy(_) => (backend, Some(model)),
        };
        known.entry(place).or_default().saw(seen, now)
    }
}
