//! Live backends: one adapter a configured backend, kept while it is unchanged.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::reach::Reach;
use crate::{
    backend::{
        self, InvalidBaseUrl, Key, anthropic::Anthropic, openai::OpenAi, scripted::Scripted,
    },
    domain::{
        ids::BackendId,
        model::{Backend, BackendKind, Profile},
    },
    net,
};

/// Backends kept at once.
const KEPT_MAX: usize = 10_000;

/// Finds a secret by the name of its environment variable.
pub type Secrets = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A live backend.
pub type Connection = Arc<dyn backend::Backend>;

/// Makes the adapter of a dialect.
type Make = fn(&str, Option<Key>, Profile, net::Client) -> Result<Connection, InvalidBaseUrl>;

/// Makes and keeps adapters. Cheap to clone.
#[derive(Clone)]
pub struct Connections {
    scripted: bool,
    reach: Reach,
    client: net::Client,
    secrets: Secrets,
    kept: Arc<Mutex<HashMap<BackendId, (Backend, Connection)>>>,
}

impl Connections {
    /// `scripted`: whether the scripted backend may be used, which is for
    /// demonstrations and tests alone. `secrets`: how keys are found by name.
    pub fn new(scripted: bool, secrets: Secrets, reach: Reach) -> Result<Self, net::Error> {
        let client = net::client(&reach.private)?;
        Ok(Self { scripted, reach, client, secrets, kept: Arc::default() })
    }

    /// Where backends may be, and with which key.
    pub const fn reach(&self) -> &Reach {
        &self.reach
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
            BackendKind::Scripted => None,
            BackendKind::OpenAi => self.keyed(backend, |url, key, profile, client| {
                Ok(Arc::new(OpenAi::new(url, key, profile, client)?))
            }),
            BackendKind::Anthropic => self.keyed(backend, |url, key, profile, client| {
                Ok(Arc::new(Anthropic::new(url, key, profile, client)?))
            }),
        }
    }

    /// None, with a line in the log, when its key is missing or unusable.
    fn keyed(&self, backend: &Backend, dialect: Make) -> Option<Connection> {
        let unusable = |problem: &str| {
            tracing::error!(backend = backend.name, problem, "a backend cannot be used");
        };
        // Once more here: settings may have changed since it was written.
        if let Some((field, problem)) = self.reach.problem(&backend.base_url, &backend.key_env) {
            unusable(&format!("{field} {problem}"));
            return None;
        }
        let key = if backend.key_env.is_empty() {
            None
        } else {
            let Some(secret) = (self.secrets)(&backend.key_env) else {
                unusable("the environment variable with its key is not set");
                return None;
            };
            let parsed = Key::parse(&secret).map_err(|_| unusable("its key is not a valid header"));
            Some(parsed.ok()?)
        };
        let made = dialect(&backend.base_url, key, backend.profile.clone(), self.client.clone());
        made.map_err(|InvalidBaseUrl| unusable("its base URL is not valid")).ok()
    }
}
