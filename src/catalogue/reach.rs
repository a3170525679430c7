//! Where backends may be, and to which host each key goes. Both are the service's own
//! settings: whoever edits a backend cannot have a key sent elsewhere, nor reach into the
//! network that the service stands in.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    domain::{draft, fault::Fault, model::BackendKind},
    net::{self, Private},
};

/// Keys that go to their makers unless settings say otherwise.
const KNOWN: [(&str, &str); 2] =
    [("OPENAI_API_KEY", "api.openai.com"), ("ANTHROPIC_API_KEY", "api.anthropic.com")];

/// See the module. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reach {
    /// Hosts that may be at private addresses.
    pub private: Private,
    keys: Arc<BTreeMap<String, String>>,
}

/// A setting that binds no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} must be the name of a key, = and the host that it goes to")]
pub struct NotABinding(String);

impl Reach {
    /// `private`: hosts that may be at private addresses, `*` for all. `keys`: bindings
    /// such as `BURSAR_BACKEND_EU=llm.example.org`.
    pub fn new(private: &[String], keys: &[String]) -> Result<Self, NotABinding> {
        let mut bound: BTreeMap<String, String> =
            KNOWN.iter().map(|(key, host)| ((*key).to_owned(), (*host).to_owned())).collect();
        for it in keys {
            let parts =
                it.split_once('=').filter(|(key, host)| !key.is_empty() && !host.is_empty());
            let (key, host) = parts.ok_or_else(|| NotABinding(it.clone()))?;
            bound.insert(key.trim().to_owned(), host.trim().to_ascii_lowercase());
        }
        Ok(Self { private: Private::of(private), keys: bound.into() })
    }

    /// Refuses a backend that may not be there, by its field. A scripted one is nowhere.
    pub fn check(&self, wanted: &draft::Backend) -> Result<(), Fault> {
        if wanted.kind == BackendKind::Scripted {
            return Ok(());
        }
        let problem = self.problem(&wanted.base_url, &wanted.key_env);
        let wrong = |(field, problem)| Err(Fault::invalid(format!("backend.{field}"), problem));
        problem.map_or(Ok(()), wrong)
    }

    /// Why a backend may not be at this address with this key, in words for its operator;
    /// none: it may.
    pub fn problem(&self, base_url: &str, key_env: &str) -> Option<(&'static str, String)> {
        if !self.private.permits(base_url) {
            let problem =
                "is a private address; the service's private_hosts names those that may be";
            return Some(("base_url", problem.to_owned()));
        }
        if key_env.is_empty() {
            return None;
        }
        let host = net::host(base_url).unwrap_or_default();
        match self.keys.get(key_env) {
            Some(it) if *it == host => None,
            Some(it) => Some(("key_env", format!("is bound to {it} by the service's key_hosts"))),
            None => Some((
                "key_env",
                "is bound to no host; the service's key_hosts names the one that it goes to"
                    .to_owned(),
            )),
        }
    }
}
