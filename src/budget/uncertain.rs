//! Batches that were sent and never answered: whether they took effect is asked of the
//! tables, under locks.

use jiff::Timestamp;

use super::{
    command::{Command, Decided},
    plan::Plan,
};
use crate::{
    domain::{
        hold::Parties,
        ids::{HoldId, TenantId},
    },
    store::{
        self,
        lane::{Locked, Open},
    },
};

/// What was sent of one batch and never answered, try by try: one of them at most
/// has taken effect, and may do so while the next is tried.
pub(super) type Uncertain = Vec<Plan>;

pub(super) fn tenant(command: &Command) -> TenantId {
    match command {
        Command::End(it) => it.hold.parties.tenant,
        Command::Hold(it) => it.order.parties.tenant,
    }
}

/// The holds whose being open matters: those that end, and, when a batch may have
/// been written before, those that it took.
pub(super) fn hold_ids(commands: &[Command], taken_too: bool) -> Vec<(TenantId, HoldId)> {
    let id = |it: &Command| match it {
        Command::End(it) => Some(it.hold.id),
        Command::Hold(it) => taken_too.then_some(it.order.id),
    };
    commands.iter().filter_map(|it| Some((tenant(it), id(it)?))).collect()
}

/// What is to be held, and for whom.
pub(super) fn orders(commands: &[Command]) -> Vec<(HoldId, Parties)> {
    let order = |it: &Command| match it {
        Command::End(_) => None,
        Command::Hold(it) => Some((it.order.id, it.order.parties)),
    };
    commands.iter().filter_map(order).collect()
}

/// Which try of unknown outcome was committed, if any was, and when.
pub(super) async fn written(
    locked: &mut Locked<'_>,
    uncertain: &mut Uncertain,
    commands: &[Command],
    open: &Open,
) -> Result<Option<(Plan, Timestamp)>, store::Error> {
    for at in 0..uncertain.len() {
        let Some(earlier) = uncertain.get(at) else { break };
        if let Some(since) = when_written(locked, earlier, commands, open).await? {
            return Ok(Some((uncertain.swap_remove(at), since)));
        }
    }
    Ok(None)
}

/// When a batch of unknown outcome was committed, if it was. It is written whole or
/// not at all: all its holds are there, as they were decided then, and all that it ends
/// are not. Nobody but us knows the holds yet, so one speaks for all; without one
/// somebody else may have ended some of the same holds, so each end has to be as decided.
async fn when_written(
    locked: &mut Locked<'_>,
    earlier: &Plan,
    commands: &[Command],
    open: &Open,
) -> Result<Option<Timestamp>, store::Error> {
    let mut taken_at = None;
    let mut ended = Vec::new();
    for (command, decided) in commands.iter().zip(&earlier.decided) {
        match (command, decided) {
            (Command::Hold(it), Decided::Take(hold, _)) => match open.holds.get(&it.order.id) {
                Some(found) if found.need == hold.need => taken_at = Some(found.since),
                Some(_) | None => return Ok(None),
            },
            (Command::End(it), Decided::End(booking)) => {
                if open.holds.contains_key(&it.hold.id) {
                    return Ok(None);
                }
                ended.push((it, booking));
            }
            (Command::Hold(_) | Command::End(_), _) => {}
        }
    }
    if taken_at.is_some() || ended.is_empty() {
        return Ok(taken_at);
    }
    for (end, booking) in ended {
        if !locked.is_booked(&end.hold, end.kind, booking).await? {
            return Ok(None);
        }
    }
    Ok(Some(open.now))
}
