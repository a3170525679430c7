//! How a call ended, and when that is an error.

use super::{
    End, Request,
    hold::Attempt,
    past::{Bill, Why},
};
use crate::domain::{
    answer::Answer,
    fault::Fault,
    outcome::{Cut, Outcome, Refusal},
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
    attempt: &Attempt,
    answer: &Answer,
    (why, bill): (Why, &Bill),
) -> Result<Ending, End> {
    let request = &attempt.admitted.request;
    let delivered = !answer.is_empty();
    let cut = answer.cut;
    let limit = match cut {
        Some(Cut::Budget) => Responsible::Clamp,
        Some(Cut::Deadline) if attempt.deadline.is_envelopes => Responsible::Seconds,
        _ if attempt.clamped_by.is_some() => Responsible::Clamp,
        _ => Responsible::None,
    };
    if cut == Some(Cut::Cancelled) && !delivered && attempt.admitted.watched.is_stopped() {
        return Err(stopped(request, bill).into());
    }
    let outcome = match cut {
        None => Outcome::Complete,
        Some(_) if delivered => Outcome::Partial,
        // The model thought its share away: a short answer, of no text at all.
        Some(Cut::Budget) => Outcome::Partial,
        Some(Cut::Deadline) => Outcome::Exhausted,
        Some(Cut::Shutdown) => return Err(shutting_down(request, bill).into()),
        Some(Cut::Backend | Cut::Idle) => return Err(backend_failed(request, why, bill).into()),
        Some(Cut::ClientGone | Cut::Cancelled) => return Err(nobody_listens().into()),
    };
    Ok(Ending { outcome, cut, limit })
}

fn shutting_down(request: &Request, bill: &Bill) -> Fault {
    Fault::Unavailable {
        reason: "SHUTTING_DOWN",
        problem: format!("this replica is shutting down; {}; try another", booked(request, bill)),
        retry_after: Some(std::time::Duration::from_secs(1)),
    }
}

/// Nothing had come, but something may have been billed: a refusal has no place for that.
fn stopped(request: &Request, bill: &Bill) -> Fault {
    Fault::Precondition {
        reason: Refusal::Stopped.reason(),
        problem: format!("{}; {}", Refusal::Stopped.message(), booked(request, bill)),
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
/// error says what all attempts have cost.
pub(super) fn backend_failed(request: &Request, why: Why, bill: &Bill) -> Fault {
    Fault::Unavailable {
        reason: "BACKEND_FAILED",
        problem: format!("{why}; {}", booked(request, bill)),
        retry_after: why.retry_after,
    }
}

/// What was booked, in words.
fn booked(request: &Request, bill: &Bill) -> String {
    let (call, currency, charge) = (request.call, request.caller.currency, bill.charge());
    let charge = if charge.is_zero() {
        "nothing was charged".to_owned()
    } else {
        format!("{charge} {currency} were charged, since it may have been billed")
    };
    match bill.attempts {
        0 | 1 => format!("{charge} ({call})"),
        attempts => format!("{attempts} attempts were made and {charge} ({call})"),
    }
}
