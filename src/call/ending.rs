//! How a call ended, and when that is an error.

use super::{End, settlement::HeldParts};
use crate::{
    backend,
    domain::{
        answer::Answer,
        fault::Fault,
        money::Amount,
        outcome::{Cut, Outcome},
    },
};

/// How a call ended, in a reply's words.
pub(super) struct Ending {
    pub(super) outcome: Outcome,
    pub(super) cut: Option<Cut>,
    pub(super) limit: Responsible,
}

/// The limit that answers for it.
pub(super) enum Responsible {
    None,
    Clamp,
    Seconds,
}

pub(super) fn ending(
    held: &HeldParts,
    answer: &Answer,
    (failure, charge): (Option<&backend::Error>, i64),
) -> Result<Ending, End> {
    let delivered = !answer.is_empty();
    let cut = answer.cut;
    let limit = match cut {
        Some(Cut::Budget) => Responsible::Clamp,
        Some(Cut::Deadline) if held.deadline.is_envelopes => Responsible::Seconds,
        _ if held.clamped_by.is_some() => Responsible::Clamp,
        _ => Responsible::None,
    };
    let outcome = match cut {
        None => Outcome::Complete,
        Some(_) if delivered => Outcome::Partial,
        // The model thought its share away: a short answer, of no text at all.
        Some(Cut::Budget) => Outcome::Partial,
        Some(Cut::Deadline) => Outcome::Exhausted,
        Some(Cut::Shutdown) => return Err(shutting_down().into()),
        Some(Cut::Backend | Cut::Idle) => return Err(backend_failed(held, failure, charge).into()),
        Some(Cut::ClientGone | Cut::Cancelled) => return Err(nobody_listens().into()),
    };
    Ok(Ending { outcome, cut, limit })
}

fn shutting_down() -> Fault {
    Fault::Unavailable {
        reason: "SHUTTING_DOWN",
        problem: "this replica is shutting down; try another".to_owned(),
        retry_after: Some(std::time::Duration::from_secs(1)),
    }
}

/// For nobody's eyes, and no news for a log: callers leave.
fn nobody_listens() -> Fault {
    Fault::Unavailable {
        reason: "CALLER_GONE",
        problem: "the caller left before anything was delivered".to_owned(),
        retry_after: None,
    }
}

/// Nothing was delivered, so there is no reply in which the charge could stand: the
/// error says it.
fn backend_failed(held: &HeldParts, failure: Option<&backend::Error>, charge: i64) -> Fault {
    let cause = failure
        .map_or_else(|| "the backend was silent for too long".to_owned(), ToString::to_string);
    tracing::warn!(
        call = %held.call, backend = held.way.backend_name, model = held.way.model.alias, cause,
        "a backend failed with nothing delivered"
    );
    let charge = Amount::from_nanos(charge);
    let booked = if charge.is_zero() {
        "nothing was charged".to_owned()
    } else {
        let currency = held.request.caller.currency;
        format!("{charge} {currency} were charged, since it may have been billed")
    };
    Fault::Unavailable {
        reason: "BACKEND_FAILED",
        problem: format!("{cause}; {booked} ({})", held.call),
        retry_after: failure.and_then(|it| it.retry_after),
    }
}
