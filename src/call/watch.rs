//! Where the answer goes while it comes.

use tokio::sync::mpsc;

use crate::domain::ids::{CallId, EnvelopeId};

/// What whoever asked may watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The hold is taken and the backend is being asked. Once more for each attempt,
    /// none of which comes after text.
    Started {
        /// The call.
        call: CallId,
        /// Which attempt of the call, from 1.
        attempt: u8,
        /// The envelope it counts against.
        envelope: EnvelopeId,
        /// Tokens that may be generated.
        max_tokens: u64,
        /// What the server may call the model.
        model: String,
    },
    /// More of the text.
    Text(String),
}

/// Takes progress. A slow reader holds the answer back and costs no memory; nobody
/// else is held back with it.
#[derive(Debug, Clone, Default)]
pub struct Sink(Option<mpsc::Sender<Progress>>);

/// The reader is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone;

impl Sink {
    /// Nobody watches.
    pub const NONE: Self = Self(None);

    /// Somebody reads the other end.
    pub const fn new(sender: mpsc::Sender<Progress>) -> Self {
        Self(Some(sender))
    }

    pub(super) async fn send(&self, progress: Progress) -> Result<(), Gone> {
        match &self.0 {
            None => Ok(()),
            Some(sender) => sender.send(progress).await.map_err(|_| Gone),
        }
    }
}
