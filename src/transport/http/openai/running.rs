//! How many calls of a token run in this process: a bound that protects the process. What
//! a host bounds a token's calls at once by is a limit of its envelope.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::problem::Problem;
use crate::domain::ids::TokenId;

/// Calls of one token at once, in one process.
const AT_ONCE_MAX: usize = 64;

/// Counts. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<Mutex<HashMap<TokenId, usize>>>);

/// A call that runs, for as long as this is kept.
#[derive(Debug)]
pub(super) struct Place {
    running: Running,
    token: TokenId,
}

impl Running {
    /// A place for a call, unless as many run as may.
    pub(super) fn enter(&self, token: TokenId) -> Result<Place, Problem> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = all.entry(token).or_default();
        if *now >= AT_ONCE_MAX {
            return Err(Problem::too_many_at_once());
        }
        *now += 1;
        drop(all);
        Ok(Place { running: self.clone(), token })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.running.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(now) = all.get_mut(&self.token) {
            *now = now.saturating_sub(1);
            if *now == 0 {
                all.remove(&self.token);
            }
        }
    }
}
