//! From commands to one batch: who gets what, and how far each limit moves.

use std::collections::BTreeSet;

use super::{
    command::{Command, Decided, Order},
    decide::{self, Book, Denial},
};
use crate::{
    domain::{
        entry::Resolution,
        hold::Hold,
        limit::{Limit, LimitKey},
    },
    store::{
        batch::{Batch, Move, NewHold},
        lane::Open,
    },
};

/// What is decided about a batch of commands, one decision each, in their order.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) decided: Vec<Decided>,
    /// The limits as they stood.
    before: Book,
    /// The limits as they will stand once it is written.
    pub(super) after: Book,
    /// Limits under a new hold.
    holding: BTreeSet<LimitKey>,
}

/// The limits that the commands may touch, each once, in the order of locking.
pub(super) fn keys(commands: &[Command]) -> Vec<LimitKey> {
    let keys: BTreeSet<_> = commands.iter().flat_map(Command::limits).copied().collect();
    keys.into_iter().collect()
}

/// What was looked up under locks. Without it holds are taken to be open, and so are
/// the limits' windows, and nobody to be stopped: the write will tell.
pub(super) type Seen<'a> = Option<&'a Open>;

/// Decides the commands one after another.
pub(super) fn plan(book: Book, commands: &[Command], seen: Seen<'_>) -> Plan {
    let now = seen.map(|it| it.now);
    let mut after = book.clone();
    let mut ended = BTreeSet::new();
    let mut holding = BTreeSet::new();
    let mut decided = Vec::with_capacity(commands.len());
    for command in commands {
        decided.push(match command {
            Command::End(it) => {
                let is_open = seen.is_none_or(|seen| seen.holds.contains_key(&it.hold.id));
                if is_open && ended.insert(it.hold.id) {
                    decide::resolve(&mut after, &it.hold, it.kind, &it.truth)
                        .map_or(Decided::Deny(Denial::Unknown), Decided::End)
                } else {
                    Decided::Gone
                }
            }
            Command::Hold(it) if seen.is_some_and(|seen| seen.ended.contains(&it.order.id)) => {
                Decided::Gone
            }
            Command::Hold(it) if seen.is_some_and(|seen| seen.stopped.contains(&it.order.id)) => {
                Decided::Stopped
            }
            Command::Hold(it) => match decide::hold(&mut after, &it.order.ask, now) {
                Err(denial) => Decided::Deny(denial),
                Ok(grant) => {
                    holding.extend(grant.limits.iter().copied());
                    let hold = it.order.hold(&grant);
                    hold.map_or(Decided::Deny(Denial::Unknown), |it| {
                        Decided::Take(Box::new(it), grant)
                    })
                }
            },
        });
    }
    Plan { decided, before: book, after, holding }
}

impl Plan {
    /// Whether it may be tried on what was merely remembered: nothing is refused.
    pub(super) fn grants_all(&self) -> bool {
        self.decided.iter().all(|it| matches!(it, Decided::Take(..) | Decided::End(_)))
    }

    /// What has to be written.
    pub(super) fn batch<'a>(&'a self, commands: &'a [Command]) -> Batch<'a> {
        let mut batch = Batch { moves: self.moves(commands), ..Batch::default() };
        for (command, decided) in commands.iter().zip(&self.decided) {
            match (command, decided) {
                (Command::Hold(it), Decided::Take(hold, _)) => {
                    let Order { ttl, ask, .. } = &it.order;
                    let not_after = ask.not_after;
                    batch.holds.push(NewHold { hold, ttl: *ttl, not_after });
                }
                (Command::End(it), Decided::End(booking)) => {
                    let resolution =
                        Resolution { kind: it.kind, truth: it.truth, booking: *booking };
                    batch.ends.push((&it.hold, resolution));
                }
                (Command::Hold(_) | Command::End(_), _) => {}
            }
        }
        batch
    }

    fn moves(&self, commands: &[Command]) -> Vec<Move> {
        let ended = commands.iter().zip(&self.decided).filter_map(|(command, decided)| {
            match (command, decided) {
                (Command::End(it), Decided::End(_)) => Some(it.hold.limits.as_slice()),
                (Command::Hold(_) | Command::End(_), _) => None,
            }
        });
        let mut touched: BTreeSet<LimitKey> = self.holding.clone();
        touched.extend(ended.flatten());
        touched.into_iter().filter_map(|key| self.moved(key)).collect()
    }

    fn moved(&self, key: LimitKey) -> Option<Move> {
        let (before, after) = (self.before.get(&key)?, self.after.get(&key)?);
        Some(Move {
            key,
            revision: before.revision,
            settled: after.settled - before.settled,
            overrun: after.overrun - before.overrun,
            held: after.held - before.held,
            holding: self.holding.contains(&key),
        })
    }

    /// The limits once the batch is written, for those that it moves.
    pub(super) fn written(&self, commands: &[Command]) -> Vec<Limit> {
        let next = |it: &Move| {
            let after = self.after.get(&it.key)?;
            Some(Limit { revision: it.revision + 1, ..after.clone() })
        };
        self.moves(commands).iter().filter_map(next).collect()
    }

    /// The limits of a hold, as they will stand.
    pub(super) fn limits_after(&self, hold: &Hold) -> Vec<Limit> {
        hold.limits.iter().filter_map(|it| self.after.get(it)).cloned().collect()
    }
}
