//! Requests with an id that run in this process, and who waits for them.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use tokio::sync::watch;

use super::Asked;
use crate::{domain::fault::Fault, store::requests::Key};

/// How a request ended, for all who asked the same.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// With these bytes.
    Reply(Arc<[u8]>),
    /// With a question, these bytes: the request is open, and comes again.
    Question(Arc<[u8]>),
    /// With an error.
    Fault(Fault),
}

/// What makes two requests the same.
type Same = (Key, [u8; 32]);

/// See the module. Bounded by the calls that run at once.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<Mutex<HashMap<Same, Told>>>);

/// Where the first one tells its end.
#[derive(Debug)]
struct Told {
    deadline: Instant,
    told: watch::Sender<Option<End>>,
}

/// What a request is here.
pub(super) enum Entered {
    /// The only one of its kind so far.
    First(First),
    /// One that runs already.
    Again(Follower),
}

/// The first of its kind. Dropping it lets the next one be first.
pub(super) struct First {
    running: Running,
    same: Same,
    told: watch::Sender<Option<End>>,
}

/// Waits for the first.
#[derive(Debug)]
pub(super) struct Follower {
    /// When the first one's call must end.
    pub(super) deadline: Instant,
    told: watch::Receiver<Option<End>>,
}

impl Running {
    pub(super) fn enter(&self, asked: &Asked) -> Entered {
        let same = (asked.key, asked.body);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.entry(same) {
            Entry::Occupied(it) => {
                let Told { deadline, told } = it.get();
                Entered::Again(Follower { deadline: *deadline, told: told.subscribe() })
            }
            Entry::Vacant(it) => {
                let told = watch::Sender::new(None);
                it.insert(Told { deadline: asked.deadline, told: told.clone() });
                Entered::First(First { running: self.clone(), same, told })
            }
        }
    }
}

impl First {
    /// Says when the caller is gone and nobody else waits for the same reply.
    pub(super) async fn forsaken(&self, asked: &Asked) {
        asked.gone.cancelled().await;
        self.told.closed().await;
    }

    /// Tells whoever waits.
    pub(super) fn end(self, end: End) {
        self.told.send_replace(Some(end));
    }
}

impl Drop for First {
    fn drop(&mut self) {
        let mut all = self.running.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.same);
    }
}

impl Follower {
    /// How the first ended; none when it broke off.
    pub(super) async fn end(&mut self) -> Option<End> {
        self.told.wait_for(Option::is_some).await.ok()?.clone()
    }
}
