//! What a call truly used, as far as is known. Pure.

use super::{answer::Answered, hold::HeldCall};
use crate::domain::{
    answer::Answer,
    entry::{Certainty, EntryKind, Truth},
    hold::Hold,
    money::OutOfRange,
    usage::{Traffic, Usage},
};

/// What to book. Void only when it certainly cost nothing; without a believable
/// count of the provider's a bound of ours, at most the hold.
pub(super) fn truth(answered: &Answered) -> (EntryKind, Truth) {
    let Answered { held, answer, failure, dispatched } = answered;
    let profile = held.attempt.way.connection.profile();
    let nothing_came = answer.received_bytes == 0;
    let unbilled = failure.as_ref().is_some_and(|it| it.is_unbilled(profile));
    if !dispatched || (nothing_came && unbilled) {
        return (EntryKind::Void, Truth::nothing(answer.cut));
    }
    let hold = &held.hold;
    let truth = used(held, answer, profile.stops_on_disconnect).unwrap_or_else(|OutOfRange| {
        // Beyond what an amount can say: the hold, which fitted one.
        Truth { cut: answer.cut, ..whole(hold) }
    });
    (EntryKind::Settle, truth)
}

fn used(call: &HeldCall, answer: &Answer, stops_billing: bool) -> Result<Truth, OutOfRange> {
    let hold = &call.hold;
    let Some(prices) = hold.terms.prices else { return all(call, answer) };
    let seen = Traffic {
        prompt_tokens_max: call.attempt.way.prompt_tokens,
        answer_bytes: answer.visible_bytes,
        context_tokens: call.attempt.way.model.context_tokens,
    };
    let Ok(claimed) = answer.usage.believed(seen) else {
        let disputed = Certainty::Disputed(answer.usage);
        return Ok(Truth { certainty: disputed, ..all(call, answer)? });
    };
    if let Some(usage) = claimed.filter(|_| answer.is_final) {
        return booked(hold, answer, usage, (prices.cost(&usage), Certainty::Exact));
    }
    let ended = answer.finish.is_some() && answer.is_final;
    if !ended && !stops_billing {
        return all(call, answer);
    }
    // What arrived is at most so many tokens, each of the dearest class it may be of;
    // the claim, where there is one, may still be more.
    let (input, output) = (call.attempt.way.prompt_tokens, answer.received_bytes);
    let arrived = Usage { input, output, ..Usage::default() };
    let bound = prices.ceiling(input, output);
    let bound = booked(hold, answer, arrived, (bound, Certainty::Estimated))?;
    let claim =
        claimed.map(|it| booked(hold, answer, it, (prices.cost(&it), Certainty::Estimated)));
    let most = match claim.transpose()? {
        Some(claim) if claim.cost.total > bound.cost.total => claim,
        Some(_) | None => bound,
    };
    let all = all(call, answer)?;
    Ok(if most.cost.total < all.cost.total { most } else { all })
}

/// The whole hold, and the tokens that it was taken for.
fn all(call: &HeldCall, answer: &Answer) -> Result<Truth, OutOfRange> {
    let (input, output) = (call.attempt.way.prompt_tokens, call.attempt.answer_tokens);
    let usage = Usage { input, output, ..Usage::default() };
    Ok(Truth { usage, ..Truth::whole_hold(&call.hold, answer.cut)? })
}

fn booked(
    hold: &Hold,
    answer: &Answer,
    usage: Usage,
    (pico_usd, certainty): (i128, Certainty),
) -> Result<Truth, OutOfRange> {
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
