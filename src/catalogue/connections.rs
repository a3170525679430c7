//! Live backends: one adapter a configured backend, kept while it is unchanged.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    backend::{self, scripted::Scripted},
    domain::{
        ids::BackendId,
        model::{Backend, BackendKind},
    },
};

/// Backends kept at once.
const KEPT_MAX: usize = 10_000;

/// A live backend.
pub type Connection = Arc<dyn backend::Backend>;

/// Makes and keeps adapters. Cheap to clone.
#[derive(Clone)]
pub struct Connections {
    scripted: bool,
    kept: Arc<Mutex<HashMap<BackendId, (Backend, Connection)>>>,
}

impl Connections {
    /// `scripted`: whether the scripted backend may be used, which is for
    /// demonstrations and tests alone.
    pub fn new(scripted: bool) -> Self {
        Self { scripted, kept: Arc::default() }
    }

    /// The adapter of a backend; none when its kind is not allowed here.
    pub fn to(&self, backend: &Backend) -> Option<Connection> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, it)) = kept.get(&backend.id).filter(|(known, _)| known == backend) {
            return Some(Arc::clone(it));
        }
        let connection = self.connect(backend)?;
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(backend.id, (backend.clone(), Arc::clone(&connection)));
        Some(connection)
    }

    fn connect(&self, backend: &Backend) -> Option<Connection> {
        match backend.kind {
            BackendKind::Scripted if self.scripted => {
                Some(Arc::new(Scripted::with_profile(backend.profile.clone())))
            }
            BackendKind::Scripted | BackendKind::OpenAi => None,
        }
    }
}
