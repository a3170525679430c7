//! A call that failed with nothing delivered may be made once more: on another way, or
//! on the same one after a rest. Each attempt has a hold and an entry of its own; the
//! call counts once.

use std::time::Instant;

use super::{
    Broker,
    answer::within,
    hold::Attempt,
    past::{Failed, Why},
    policy::{self, ATTEMPTS_MAX, Reach},
    route::{Routed, Way},
    settlement::Settled,
};
use crate::{catalogue::breaker::Seen, clock::random, domain::outcome::Cut};

/// What comes after an attempt.
pub(super) enum Next {
    /// Another one.
    Again(Box<Routed>),
    /// The reply.
    Done(Box<Settled>),
}

pub(super) async fn next(broker: &Broker, settled: Settled) -> Next {
    let settled = Box::new(settled);
    tell(broker, &settled);
    let Some(why) = failed(&settled) else { return Next::Done(settled) };
    log(&settled.attempt, why);
    let now = broker.clock.monotonic();
    let ways = ways_after(&settled, why, now);
    let Some(start) = ways.iter().map(|it| it.rests_until.unwrap_or(now)).min() else {
        return Next::Done(settled);
    };
    if start >= settled.attempt.deadline.at {
        return Next::Done(settled);
    }
    let rest = broker.clock.sleep(start.saturating_duration_since(now));
    if within(broker, &settled.attempt, None, rest).await.is_err() {
        return Next::Done(settled);
    }
    Next::Again(Box::new(again(*settled, why, (ways, start))))
}

/// Tells the calls after this one how the backend fares.
fn tell(broker: &Broker, settled: &Settled) {
    let Settled { attempt, answer, failure, .. } = settled;
    let why = Why::of(failure.as_ref());
    let seen = match answer.cut {
        Some(Cut::Backend | Cut::Idle) => policy::seen(why.cause, why.retry_after),
        None | Some(Cut::Budget) => Seen::Fine,
        Some(Cut::ClientGone | Cut::Deadline | Cut::Cancelled | Cut::Shutdown) => Seen::Nothing,
    };
    let Attempt { way, .. } = attempt;
    let place = (way.model.backend, way.model.id);
    if broker.health.saw(&broker.clock, place, seen) {
        let (backend, model) = (&way.backend_name, &way.model.alias);
        if seen == Seen::Broken {
            tracing::error!(
                backend, cause = %why,
                "a backend needs a person: its key or its account; it is left alone meanwhile"
            );
        } else {
            tracing::warn!(backend, model, cause = %why, "a model is left alone for a while");
        }
    }
}

/// Why the attempt failed; none when it did not, or when something was delivered.
fn failed(settled: &Settled) -> Option<Why> {
    let answer = &settled.answer;
    match answer.cut {
        Some(Cut::Backend | Cut::Idle) if answer.is_empty() => {
            Some(Why::of(settled.failure.as_ref()))
        }
        // The caller, time, money or this process ended it, or it came to its end.
        _ => None,
    }
}

fn log(attempt: &Attempt, why: Why) {
    let Attempt { admitted, way, past, .. } = attempt;
    tracing::warn!(
        call = %admitted.request.call, attempt = past.attempt(), backend = way.backend_name,
        model = way.model.alias, cause = %why, "an attempt failed with nothing delivered"
    );
}

/// The ways that are left, most wanted first; none: the call is over.
fn ways_after(settled: &Settled, why: Why, now: Instant) -> Vec<Way> {
    let Attempt { way, others, past, .. } = &settled.attempt;
    let attempt = past.attempt();
    // Where a settlement could not be booked, no second hold is put beside the first; and
    // where the reaper was first, the call may be another's by now.
    if attempt >= ATTEMPTS_MAX || settled.booked_at.is_none() {
        return Vec::new();
    }
    let is_there = |it: &Way| it.model.backend == way.model.backend;
    let mut ways = others.clone();
    match policy::reach(why.cause) {
        Reach::Call => ways.clear(),
        Reach::Backend => ways.retain(|it| !is_there(it)),
        Reach::Way => {}
        Reach::Passing => {
            ways.sort_by_key(is_there);
            let [chance] = random();
            let rest = policy::rest(attempt, why.retry_after, chance);
            ways.extend(rest.map(|it| Way { rests_until: now.checked_add(it), ..way.clone() }));
        }
    }
    ways
}

/// The call as it stands now; of its ways those that rest beyond `start` wait.
fn again(settled: Settled, why: Why, (ways, start): (Vec<Way>, Instant)) -> Routed {
    let failed = Failed::of(&settled, why);
    let Settled { attempt, limits, .. } = settled;
    let Attempt { mut admitted, mut past, .. } = attempt;
    admitted.standing.limits = limits;
    past.push(failed);
    let rests = |it: &Way| it.rests_until.is_some_and(|it| it > start);
    let (resting, ways) = ways.into_iter().partition(rests);
    Routed { admitted, ways, resting, past }
}
