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
    budget.insert("outcome".to_owned(), json!(outcome.word()));
    if let Some(cut) = cut {
        budget.insert("cut".to_owned(), json!(cut.word()));
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
