//! What is asked of a lane, and what it answers.

use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::decide::{Ask, Denial, Grant};
use crate::{
    domain::{
        entry::{Booking, EntryKind, Truth},
        fault::Fault,
        hold::{Hold, Need, Parties},
        ids::{CallId, HoldId},
        limit::{Limit, LimitKey},
        outcome::LimitStatus,
    },
    store,
};

/// A hold that is wanted.
#[derive(Debug, Clone)]
pub struct Order {
    /// The hold's id, so that a repeated order is the same order.
    pub id: HoldId,
    /// The call.
    pub call: CallId,
    /// Which attempt of the call, from 1.
    pub attempt: i16,
    /// On whose behalf.
    pub parties: Parties,
    /// How much, on which limits.
    pub ask: Ask,
    /// How long it stands before the reaper settles it.
    pub ttl: Duration,
    /// Whether a host runs the model itself.
    pub by_host: bool,
}

/// A hold that was taken and is durable.
#[derive(Debug)]
pub struct Held {
    /// The hold.
    pub hold: Hold,
    /// Which of the offers it is for.
    pub offer: usize,
    /// Tokens that may be generated.
    pub answer_tokens: u64,
    /// The limit for whose sake it is less than was asked.
    pub clamped_by: Option<LimitStatus>,
    /// Whether it is the envelope's last call, which is told to conclude.
    pub is_landing: bool,
    /// Its limits, just after.
    pub limits: Vec<Limit>,
    /// The place of its settlement in the queue.
    pub slot: Slot,
}

/// A place in a lane's queue and in its tenant's share of it, kept from hold to settlement.
#[derive(Debug)]
pub struct Slot {
    pub(super) _lane: OwnedSemaphorePermit,
    pub(super) _tenant: OwnedSemaphorePermit,
}

/// What came of an order.
#[derive(Debug)]
pub enum Verdict {
    /// Taken.
    Held(Box<Held>),
    /// A limit has no room, not even for the least useful part.
    Short(LimitStatus),
    /// A limit's window is over or it was closed: look again which limits apply.
    Closed(LimitKey),
    /// It came after its own last instant.
    Late,
    /// An operator has stopped its user, its server or the tenant.
    Stopped,
}

/// What came of the end of a hold.
#[derive(Debug, Clone)]
pub enum Ended {
    /// Booked now.
    Booked {
        /// What it moved.
        booking: Booking,
        /// The hold's limits, just after.
        limits: Vec<Limit>,
        /// When, by Postgres' time.
        at: Timestamp,
    },
    /// Somebody else resolved it before: the reaper, or this same request earlier.
    AlreadyResolved,
}

/// Why the engine could not decide.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The queue or the tenant's share of it is full. Nothing was done.
    #[error("the queue of the budget engine is full")]
    Busy,
    /// The process is ending.
    #[error("the budget engine has stopped")]
    Stopped,
    /// Postgres failed for too long. A hold was not taken as far as we know, and if
    /// it was, it expires.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A limit that must exist does not.
    #[error("a limit is missing")]
    LimitMissing,
}

impl From<Error> for Fault {
    fn from(it: Error) -> Self {
        match it {
            Error::Busy => Self::Shed { retry_after: Duration::from_secs(1) },
            Error::Stopped => Self::Unavailable {
                reason: "SHUTTING_DOWN",
                problem: "this replica is shutting down".to_owned(),
                retry_after: Some(Duration::from_secs(1)),
            },
            Error::Store(it) => it.into(),
            Error::LimitMissing => {
                tracing::error!("a limit that a call names is missing");
                Self::Internal
            }
        }
    }
}

/// An order on its way to a lane.
#[derive(Debug)]
pub(super) struct HoldCommand {
    pub(super) order: Order,
    pub(super) slot: Option<Slot>,
    pub(super) reply: oneshot::Sender<Result<Verdict, Error>>,
}

/// The end of a hold on its way to a lane.
#[derive(Debug)]
pub(super) struct EndCommand {
    pub(super) hold: Hold,
    pub(super) kind: EntryKind,
    pub(super) truth: Truth,
    /// None for the lane's own clean-up.
    pub(super) reply: Option<oneshot::Sender<Result<Ended, Error>>>,
    pub(super) _slot: Option<Slot>,
}

#[derive(Debug)]
pub(super) enum Command {
    End(Box<EndCommand>),
    Hold(Box<HoldCommand>),
}

impl Command {
    /// The limits that it may touch.
    pub(super) fn limits(&self) -> &[LimitKey] {
        match self {
            Self::End(it) => &it.hold.limits,
            Self::Hold(it) => &it.order.ask.limits,
        }
    }

    /// Whether it need not be carried out: nobody waits for the order any more.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            Self::End(_) => false,
            Self::Hold(it) => it.reply.is_closed(),
        }
    }

    /// Answers with a failure.
    pub(super) fn fail(self, error: Error) {
        match self {
            Self::End(it) => {
                if let Some(reply) = it.reply {
                    // Nobody waits any more: the reaper ends the hold.
                    let _ = reply.send(Err(error));
                }
            }
            Self::Hold(it) => {
                let _ = it.reply.send(Err(error));
            }
        }
    }
}

/// What was decided about a command.
#[derive(Debug, Clone)]
pub(super) enum Decided {
    /// A hold, to be written. Its instants are filled in when it is.
    Take(Box<Hold>, Grant),
    /// Nothing to write.
    Deny(Denial),
    /// An entry, to be written.
    End(Booking),
    /// The hold is gone.
    Gone,
    /// Nothing to write: somebody has stopped its parties.
    Stopped,
}

impl Order {
    /// The hold that a grant makes of the order.
    pub(super) fn hold(&self, grant: &Grant) -> Option<Hold> {
        let Need { calls, money, tokens } = grant.need;
        let offer = self.ask.offers.get(grant.offer)?;
        Some(Hold {
            id: self.id,
            call: self.call,
            attempt: self.attempt,
            parties: self.parties,
            terms: offer.terms,
            route: offer.route.clone(),
            need: Need { calls, money, tokens },
            limits: grant.limits.clone(),
            reserved_by_host: self.by_host,
            incurred_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH,
        })
    }
}
