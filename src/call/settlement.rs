//! The booking of what a call truly used.

use jiff::Timestamp;

use super::{
    Broker,
    answer::Answered,
    hold::{Attempt, HeldCall},
    truth::truth,
};
use crate::{
    backend,
    budget::{Ended, Slot, late},
    domain::{
        answer::Answer,
        charge::Split,
        entry::{Booking, EntryKind, Truth},
        hold::Hold,
        limit::Limit,
        model::Record,
    },
};

/// An attempt whose hold has ended.
pub(super) struct Settled {
    pub(super) attempt: Attempt,
    pub(super) answer: Answer,
    pub(super) failure: Option<backend::Error>,
    /// What was booked as its use.
    pub(super) truth: Truth,
    /// What of it counts, and what the user is charged.
    pub(super) booking: Booking,
    /// Every limit of the call, as last seen.
    pub(super) limits: Vec<Limit>,
    /// When it was booked, by Postgres' time; none when that is still to come, or when the
    /// reaper was first.
    pub(super) booked_at: Option<Timestamp>,
    /// Set when the booking is still to come.
    pub(super) pending: bool,
    /// When it ended.
    pub(super) now: Timestamp,
}

pub(super) async fn settle(broker: &Broker, answered: Answered) -> Settled {
    let (kind, truth) = truth(&answered);
    compare(broker, &answered);
    let Answered { held: HeldCall { attempt, hold, slot, limits: fresh }, answer, failure, .. } =
        answered;
    let mut limits = attempt.admitted.standing.limits.clone();
    overlay(&mut limits, fresh);
    let charge = truth.cost.total.nanos();
    let estimate = Booking {
        calls: hold.need.calls,
        money: Split { charge, overrun: 0 },
        tokens: Split::default(),
    };
    let booked = book(broker, (hold, slot), kind, &truth).await;
    let pending = booked.is_none();
    let (booking, fresh, booked_at) = booked.unwrap_or_else(|| (estimate, Vec::new(), None));
    overlay(&mut limits, fresh);
    let now = broker.clock.now();
    Settled { attempt, answer, failure, truth, booking, limits, booked_at, pending, now }
}

/// Remembers what the backend counted of the prompt against what was held for it.
fn compare(broker: &Broker, answered: &Answered) {
    let way = &answered.held.attempt.way;
    let actual = answered.answer.usage.prompt_count(way.model.context_tokens);
    if let Some(actual) = actual {
        let record = Record::of(way.prompt_tokens, actual, broker.clock.now());
        let tenant = answered.held.attempt.admitted.request.caller.tenant;
        broker.catalogue.bounds.saw((tenant, way.model.id), way.is_fine, record);
    }
}

/// Ends the hold. What that moved, the limits that it moved, and when; none when
/// the booking is still to come: then it is owed, and made once Postgres answers. Should
/// this process end before that, the reaper settles the hold at its full amount.
async fn book(
    broker: &Broker,
    (hold, slot): (Hold, Slot),
    kind: EntryKind,
    truth: &Truth,
) -> Option<(Booking, Vec<Limit>, Option<Timestamp>)> {
    let (call, key) = (hold.call, (hold.parties.tenant, hold.id));
    match broker.engine.end(hold.clone(), kind, *truth, Some(slot)).await {
        Ok(Ended::Booked { booking, limits, at }) => return Some((booking, limits, Some(at))),
        Ok(Ended::AlreadyResolved) => {}
        Err(it) => {
            tracing::error!(%call, error = %it, "a settlement could not be booked");
            return None;
        }
    }
    // The reaper was first: this process was away for long. The truth corrects it.
    match late::settle(&broker.store, &broker.clock, key, truth).await {
        Ok(late::Late::Booked { booking, limits }) => Some((booking, limits, None)),
        Ok(late::Late::Settled(booking)) => Some((booking, Vec::new(), None)),
        Ok(late::Late::Unknown) => None,
        Err(it) => {
            tracing::error!(%call, error = %it, "a late truth could not be booked");
            broker.engine.owe(&hold, kind, *truth);
            None
        }
    }
}

/// Replaces what is known anew.
fn overlay(limits: &mut [Limit], fresh: Vec<Limit>) {
    for it in fresh {
        if let Some(known) = limits.iter_mut().find(|known| known.key == it.key) {
            *known = it;
        }
    }
}
