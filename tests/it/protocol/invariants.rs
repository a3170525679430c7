//! What holds in every state, whatever went wrong before: the design's third section.

use super::{
    database::sum,
    model::Scenario,
    state::{Kind, LIMITS, Parts, Stage, State, Told},
};

pub(super) fn problem(scenario: &Scenario, state: &State) -> Option<&'static str> {
    let calls = || 0..scenario.calls.len();
    state
        .wrong
        .or_else(|| (0..LIMITS).find_map(|it| of_limit(scenario, state, it)))
        .or_else(|| calls().find_map(|it| of_hold(scenario, state, it)))
        .or_else(|| calls().find_map(|it| of_answer(scenario, state, it)))
}

/// Never more than granted, and every counter is the fold of what it counts.
fn of_limit(scenario: &Scenario, state: &State, limit: usize) -> Option<&'static str> {
    let row = state.db.rows[limit];
    if row.settled + row.held > scenario.amounts[limit] {
        return Some("more is held and charged than was granted");
    }
    let on = |call: &usize| scenario.calls[*call].on.contains(&limit);
    let mut booked = Parts::default();
    let mut held = 0;
    for call in (0..scenario.calls.len()).filter(on) {
        let all = sum(&state.db.entries[call]);
        booked.charge += all.charge;
        booked.overrun += all.overrun;
        held += state.db.holds[call].map_or(0, |_| scenario.calls[call].need);
    }
    if (row.settled, row.overrun) != (booked.charge, booked.overrun) {
        return Some("what is settled is not the fold of the entries");
    }
    (row.held != held).then_some("what is held is not the fold of the open holds")
}

/// A hold ends once, with the truth or its bound, and what was dispatched is not voided.
fn of_hold(scenario: &Scenario, state: &State, call: usize) -> Option<&'static str> {
    let entries = &state.db.entries[call];
    let late = entries.iter().filter(|it| it.kind == Kind::Late).count();
    if entries.len() - late > 1 {
        return Some("a hold has ended twice");
    }
    if late > 1 {
        return Some("the truth of a hold has come twice");
    }
    let open = state.db.holds[call].is_some();
    if open && !entries.is_empty() {
        return Some("a hold has ended and is open");
    }
    let dispatched = state.calls[call].dispatched;
    if dispatched && !open && entries.is_empty() {
        return Some("something was dispatched without a durable hold");
    }
    let last = entries.last()?;
    if dispatched && last.kind == Kind::Void {
        return Some("something was dispatched and its hold given back");
    }
    let plot = &scenario.calls[call];
    let due = match last.kind {
        Kind::Settle | Kind::Late => plot.truth,
        Kind::Expire => plot.need,
        Kind::Void => 0,
    };
    let all = sum(entries);
    (all.charge + all.overrun != due || all.charge < 0 || all.overrun < 0)
        .then_some("a call is not booked at what it cost")
}

/// What somebody was told is so.
fn of_answer(scenario: &Scenario, state: &State, call: usize) -> Option<&'static str> {
    let (hold, entries) = (state.db.holds[call], &state.db.entries[call]);
    let untroubled =
        state.breaks == scenario.breaks && state.crashes == scenario.crashes && state.now == 0;
    let rests = state.replicas.iter().all(|it| it.work.is_none() && it.queue.is_empty());
    match state.calls[call].stage {
        Stage::Held | Stage::Dispatched if hold.is_none() && entries.is_empty() => {
            Some("a call was told of a hold that there is not")
        }
        Stage::Over(Told::Refused) if hold.is_some() || !entries.is_empty() => {
            Some("a call was refused, and has a hold")
        }
        Stage::Over(Told::Booked(parts)) if sum(entries) != parts => {
            Some("a call was told of a booking that there is not")
        }
        Stage::Over(Told::Nothing) if untroubled && rests && hold.is_some() => {
            Some("a hold that nobody waits for was not given back")
        }
        Stage::Idle
        | Stage::Asked
        | Stage::Held
        | Stage::Dispatched
        | Stage::Ending
        | Stage::Late
        | Stage::Over(_) => None,
    }
}
