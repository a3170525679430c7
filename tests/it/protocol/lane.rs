//! A lane, as `budget::lane` is written, one step a message.

use std::collections::BTreeSet;

use super::{
    database::{Refusal, Who, sum},
    model::Scenario,
    rows::marked,
    state::{
        At, By, Command, Decided, End, Kind, LIMITS, Parts, Plan, Row, Rows, Stage, State, Stray,
        Told, Work,
    },
};

/// What was looked up under locks: which holds are open, which orders have been ended
/// already, and the time.
struct Seen<'a> {
    open: &'a [bool],
    ended: Vec<bool>,
    now: u8,
}

impl Scenario {
    fn touched(&self, commands: &[Command]) -> [bool; LIMITS] {
        marked(commands.iter().flat_map(|it| self.calls[it.call()].on))
    }

    fn plan(&self, rows: Rows, commands: &[Command], seen: Option<&Seen<'_>>, now: u8) -> Plan {
        let mut after = rows;
        let mut ended = BTreeSet::new();
        let mut moving = Vec::new();
        let decide = |command: &Command| match command {
            Command::End(end) => {
                let open = seen.is_none_or(|it| it.open[end.call]);
                if open && ended.insert(end.call) {
                    moving.push(end.call);
                    Decided::End(self.resolve(&mut after, end))
                } else {
                    Decided::Gone
                }
            }
            Command::Hold(call) if seen.is_some_and(|it| it.ended[*call]) => Decided::Gone,
            Command::Hold(call) => {
                let decided = self.hold(&mut after, *call, seen.map(|it| it.now));
                if decided == Decided::Take {
                    moving.push(*call);
                }
                decided
            }
        };
        let decided: Vec<_> = commands.iter().map(decide).collect();
        Plan {
            decided: commands.iter().copied().zip(decided).collect(),
            before: rows,
            after,
            moves: marked(moving.iter().flat_map(|it| self.calls[*it].on)),
            sent_at: now,
        }
    }

    /// Takes all that waits.
    pub(super) fn gather(&self, state: &mut State, at: usize) {
        let commands = std::mem::take(&mut state.replicas[at].queue);
        let (gone, commands): (Vec<_>, Vec<_>) = commands
            .into_iter()
            .partition(|it| matches!(it, Command::Hold(call) if state.calls[*call].left));
        for it in gone {
            state.calls[it.call()].stage = Stage::Over(Told::Nothing);
        }
        self.begin(state, at, commands);
    }

    /// The first try: decided on what is remembered, written by compare-and-set.
    fn begin(&self, state: &mut State, at: usize, commands: Vec<Command>) {
        if commands.is_empty() {
            state.replicas[at].work = None;
            return;
        }
        let known = state.replicas[at].known;
        let rows: Rows = std::array::from_fn(|n| known[n].unwrap_or(state.db.rows[n]));
        let touched = self.touched(&commands);
        for n in (0..LIMITS).filter(|n| touched[*n]) {
            state.replicas[at].known[n] = Some(rows[n]);
        }
        let plan = self.plan(rows, &commands, None, state.now);
        let sent = plan.grants_all();
        if !sent && !self.rules.refuses_under_locks {
            self.judge(state, &plan);
            return self.answer(state, at, &plan);
        }
        let place = if sent { At::Sent(plan) } else { At::Waiting };
        let work = Work { commands, at: place, uncertain: Vec::new(), looked: None };
        state.replicas[at].work = Some(work);
    }

    /// Locks, looks, decides and writes. Whoever holds the locks keeps them until the
    /// write has landed.
    pub(super) fn lock(&self, state: &mut State, at: usize) -> Option<()> {
        let work = state.replicas[at].work.as_ref().filter(|it| it.at == At::Waiting)?;
        let touched = self.touched(&work.commands);
        if !state.unlocked(touched, Who::Replica(at)) {
            return None;
        }
        let open = match (&work.looked, self.rules.locks_then_looks) {
            (Some(open), false) => open.clone(),
            (None, false) => return None,
            (_, true) => open_holds(state),
        };
        let commands = work.commands.clone();
        let uncertain = work.uncertain.clone();
        let earlier = uncertain.iter().find(|it| written(state, it, &open));
        for n in (0..LIMITS).filter(|n| touched[*n]) {
            state.replicas[at].known[n] = Some(state.db.rows[n]);
        }
        if let Some(earlier) = earlier {
            self.answer(state, at, earlier);
            return Some(());
        }
        let ended = self.ended(state, !uncertain.is_empty());
        let seen = Seen { open: &open, ended, now: state.now };
        let plan = self.plan(state.db.rows, &commands, Some(&seen), state.now);
        if plan.writes() {
            let work = Work { commands, at: At::Locked(plan), uncertain, looked: None };
            state.replicas[at].work = Some(work);
        } else {
            if !uncertain.is_empty() && self.rules.fences {
                self.fence(state, at, touched);
            }
            self.answer(state, at, &plan);
        }
        Some(())
    }

    /// Moves the revisions on, so that what was sent earlier can land no more.
    fn fence(&self, state: &mut State, at: usize, touched: [bool; LIMITS]) {
        for n in (0..LIMITS).filter(|n| touched[*n]) {
            state.db.rows[n].revision += 1;
            state.replicas[at].known[n] = Some(state.db.rows[n]);
        }
        self.forget_the_dead(&mut state.db);
    }

    /// The orders that were carried out and ended before anybody heard of it.
    fn ended(&self, state: &State, uncertain: bool) -> Vec<bool> {
        let looks = uncertain && self.rules.knows_the_ended;
        state.db.entries.iter().map(|it| looks && !it.is_empty()).collect()
    }

    /// Looks for holds before the locks: where that rule is broken.
    pub(super) fn look(&self, state: &mut State, at: usize) -> Option<()> {
        let open = open_holds(state);
        let work = state.replicas[at].work.as_mut()?;
        let may = work.at == At::Waiting && work.looked.is_none() && !self.rules.locks_then_looks;
        may.then(|| work.looked = Some(open))
    }

    /// A write reaches the database, and its answer the lane.
    pub(super) fn deliver(&self, state: &mut State, at: usize) -> Option<()> {
        let place = state.replicas[at].work.as_ref()?.at.clone();
        let (plan, locked) = match place {
            At::Sent(plan) => (plan, false),
            At::Locked(plan) => (plan, true),
            At::Waiting => return None,
        };
        if !state.unlocked(plan.moves, Who::Replica(at)) {
            return None;
        }
        match self.write(&mut state.db, &plan) {
            Ok(()) => {
                for n in (0..LIMITS).filter(|n| plan.moves[*n]) {
                    let revision = plan.before[n].revision + 1;
                    let row = Row { revision, ..plan.after[n] };
                    state.replicas[at].known[n] = Some(row);
                }
                self.answer(state, at, &plan);
            }
            Err(Refusal::Duplicate) if locked => {
                state.wrong = Some("a hold is taken twice, and its caller told that it failed");
                fail(state, at);
            }
            Err(Refusal::Stale | Refusal::Duplicate) => {
                state.replicas[at].work.as_mut()?.at = At::Waiting;
            }
        }
        Some(())
    }

    fn answer(&self, state: &mut State, at: usize, plan: &Plan) {
        let mut orphans = Vec::new();
        for (command, decided) in &plan.decided {
            match command {
                Command::Hold(call) => match (decided, state.calls[*call].left) {
                    (Decided::Take, true) if self.rules.gives_back => {
                        state.calls[*call].stage = Stage::Over(Told::Nothing);
                        let (kind, truth, by) = (Kind::Void, 0, By::Lane);
                        orphans.push(Command::End(End { call: *call, kind, truth, by }));
                    }
                    (_, true) => state.calls[*call].stage = Stage::Over(Told::Nothing),
                    (Decided::Take, false) => state.calls[*call].stage = Stage::Held,
                    (Decided::Short | Decided::Closed, false) => {
                        state.calls[*call].stage = Stage::Over(Told::Refused);
                    }
                    (Decided::End(_) | Decided::Gone, false) => {
                        state.calls[*call].stage = Stage::Over(Told::Failed);
                    }
                },
                Command::End(end) => answer_end(state, at, end, *decided),
            }
        }
        self.begin(state, at, orphans);
    }

    /// Whether what is refused from memory has no room in the database either.
    fn judge(&self, state: &mut State, plan: &Plan) {
        for (command, decided) in &plan.decided {
            let mut rows = state.db.rows;
            let short = *decided == Decided::Short;
            if short && self.hold(&mut rows, command.call(), None) != Decided::Short {
                state.wrong = Some("a call is refused though there is room for it");
            }
        }
    }
}

fn answer_end(state: &mut State, at: usize, end: &End, decided: Decided) {
    match end.by {
        By::Lane => {}
        By::Reaper => state.replicas[at].reaps = None,
        By::Caller => {
            state.calls[end.call].stage = match (decided, end.kind) {
                (Decided::End(parts), _) => Stage::Over(Told::Booked(parts)),
                (_, Kind::Settle) => Stage::Late,
                (_, Kind::Void | Kind::Expire | Kind::Late) => Stage::Over(Told::Resolved),
            }
        }
    }
}

fn open_holds(state: &State) -> Vec<bool> {
    state.db.holds.iter().map(Option::is_some).collect()
}

/// Whether a batch of unknown outcome was written, by the same signs as the lane's.
fn written(state: &State, earlier: &Plan, open: &[bool]) -> bool {
    let mut taken = false;
    let mut ended = Vec::new();
    for (command, decided) in &earlier.decided {
        match (command, decided) {
            (Command::Hold(call), Decided::Take) if open[*call] => taken = true,
            (Command::Hold(_), Decided::Take) => return false,
            (Command::End(end), Decided::End(_)) if open[end.call] => return false,
            (Command::End(end), Decided::End(parts)) => ended.push((end, parts)),
            (Command::Hold(_) | Command::End(_), _) => {}
        }
    }
    let booked = |(end, parts): &(&End, &Parts)| {
        let first = state.db.entries[end.call].first();
        first.is_some_and(|it| it.kind == end.kind && it.parts == **parts)
    };
    taken || (!ended.is_empty() && ended.iter().all(booked))
}

/// Every command of the batch fails.
pub(super) fn fail(state: &mut State, at: usize) {
    let Some(work) = state.replicas[at].work.take() else { return };
    for command in work.commands {
        match command {
            Command::End(End { by: By::Lane, .. }) => {}
            Command::End(End { by: By::Reaper, .. }) => state.replicas[at].reaps = None,
            Command::Hold(call) | Command::End(End { call, .. }) => {
                state.calls[call].stage = Stage::Over(Told::Failed);
            }
        }
    }
}

/// The connection breaks with a write on its way.
pub(super) fn lose(state: &mut State, at: usize) -> Option<()> {
    let replica = &mut state.replicas[at];
    let work = replica.work.as_mut()?;
    let (plan, locks) = match std::mem::replace(&mut work.at, At::Waiting) {
        At::Sent(plan) => (plan, false),
        At::Locked(plan) => (plan, true),
        At::Waiting => return None,
    };
    work.uncertain.push(plan.clone());
    work.looked = None;
    replica.known = [None; LIMITS];
    state.db.strays.push(Stray { plan, locks });
    Some(())
}

/// How what entries of a call come to is told by the late path.
pub(super) fn tell_late(state: &mut State, call: usize) {
    let parts = sum(&state.db.entries[call]);
    state.calls[call].stage = Stage::Over(Told::Booked(parts));
}
