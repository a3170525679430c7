//! Calls, lanes, reapers and a database, and what may happen to them.

use super::{
    database::Who,
    explore::Model,
    invariants,
    lane::{fail, lose, tell_late},
    rows::marked,
    state::{
        At, By, Call, Command, Database, End, Kind, LIMITS, REPLICAS, Replica, Stage, State, Stray,
        Told,
    },
};

/// Which rules hold. Each can be switched off, to see that it is missed.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub(super) struct Rules {
    /// A write happens only where the revisions that it was decided on still stand.
    pub(super) revisions: bool,
    /// After an unknown commit holds are looked up once the limits are locked.
    pub(super) locks_then_looks: bool,
    /// After an unknown commit an order that was carried out, and has ended since, is not
    /// carried out again.
    pub(super) knows_the_ended: bool,
    /// After an unknown commit a refusal moves the revisions, so that the write it takes
    /// back can land no more.
    pub(super) fences: bool,
    /// An end counts the holds that it deletes.
    pub(super) ends_once: bool,
    /// So does the reaper's.
    pub(super) reaper_checks: bool,
    /// Nothing is refused from memory.
    pub(super) refuses_under_locks: bool,
    /// Nothing is dispatched before the hold is known to be durable.
    pub(super) holds_first: bool,
    /// What was dispatched is never voided.
    pub(super) voids_unsent_only: bool,
    /// A hold that nobody waits for is given back.
    pub(super) gives_back: bool,
    /// There is a reaper.
    pub(super) reaps: bool,
    /// A late truth comes once.
    pub(super) late_once: bool,
}

/// As the program is.
pub(super) const SOUND: Rules = Rules {
    revisions: true,
    locks_then_looks: true,
    knows_the_ended: true,
    fences: true,
    ends_once: true,
    reaper_checks: true,
    refuses_under_locks: true,
    holds_first: true,
    voids_unsent_only: true,
    gives_back: true,
    reaps: true,
    late_once: true,
};

/// A call that will be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plot {
    pub(super) need: i8,
    pub(super) truth: i8,
    pub(super) on: &'static [usize],
    pub(super) at: usize,
    /// A host runs it: it outlives the replica, and talks to the other one then.
    pub(super) by_host: bool,
}

/// What is played through.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) amounts: [i8; LIMITS],
    pub(super) calls: Vec<Plot>,
    /// How often a connection breaks, a replica crashes, a caller leaves.
    pub(super) breaks: u8,
    pub(super) crashes: u8,
    pub(super) leaves: u8,
    /// How long the clock runs. A hold stands for one tick, and none outlives the last.
    pub(super) ticks: u8,
    /// When the window of the wide limit ends.
    pub(super) closes: Option<u8>,
    pub(super) rules: Rules,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Ask(usize),
    CallerLeaves(usize),
    Dispatch(usize),
    Settle(usize),
    Void(usize),
    LateTruth(usize),
    LateTruthUnanswered(usize),
    LaneGathers(usize),
    LaneLooks(usize),
    LaneLocks(usize),
    WriteIsAnswered(usize),
    WriteIsUnanswered(usize),
    LaneGivesUp(usize),
    StrayLands(usize),
    StrayIsLost(usize),
    ReaperFinds(usize, usize),
    TimePasses,
    ReplicaCrashes(usize),
}

impl Model for Scenario {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let call =
            |it: &Plot| Call { stage: Stage::Idle, at: it.at, left: false, dispatched: false };
        State {
            db: Database {
                holds: vec![None; self.calls.len()],
                entries: vec![Vec::new(); self.calls.len()],
                ..Database::default()
            },
            replicas: [Replica::default(), Replica::default()],
            calls: self.calls.iter().map(call).collect(),
            now: 0,
            breaks: self.breaks,
            crashes: self.crashes,
            leaves: self.leaves,
            wrong: None,
        }
    }

    fn next(&self, state: &State) -> Vec<(Step, State)> {
        let calls = (0..self.calls.len()).flat_map(|it| {
            use Step::{Ask, CallerLeaves, Dispatch, LateTruth, LateTruthUnanswered, Settle, Void};
            [Ask, CallerLeaves, Dispatch, Settle, Void, LateTruth, LateTruthUnanswered]
                .map(|step| step(it))
        });
        let lanes = (0..REPLICAS).flat_map(|it| {
            use Step::{
                LaneGathers, LaneGivesUp, LaneLocks, LaneLooks, ReplicaCrashes, WriteIsAnswered,
                WriteIsUnanswered,
            };
            [
                LaneGathers,
                LaneLooks,
                LaneLocks,
                WriteIsAnswered,
                WriteIsUnanswered,
                LaneGivesUp,
                ReplicaCrashes,
            ]
            .map(|step| step(it))
        });
        let strays =
            (0..state.db.strays.len()).flat_map(|it| [Step::StrayLands(it), Step::StrayIsLost(it)]);
        let reapers = (0..REPLICAS)
            .flat_map(|at| (0..self.calls.len()).map(move |it| Step::ReaperFinds(at, it)));
        let all = calls.chain(lanes).chain(strays).chain(reapers).chain([Step::TimePasses]);
        let take = |step| {
            self.may(state, step).then_some(())?;
            let mut next = state.clone();
            self.take(&mut next, step)?;
            Some((step, next))
        };
        all.filter_map(take).collect()
    }

    fn problem(&self, state: &State) -> Option<&'static str> {
        invariants::problem(self, state)
    }

    fn is_quiet(&self, state: &State) -> bool {
        let rests = |it: &Replica| it.queue.is_empty() && it.work.is_none() && it.reaps.is_none();
        state.db.holds.iter().all(Option::is_none)
            && state.db.strays.is_empty()
            && state.replicas.iter().all(rests)
            && state.calls.iter().all(|it| matches!(it.stage, Stage::Over(_)))
    }

    fn is_fault(step: Step) -> bool {
        matches!(
            step,
            Step::CallerLeaves(_)
                | Step::LateTruthUnanswered(_)
                | Step::WriteIsUnanswered(_)
                | Step::LaneGivesUp(_)
                | Step::ReplicaCrashes(_)
        )
    }
}

impl Scenario {
    /// A quick look whether a step is worth trying: most are not.
    fn may(&self, state: &State, step: Step) -> bool {
        let is_at = |call: usize| state.calls[call].stage;
        let place = |at: usize| state.replicas[at].work.as_ref().map(|it| &it.at);
        match step {
            Step::Ask(call) => is_at(call) == Stage::Idle,
            Step::CallerLeaves(call) => state.leaves > 0 && is_at(call) == Stage::Asked,
            Step::Dispatch(call) | Step::Settle(call) | Step::Void(call) => {
                matches!(is_at(call), Stage::Asked | Stage::Held | Stage::Dispatched)
            }
            Step::LateTruth(call) => is_at(call) == Stage::Late,
            Step::LateTruthUnanswered(call) => state.breaks > 0 && is_at(call) == Stage::Late,
            Step::LaneGathers(at) => place(at).is_none(),
            Step::LaneLooks(at) => place(at).is_some() && !self.rules.locks_then_looks,
            Step::LaneLocks(at) | Step::LaneGivesUp(at) => place(at).is_some(),
            Step::WriteIsAnswered(at) => place(at).is_some_and(|it| *it != At::Waiting),
            Step::WriteIsUnanswered(at) => {
                state.breaks > 0 && place(at).is_some_and(|it| *it != At::Waiting)
            }
            Step::ReaperFinds(_, call) => state.db.holds[call].is_some(),
            Step::ReplicaCrashes(_) => state.crashes > 0,
            Step::StrayLands(_) | Step::StrayIsLost(_) | Step::TimePasses => true,
        }
    }

    /// Takes a step, where it can be taken.
    fn take(&self, state: &mut State, step: Step) -> Option<()> {
        match step {
            Step::Ask(call) => ask(state, call),
            Step::CallerLeaves(call) => leave(state, call),
            Step::Dispatch(call) => self.dispatch(state, call),
            Step::Settle(call) => self.settle(state, call),
            Step::Void(call) => self.void(state, call),
            Step::LateTruth(call) => self.late_truth(state, call).map(|()| tell_late(state, call)),
            Step::LateTruthUnanswered(call) => {
                state.breaks = state.breaks.checked_sub(1)?;
                self.late_truth(state, call)
            }
            Step::LaneGathers(at) => {
                let idle =
                    state.replicas[at].work.is_none() && !state.replicas[at].queue.is_empty();
                idle.then(|| self.gather(state, at))
            }
            Step::LaneLooks(at) => self.look(state, at),
            Step::LaneLocks(at) => self.lock(state, at),
            Step::WriteIsAnswered(at) => self.deliver(state, at),
            Step::WriteIsUnanswered(at) => {
                state.breaks = state.breaks.checked_sub(1)?;
                lose(state, at)
            }
            Step::LaneGivesUp(at) => {
                state.replicas[at].work.as_ref().filter(|it| !it.uncertain.is_empty())?;
                fail(state, at);
                Some(())
            }
            Step::StrayLands(stray) => self.land(state, stray),
            Step::StrayIsLost(stray) => {
                state.db.strays.remove(stray);
                Some(())
            }
            Step::ReaperFinds(at, call) => self.find(state, at, call),
            Step::TimePasses => (state.now < self.ticks).then(|| state.now += 1),
            Step::ReplicaCrashes(at) => self.crash(state, at),
        }
    }

    fn dispatch(&self, state: &mut State, call: usize) -> Option<()> {
        let it = &mut state.calls[call];
        let may = it.stage == Stage::Held || (!self.rules.holds_first && it.stage == Stage::Asked);
        if !may || it.dispatched {
            return None;
        }
        it.dispatched = true;
        if it.stage == Stage::Held {
            it.stage = Stage::Dispatched;
        }
        Some(())
    }

    fn settle(&self, state: &mut State, call: usize) -> Option<()> {
        (state.calls[call].stage == Stage::Dispatched).then_some(())?;
        end(state, End { call, kind: Kind::Settle, truth: self.calls[call].truth, by: By::Caller });
        Some(())
    }

    /// Nothing was sent, or so it is thought.
    fn void(&self, state: &mut State, call: usize) -> Option<()> {
        let is_at = state.calls[call].stage;
        let wrongly = is_at == Stage::Dispatched && !self.rules.voids_unsent_only;
        (is_at == Stage::Held || wrongly).then_some(())?;
        end(state, End { call, kind: Kind::Void, truth: 0, by: By::Caller });
        Some(())
    }

    fn late_truth(&self, state: &mut State, call: usize) -> Option<()> {
        let on = marked(self.calls[call].on);
        let may = state.calls[call].stage == Stage::Late && state.unlocked(on, Who::Nobody);
        may.then_some(())?;
        if self.late(&mut state.db, call).is_none() {
            state.wrong = Some("a hold is said to be resolved, and has no entry");
        }
        Some(())
    }

    fn land(&self, state: &mut State, stray: usize) -> Option<()> {
        let moves = state.db.strays[stray].plan.moves;
        state.unlocked(moves, Who::Stray(stray)).then_some(())?;
        let it = state.db.strays.remove(stray);
        // Nobody hears whether it could.
        self.write(&mut state.db, &it.plan).ok();
        Some(())
    }

    fn find(&self, state: &mut State, at: usize, call: usize) -> Option<()> {
        let expires = state.db.holds[call]?;
        let is_over = state.now >= expires || state.now == self.ticks;
        let idle = state.replicas[at].reaps.is_none();
        (self.rules.reaps && is_over && idle).then_some(())?;
        state.replicas[at].reaps = Some(call);
        let truth = self.calls[call].need;
        enqueue(state, at, Command::End(End { call, kind: Kind::Expire, truth, by: By::Reaper }));
        Some(())
    }

    /// All that is not in the database is gone; what is on its way there is not.
    fn crash(&self, state: &mut State, at: usize) -> Option<()> {
        state.crashes = state.crashes.checked_sub(1)?;
        match std::mem::take(&mut state.replicas[at]).work.map(|it| it.at) {
            Some(At::Sent(plan)) => state.db.strays.push(Stray { plan, locks: false }),
            Some(At::Locked(plan)) => state.db.strays.push(Stray { plan, locks: true }),
            Some(At::Waiting) | None => {}
        }
        for (it, plot) in state.calls.iter_mut().zip(&self.calls).filter(|(it, _)| it.at == at) {
            match it.stage {
                Stage::Idle => it.at = 1 - at,
                Stage::Over(_) => {}
                Stage::Asked | Stage::Held => it.stage = Stage::Over(Told::Nothing),
                Stage::Dispatched | Stage::Ending | Stage::Late => {
                    let again = plot.by_host && it.dispatched;
                    it.at = 1 - at;
                    it.stage = if again { Stage::Dispatched } else { Stage::Over(Told::Nothing) };
                }
            }
        }
        Some(())
    }
}

fn ask(state: &mut State, call: usize) -> Option<()> {
    let Call { stage: Stage::Idle, at, .. } = state.calls[call] else { return None };
    state.calls[call].stage = Stage::Asked;
    enqueue(state, at, Command::Hold(call));
    Some(())
}

fn leave(state: &mut State, call: usize) -> Option<()> {
    let waits = state.calls[call].stage == Stage::Asked && !state.calls[call].left;
    waits.then_some(())?;
    state.leaves = state.leaves.checked_sub(1)?;
    state.calls[call].left = true;
    Some(())
}

fn end(state: &mut State, end: End) {
    state.calls[end.call].stage = Stage::Ending;
    enqueue(state, state.calls[end.call].at, Command::End(end));
}

/// Ends before holds.
fn enqueue(state: &mut State, at: usize, command: Command) {
    let queue = &mut state.replicas[at].queue;
    let is_hold = |it: &Command| matches!(it, Command::Hold(_));
    let first_hold = queue.iter().position(is_hold).filter(|_| !is_hold(&command));
    queue.insert(first_hold.unwrap_or(queue.len()), command);
}
