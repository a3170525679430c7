//! What was ignored, changed or estimated, in words for the host.

use super::{ending::Ending, hold::Attempt, past::Bill};
use crate::domain::{entry::Certainty, money::Amount, outcome::Cut};

pub(super) fn warnings(
    attempt: &Attempt,
    ending: &Ending,
    (certainty, pending): (Certainty, bool),
    bill: &Bill,
) -> Vec<String> {
    let request = &attempt.admitted.request;
    let mut warnings = request.sampling.warnings.clone();
    warnings.extend(lowered(attempt));
    warnings.extend(attempt.past.warnings(request));
    let mut say = |it: bool, words: &str| {
        if it {
            warnings.push(words.to_owned());
        }
    };
    say(attempt.is_landing, "this was the envelope's last call: the model was told to conclude");
    let is_stopped = ending.cut == Some(Cut::Cancelled) && attempt.admitted.watched.is_stopped();
    say(is_stopped, "an operator stopped sampling here while the answer came");
    let is_beyond = ending.cut == Some(Cut::Budget) && attempt.clamped_by.is_none();
    say(is_beyond, "the backend went on beyond maxTokens and was cut off");
    match certainty {
        Certainty::Exact => {}
        Certainty::Estimated => {
            say(!pending, "the backend's own count did not come: the charge is our bound of it");
        }
        Certainty::Disputed(_) => {
            say(true, "the backend's count cannot be true: the whole hold was charged");
        }
    }
    say(pending, "the booking is delayed; until then the whole hold counts");
    if bill.money.overrun > 0 {
        let amount = Amount::from_nanos(bill.money.overrun);
        let currency = request.caller.currency;
        warnings.push(format!(
            "the backend used more than was held: {amount} {currency} beyond every limit were \
             booked to the tenant, not to the user"
        ));
    }
    warnings
}

fn lowered(attempt: &Attempt) -> Option<String> {
    let wanted = attempt.admitted.request.sampling.params.max_tokens;
    let granted = attempt.answer_tokens;
    let whose = if attempt.clamped_by.is_some() { "a limit affords" } else { "the model can give" };
    (granted < wanted)
        .then(|| format!("maxTokens was lowered from {wanted} to {granted}: no more {whose}"))
}
