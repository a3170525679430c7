//! What was ignored, changed or estimated, in words for the host.

use super::{ending::Ending, settlement::HeldParts};
use crate::domain::{entry::Certainty, money::Amount, outcome::Cut};

pub(super) fn warnings(
    held: &HeldParts,
    ending: &Ending,
    (certainty, overrun): (Certainty, i64),
    pending: bool,
) -> Vec<String> {
    let mut warnings = held.request.sampling.warnings.clone();
    warnings.extend(lowered(held));
    let mut say = |it: bool, words: &str| {
        if it {
            warnings.push(words.to_owned());
        }
    };
    say(held.is_landing, "this was the envelope's last call: the model was told to conclude");
    let is_beyond = ending.cut == Some(Cut::Budget) && held.clamped_by.is_none();
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
    if overrun > 0 {
        let (amount, currency) = (Amount::from_nanos(overrun), held.request.caller.currency);
        warnings.push(format!(
            "the backend used more than was held: {amount} {currency} beyond every limit were \
             booked to the tenant, not to the user"
        ));
    }
    warnings
}

fn lowered(held: &HeldParts) -> Option<String> {
    let (wanted, granted) = (held.request.sampling.params.max_tokens, held.answer_tokens);
    let whose = if held.clamped_by.is_some() { "a limit affords" } else { "the model can give" };
    (granted < wanted)
        .then(|| format!("maxTokens was lowered from {wanted} to {granted}: no more {whose}"))
}
