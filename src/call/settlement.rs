//! What the call truly used, as far as is known, and its booking.

use jiff::Timestamp;

use super::{Broker, answer::Answered, hold::HeldCall};
use crate::{
    budget::{Ended, late},
    domain::{
        answer::Answer,
        charge::Split,
        entry::{Certainty, EntryKind, Truth},
        hold::Hold,
        limit::Limit,
        money::OutOfRange,
        price::Prices,
        usage::{Traffic, Usage},
    },
};

/// A call whose hold has ended.
pub(super) struct Settled {
    pub(super) answered: Parts,
    /// What was booked as its use.
    pub(super) truth: Truth,
    /// What of it the user is charged.
    pub(super) money: Split,
    /// Every limit of the call, as last seen.
    pub(super) limits: Vec<Limit>,
    /// Set when the booking is still to come.
    pub(super) pending: bool,
    /// When it ended.
    pub(super) now: Timestamp,
}

/// What is left of the stage before once the hold is gone.
pub(super) struct Parts {
    pub(super) held: HeldParts,
    pub(super) answer: Answer,
    pub(super) failure: Option<crate::backend::Error>,
}

/// The call without its hold.
pub(super) struct HeldParts {
    pub(super) request: super::Request,
    pub(super) standing: crate::envelope::Standing,
    pub(super) call: crate::domain::ids::CallId,
    pub(super) way: super::route::Way,
    pub(super) deadline: super::hold::Deadline,
    pub(super) answer_tokens: u64,
    pub(super) clamped_by: Option<crate::domain::outcome::LimitStatus>,
    pub(super) is_landing: bool,
}

pub(super) async fn settle(broker: &Broker, answered: Answered) -> Settled {
    let (kind, truth) = truth(&answered);
    let Answered { held, answer, failure, .. } = answered;
    let HeldCall { request, standing, call, way, held, deadline } = held;
    let key = (held.hold.parties.tenant, held.hold.id);
    let mut limits = standing.limits.clone();
    overlay(&mut limits, held.limits);
    let ended = broker.engine.end(held.hold, kind, truth, Some(held.slot)).await;
    let mut money = Split { charge: truth.cost.total.nanos(), overrun: 0 };
    let mut pending = false;
    match ended {
        Ok(Ended::Booked { booking, limits: fresh }) => {
            money = booking.money;
            overlay(&mut limits, fresh);
        }
        // The reaper was first: this process was away for long. The truth corrects it.
        Ok(Ended::AlreadyResolved) => {
            match late::settle(&broker.store, &broker.clock, key, &truth).await {
                Ok(late::Late::Booked { booking, limits: fresh }) => {
                    money = booking.money;
                    overlay(&mut limits, fresh);
                }
                Ok(late::Late::Settled(booking)) => money = booking.money,
                Ok(late::Late::Unknown) => pending = true,
                Err(it) => {
                    tracing::error!(%call, error = %it, "a late truth could not be booked");
                    pending = true;
                }
            }
        }
        // The hold stands; the reaper settles it at its full amount.
        Err(it) => {
            tracing::error!(%call, error = %it, "a settlement could not be booked");
            pending = true;
        }
    }
    let held = HeldParts {
        request,
        standing,
        call,
        way,
        deadline,
        answer_tokens: held.answer_tokens,
        clamped_by: held.clamped_by,
        is_landing: held.is_landing,
    };
    Settled {
        answered: Parts { held, answer, failure },
        truth,
        money,
        limits,
        pending,
        now: broker.clock.now(),
    }
}

/// Replaces what is known anew.
fn overlay(limits: &mut [Limit], fresh: Vec<Limit>) {
    for it in fresh {
        if let Some(known) = limits.iter_mut().find(|known| known.key == it.key) {
            *known = it;
        }
    }
}

/// What to book. Void only when it certainly cost nothing; without a believable
/// count of the provider's a bound of ours, at most the hold.
fn truth(answered: &Answered) -> (EntryKind, Truth) {
    let Answered { held, answer, failure, dispatched } = answered;
    let profile = held.way.connection.profile();
    let nothing_came = answer.received_bytes == 0;
    let unbilled = failure.as_ref().is_some_and(|it| it.is_unbilled(profile));
    if !dispatched || (nothing_came && unbilled) {
        return (EntryKind::Void, Truth::nothing(answer.cut));
    }
    let hold = &held.held.hold;
    let truth = used(held, answer, profile.stops_on_disconnect).unwrap_or_else(|OutOfRange| {
        // Beyond what an amount can say: the hold, which fitted one.
        Truth { cut: answer.cut, ..whole(hold) }
    });
    (EntryKind::Settle, truth)
}

fn used(call: &HeldCall, answer: &Answer, stops_billing: bool) -> Result<Truth, OutOfRange> {
    let hold = &call.held.hold;
    let Some(prices) = hold.terms.prices else { return all(call, answer) };
    let seen =
        Traffic { prompt_tokens_max: call.way.prompt_tokens, answer_bytes: answer.visible_bytes };
    let Ok(claimed) = answer.usage.believed(seen) else {
        let disputed = Certainty::Disputed(answer.usage);
        return Ok(Truth { certainty: disputed, ..all(call, answer)? });
    };
    if let Some(usage) = claimed.filter(|_| answer.is_final) {
        return priced(hold, &prices, usage, Certainty::Exact, answer);
    }
    let ended = answer.finish.is_some() && answer.is_final;
    if !ended && !stops_billing {
        return all(call, answer);
    }
    // What arrived is at most so many tokens; the claim, where there is one, may be more.
    let arrived =
        Usage { input: call.way.prompt_tokens, output: answer.received_bytes, ..Usage::default() };
    let bound = priced(hold, &prices, arrived, Certainty::Estimated, answer)?;
    let claim = claimed.map(|it| priced(hold, &prices, it, Certainty::Estimated, answer));
    let most = match claim.transpose()? {
        Some(claim) if claim.cost.total > bound.cost.total => claim,
        _ => bound,
    };
    let all = all(call, answer)?;
    Ok(if most.cost.total < all.cost.total { most } else { all })
}

/// The whole hold, and the tokens that it was taken for.
fn all(call: &HeldCall, answer: &Answer) -> Result<Truth, OutOfRange> {
    let (input, output) = (call.way.prompt_tokens, call.held.answer_tokens);
    let usage = Usage { input, output, ..Usage::default() };
    Ok(Truth { usage, ..Truth::whole_hold(&call.held.hold, answer.cut)? })
}

fn priced(
    hold: &Hold,
    prices: &Prices,
    usage: Usage,
    certainty: Certainty,
    answer: &Answer,
) -> Result<Truth, OutOfRange> {
    let pico_usd = prices.cost(&usage);
    let counted = i64::try_from(usage.total()).unwrap_or(i64::MAX);
    let tokens = match certainty {
        Certainty::Exact | Certainty::Disputed(_) => counted,
        Certainty::Estimated => counted.min(hold.need.tokens),
    };
    let cost = hold.terms.fx.cost(pico_usd)?;
    Ok(Truth { usage, tokens, cost, pico_usd, certainty, cut: answer.cut })
}

/// The whole hold, whose amounts fit by having been held.
fn whole(hold: &Hold) -> Truth {
    Truth::whole_hold(hold, None).unwrap_or_else(|OutOfRange| Truth::nothing(None))
}
