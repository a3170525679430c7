//! What Postgres did not take in time: settlements whose truth is known, and holds that
//! may have been taken for callers who were told that they were not. It is booked once
//! Postgres answers again, so that an outage leaves no estimate where the truth is known.
//! A process that dies first leaves it to the reaper.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{Ended, Engine, Error, late};
use crate::{
    clock::Clock,
    domain::{
        entry::{EntryKind, Truth},
        fault::chain,
        hold::Hold,
        ids::{HoldId, TenantId},
    },
    store::{self, Store, holds},
};

/// What is kept at most; beyond it the reaper books.
const OWED_MAX: usize = 16_384;

/// Tried at once: a lane makes few batches of them.
const AT_ONCE: usize = 256;

/// How long a write whose connection broke may go on: longer than any of Postgres' own
/// timeouts for it.
const UNKNOWN_MAX: Duration = Duration::from_mins(1);

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// What is owed to the ledger.
#[derive(Debug)]
enum Debt {
    /// The end of a hold.
    End(Box<Hold>, EntryKind, Truth),
    /// A hold that nobody uses, if it was taken at all, and until when that may show.
    Unwanted(TenantId, HoldId, Instant),
}

/// All that is owed, oldest first.
#[derive(Debug, Default)]
pub(super) struct Owed(Mutex<VecDeque<Debt>>);

impl Owed {
    /// Keeps the end of a hold. What the reaper ends, it finds again by itself.
    pub(super) fn end(&self, hold: &Hold, kind: EntryKind, truth: Truth) {
        match kind {
            EntryKind::Settle | EntryKind::Void => {
                self.keep(Debt::End(Box::new(hold.clone()), kind, truth));
            }
            EntryKind::Expire | EntryKind::LateSettle | EntryKind::Correction => {}
        }
    }

    /// Keeps that a hold is of no use, as of `now`.
    pub(super) fn unwanted(&self, tenant: TenantId, id: HoldId, now: Instant) {
        let until = now.checked_add(UNKNOWN_MAX).unwrap_or(now);
        self.keep(Debt::Unwanted(tenant, id, until));
    }

    fn keep(&self, debt: Debt) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < OWED_MAX {
            all.push_back(debt);
        } else {
            tracing::error!("too much is owed to the ledger: a hold is left to expire");
        }
    }

    fn take(&self) -> Vec<Debt> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let some = all.len().min(AT_ONCE);
        all.drain(..some).collect()
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Engine {
    /// Keeps a settlement whose truth is known and that could not be booked.
    pub fn owe(&self, hold: &Hold, kind: EntryKind, truth: Truth) {
        self.owed.end(hold, kind, truth);
    }

    /// How many settlements wait for Postgres to come back.
    pub fn owed(&self) -> usize {
        self.owed.len()
    }
}

/// Books what is owed, for ever.
pub async fn run(store: Store, clock: Clock, engine: Engine) {
    loop {
        clock.sleep(PAUSE).await;
        match pay(&store, &clock, &engine).await {
            Ok(0) => {}
            Ok(paid) => tracing::info!(paid, "settlements from before an outage were booked"),
            Err(it) => tracing::warn!(owed = engine.owed(), error = chain(&it), "still owed"),
        }
    }
}

/// Books all that is owed; returns how much that was. What fails stays owed, and so does
/// what may still turn out to be.
pub async fn pay(store: &Store, clock: &Clock, engine: &Engine) -> Result<usize, Error> {
    let mut paid = 0;
    let mut unseen = engine.owed.len();
    while unseen > 0 {
        let debts = engine.owed.take();
        if debts.is_empty() {
            break;
        }
        unseen = unseen.saturating_sub(debts.len());
        let each = debts.into_iter().map(|it| pay_one((store, clock, engine), it));
        for result in futures_util::future::join_all(each).await {
            paid += usize::from(result?);
        }
    }
    Ok(paid)
}

/// Books one; false: there is nothing to book yet. A lane that cannot write the end of a
/// hold keeps it as owed by itself.
async fn pay_one(
    (store, clock, engine): (&Store, &Clock, &Engine),
    debt: Debt,
) -> Result<bool, Error> {
    let (hold, kind, truth) = match debt {
        Debt::End(hold, kind, truth) => (hold, kind, truth),
        Debt::Unwanted(tenant, id, until) => match find(store, tenant, id).await {
            Ok(Some(hold)) => (Box::new(hold), EntryKind::Void, Truth::nothing(None)),
            Ok(None) if clock.monotonic() >= until => return Ok(false),
            Ok(None) => {
                engine.owed.keep(Debt::Unwanted(tenant, id, until));
                return Ok(false);
            }
            Err(it) => {
                engine.owed.keep(Debt::Unwanted(tenant, id, until));
                return Err(it.into());
            }
        },
    };
    let key = (hold.parties.tenant, hold.id);
    match engine.end((*hold).clone(), kind, truth, None).await? {
        Ended::Booked { .. } => Ok(true),
        // By this very settlement, whose answer was lost, or by the reaper: then the
        // truth corrects it.
        Ended::AlreadyResolved => match late::settle(store, clock, key, &truth).await {
            Ok(_) => Ok(true),
            Err(it) => {
                engine.owed.end(&hold, kind, truth);
                Err(it.into())
            }
        },
    }
}

async fn find(store: &Store, tenant: TenantId, id: HoldId) -> Result<Option<Hold>, store::Error> {
    let mut tx = store.call_tx(tenant).await?;
    let found = holds::find(&mut tx, &[(tenant, id)]).await?;
    store::commit(tx).await?;
    Ok(found.into_iter().next())
}
