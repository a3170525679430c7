//! What the server is told in the result's `_meta`, under `dev.bursar/budget`: its
//! own envelope alone. No wider limit, no money, no model.

use serde_json::{Map, Value, json};

use crate::domain::{
    envelope::Left,
    ids::EnvelopeId,
    limit::{LimitKind, Owner},
    message::JsonText,
    outcome::{Bounded, Cut, LimitStatus, Outcome},
};

/// The key, under our own reverse-DNS name as MCP asks.
const KEY: &str = "dev.bursar/budget";

/// The `_meta` of a result.
pub(super) fn meta(
    (outcome, cut, is_landing): (Outcome, Option<Cut>, bool),
    (envelope, limit): (EnvelopeId, Option<&LimitStatus>),
    left: &Left,
) -> JsonText {
    let mut budget = Map::new();
    budget.insert("outcome".to_owned(), json!(outcome_word(outcome)));
    if let Some(cut) = cut {
        budget.insert("cut".to_owned(), json!(cut_word(cut)));
    }
    if is_landing {
        budget.insert("landing".to_owned(), json!(true));
    }
    let own = limit.filter(|it| it.owner == Owner::Envelope(envelope));
    if let Some(word) = own.and_then(|it| limit_word(it.kind)) {
        budget.insert("limit".to_owned(), json!(word));
    }
    budget.insert("left".to_owned(), json!({ "calls": left.calls, "seconds": left.seconds }));
    let whole = Map::from_iter([(KEY.to_owned(), Value::Object(budget))]);
    JsonText::checked(&Value::Object(whole).to_string())
}

/// The outcome's fixed name.
const fn outcome_word(it: Outcome) -> &'static str {
    match it {
        Outcome::Complete => "COMPLETE",
        Outcome::Partial => "PARTIAL",
        Outcome::Exhausted => "EXHAUSTED",
        Outcome::Refused => "REFUSED",
        Outcome::InputRequired => "INPUT_REQUIRED",
    }
}

/// The cut's fixed name.
const fn cut_word(it: Cut) -> &'static str {
    match it {
        Cut::ClientGone => "CLIENT_GONE",
        Cut::Deadline => "DEADLINE",
        Cut::Idle => "IDLE",
        Cut::Budget => "BUDGET",
        Cut::Backend => "BACKEND",
        Cut::Cancelled => "CANCELLED",
        Cut::Shutdown => "SHUTDOWN",
    }
}

/// The limit's name, unless it is money: that is between user and host.
const fn limit_word(it: Bounded) -> Option<&'static str> {
    match it {
        Bounded::Counted(LimitKind::Calls) => Some("CALLS"),
        Bounded::Counted(LimitKind::Tokens) => Some("TOKENS"),
        Bounded::Counted(LimitKind::ConcurrentCalls) => Some("CONCURRENT_CALLS"),
        Bounded::Counted(LimitKind::Money) => None,
        Bounded::Seconds => Some("SECONDS"),
    }
}
