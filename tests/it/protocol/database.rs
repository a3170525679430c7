//! What the database does by itself: whole statements, locks, constraints.

use super::{
    model::Scenario,
    rows::moved,
    state::{At, By, Command, Database, Decided, End, Entry, Kind, LIMITS, Parts, Plan, State},
};

/// Why a write did not happen. Nothing of it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Stale,
    Duplicate,
}

/// Who is at the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Replica(usize),
    Stray(usize),
    Nobody,
}

impl State {
    /// Whether nobody else holds a lock on these rows.
    pub(super) fn unlocked(&self, wanted: [bool; LIMITS], by: Who) -> bool {
        let common = |moves: &[bool; LIMITS]| (0..LIMITS).any(|n| moves[n] && wanted[n]);
        let lanes = self.replicas.iter().enumerate().filter(|(n, _)| by != Who::Replica(*n));
        let locked = |at: &At| matches!(at, At::Locked(plan) if common(&plan.moves));
        let by_lanes = lanes.filter_map(|(_, it)| it.work.as_ref()).any(|it| locked(&it.at));
        let strays = self.db.strays.iter().enumerate().filter(|(n, _)| by != Who::Stray(*n));
        let by_strays = strays.map(|(_, it)| it).any(|it| it.locks && common(&it.plan.moves));
        !by_lanes && !by_strays
    }
}

impl Scenario {
    /// Writes a plan whole or not at all.
    pub(super) fn write(&self, db: &mut Database, plan: &Plan) -> Result<(), Refusal> {
        for n in (0..LIMITS).filter(|n| plan.moves[*n]) {
            if self.rules.revisions && db.rows[n].revision != plan.before[n].revision {
                return Err(Refusal::Stale);
            }
        }
        for (command, decided) in &plan.decided {
            match (command, decided) {
                (Command::Hold(call), Decided::Take) => self.may_hold(db, *call, plan.sent_at)?,
                (Command::End(end), Decided::End(_)) => self.may_end(db, end)?,
                (Command::Hold(_) | Command::End(_), _) => {}
            }
        }
        for (command, decided) in &plan.decided {
            match (command, decided) {
                (Command::Hold(call), Decided::Take) => {
                    db.holds[*call] = Some(plan.sent_at + 1);
                }
                (Command::End(end), Decided::End(parts)) => {
                    db.holds[end.call] = None;
                    db.entries[end.call].push(Entry { kind: end.kind, parts: *parts });
                }
                (Command::Hold(_) | Command::End(_), _) => {}
            }
        }
        for n in (0..LIMITS).filter(|n| plan.moves[*n]) {
            db.rows[n] = moved(db.rows[n], plan.before[n], plan.after[n]);
        }
        self.forget_the_dead(db);
        Ok(())
    }

    fn may_hold(&self, db: &Database, call: usize, at: u8) -> Result<(), Refusal> {
        let closed = self.calls[call].on.contains(&1) && self.closes.is_some_and(|it| at >= it);
        if closed {
            return Err(Refusal::Stale);
        }
        if db.holds[call].is_some() { Err(Refusal::Duplicate) } else { Ok(()) }
    }

    /// The count of deleted holds, and the entry's primary key.
    fn may_end(&self, db: &Database, end: &End) -> Result<(), Refusal> {
        let checked = match end.by {
            By::Reaper => self.rules.reaper_checks,
            By::Caller | By::Lane => self.rules.ends_once,
        };
        if checked && db.holds[end.call].is_none() { Err(Refusal::Stale) } else { Ok(()) }
    }

    /// Strays that can only fail from now on: revisions never come again.
    pub(super) fn forget_the_dead(&self, db: &mut Database) {
        if self.rules.revisions {
            let rows = db.rows;
            let fits = |plan: &Plan, n: usize| {
                !plan.moves[n] || rows[n].revision == plan.before[n].revision
            };
            db.strays.retain(|it| it.locks || (0..LIMITS).all(|n| fits(&it.plan, n)));
        }
    }

    /// The truth of a hold that was ended without it, in a transaction of its own.
    /// What all of it comes to, or none if there is no such hold.
    pub(super) fn late(&self, db: &mut Database, call: usize) -> Option<Parts> {
        let first = *db.entries[call].first()?;
        let before = sum(&db.entries[call]);
        if first.kind != Kind::Expire || (self.rules.late_once && db.entries[call].len() > 1) {
            return Some(before);
        }
        let mut after = db.rows;
        let added = self.correct(&mut after, call, before);
        for n in self.calls[call].on {
            db.rows[*n] = moved(db.rows[*n], db.rows[*n], after[*n]);
        }
        db.entries[call].push(Entry { kind: Kind::Late, parts: added });
        self.forget_the_dead(db);
        Some(sum(&db.entries[call]))
    }
}

/// What entries come to.
pub(super) fn sum(entries: &[Entry]) -> Parts {
    entries.iter().fold(Parts::default(), |sum, it| Parts {
        charge: sum.charge + it.parts.charge,
        overrun: sum.overrun + it.parts.overrun,
    })
}
