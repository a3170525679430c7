//! The booking of what a call truly used.

use jiff::Timestamp;

use super::{
    Broker, Request,
    answer::Answered,
    hold::{Deadline, HeldCall},
    route::Way,
    truth::truth,
};
use crate::{
    backend,
    budget::{Ended, Slot, late},
    domain::{
        answer::Answer,
        charge::Split,
        entry::{EntryKind, Truth},
        hold::Hold,
        ids::CallId,
        limit::Limit,
        outcome::LimitStatus,
    },
    envelope::Standing,
};

/// A call whose hold has ended.
pub(super) struct Settled {
    pub(super) answered: Parts,
    /// What was booked as its use.
    pub(super) truth: Truth,
    /// What of it the user is charged.
    pub(super) money: Split,
    /// Every limit of the call, as last seen.
    pub(super) limits: Vec<Limit>,
    /// Set when the booking is still to come.
    pub(super) pending: bool,
    /// When it ended.
    pub(super) now: Timestamp,
}

/// What is left of the stage before once the hold is gone.
pub(super) struct Parts {
    pub(super) held: HeldParts,
    pub(super) answer: Answer,
    pub(super) failure: Option<backend::Error>,
}

/// The call without its hold.
pub(super) struct HeldParts {
    pub(super) request: Request,
    pub(super) standing: Standing,
    pub(super) call: CallId,
    pub(super) way: Way,
    pub(super) deadline: Deadline,
    pub(super) answer_tokens: u64,
    pub(super) clamped_by: Option<LimitStatus>,
    pub(super) is_landing: bool,
}

pub(super) async fn settle(broker: &Broker, answered: Answered) -> Settled {
    let (kind, truth) = truth(&answered);
    let Answered {
        held: HeldCall { request, standing, call, way, held, deadline },
        answer,
        failure,
        ..
    } = answered;
    let mut limits = standing.limits.clone();
    overlay(&mut limits, held.limits);
    let booked = book(broker, (held.hold, held.slot), kind, &truth).await;
    let pending = booked.is_none();
    let estimate = Split { charge: truth.cost.total.nanos(), overrun: 0 };
    let (money, fresh) = booked.unwrap_or_else(|| (estimate, Vec::new()));
    overlay(&mut limits, fresh);
    let held = HeldParts {
        request,
        standing,
        call,
        way,
        deadline,
        answer_tokens: held.answer_tokens,
        clamped_by: held.clamped_by,
        is_landing: held.is_landing,
    };
    let answered = Parts { held, answer, failure };
    Settled { answered, truth, money, limits, pending, now: broker.clock.now() }
}

/// Ends the hold. What the user is charged, and the limits that have moved; none when
/// the booking is still to come: then the hold stands, and the reaper settles it at
/// its full amount.
async fn book(
    broker: &Broker,
    (hold, slot): (Hold, Slot),
    kind: EntryKind,
    truth: &Truth,
) -> Option<(Split, Vec<Limit>)> {
    let (call, key) = (hold.call, (hold.parties.tenant, hold.id));
    match broker.engine.end(hold, kind, *truth, Some(slot)).await {
        Ok(Ended::Booked { booking, limits }) => return Some((booking.money, limits)),
        Ok(Ended::AlreadyResolved) => {}
        Err(it) => {
            tracing::error!(%call, error = %it, "a settlement could not be booked");
            return None;
        }
    }
    // The reaper was first: this process was away for long. The truth corrects it.
    match late::settle(&broker.store, &broker.clock, key, truth).await {
        Ok(late::Late::Booked { booking, limits }) => Some((booking.money, limits)),
        Ok(late::Late::Settled(booking)) => Some((booking.money, Vec::new())),
        Ok(late::Late::Unknown) => None,
        Err(it) => {
            tracing::error!(%call, error = %it, "a late truth could not be booked");
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
