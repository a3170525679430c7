//! What those who wait for a batch are told.

use jiff::Timestamp;

use super::{
    command::{Command, Decided, EndCommand, Ended, Error, Held, HoldCommand, Verdict},
    decide::Denial,
    plan::Plan,
};
use crate::{
    domain::{
        entry::{EntryKind, Truth},
        hold::Hold,
    },
    store,
};

/// Answers an order. Returns the end of a hold that nobody waits for any more:
/// nothing was dispatched, so it is given back.
pub(super) fn answer_hold(
    command: HoldCommand,
    decided: &Decided,
    plan: &Plan,
    at: Option<Timestamp>,
) -> Option<Command> {
    let verdict = match (decided, command.slot) {
        (Decided::Take(hold, grant), Some(slot)) => {
            let taken_at = at.unwrap_or_default();
            let expires_at = taken_at.checked_add(command.order.ttl).unwrap_or_default();
            let hold = Hold { incurred_at: taken_at, expires_at, ..hold.as_ref().clone() };
            Ok(Verdict::Held(Box::new(Held {
                limits: plan.limits_after(&hold),
                hold,
                offer: grant.offer,
                answer_tokens: grant.answer_tokens,
                clamped_by: grant.clamped_by,
                is_landing: grant.is_landing,
                slot,
            })))
        }
        (Decided::Deny(Denial::Short(it)), _) => Ok(Verdict::Short(*it)),
        (Decided::Deny(Denial::Closed(it)), _) => Ok(Verdict::Closed(*it)),
        (Decided::Deny(Denial::Late), _) => Ok(Verdict::Late),
        (Decided::Stopped, _) => Ok(Verdict::Stopped),
        // It came and went before anybody heard of it.
        (Decided::Gone, _) => Err(Error::Store(store::Error::Stale)),
        (_, _) => Err(Error::LimitMissing),
    };
    match command.reply.send(verdict) {
        Err(Ok(Verdict::Held(held))) => Some(void(*held)),
        Err(_) | Ok(()) => None,
    }
}

pub(super) fn answer_end(
    command: EndCommand,
    decided: &Decided,
    plan: &Plan,
    at: Option<Timestamp>,
) {
    let answer = match decided {
        Decided::End(booking) => Ok(Ended::Booked {
            booking: *booking,
            limits: plan.limits_after(&command.hold),
            at: at.unwrap_or_default(),
        }),
        Decided::Gone => Ok(Ended::AlreadyResolved),
        Decided::Deny(_) | Decided::Take(..) | Decided::Stopped => Err(Error::LimitMissing),
    };
    if let Some(reply) = command.reply {
        // Whoever asked may be gone; the entry is written all the same.
        let _ = reply.send(answer);
    }
}

fn void(held: Held) -> Command {
    Command::End(Box::new(EndCommand {
        hold: held.hold,
        kind: EntryKind::Void,
        truth: Truth::nothing(None),
        reply: None,
        _slot: Some(held.slot),
    }))
}

pub(super) fn fail(commands: Vec<Command>, error: store::Error) {
    let text = error.to_string();
    tracing::warn!(
        commands = commands.len(),
        error = text,
        "a batch of holds and settlements failed"
    );
    let mut first = Some(error);
    for command in commands {
        let error = first.take().unwrap_or_else(|| store::Error::Retry("batch".to_owned()));
        command.fail(Error::Store(error));
    }
}
