//! The question in words and as a form of MCP's, and the form as it comes back. Money is
//! a text in it: a decimal that no host's number changes.

use serde_json::{Map, Value, json};

use crate::domain::{
    extension::Extra,
    fault::Fault,
    limit::LimitKind,
    message::JsonText,
    money::{Amount, Currency},
    outcome::{Bounded, LimitStatus},
    request::Revision,
};

/// Where the form comes back.
const FIELD: &str = "input_answer.content_json";

/// The longest amount of money that is read, in bytes.
const MONEY_BYTES_MAX: usize = 20;

/// The question. The server is named first, since it is for its sake.
pub(super) fn message(
    server: &str,
    limit: &LimitStatus,
    (extra, currency): (&Extra, Currency),
) -> String {
    let allowance = match limit.kind {
        Bounded::Counted(LimitKind::Calls) => "calls",
        Bounded::Counted(LimitKind::Money) => "money",
        Bounded::Counted(LimitKind::Tokens) => "tokens",
        Bounded::Counted(LimitKind::ConcurrentCalls) => "calls at once",
        Bounded::Seconds => "time",
    };
    let count = |n: i64, one: &str| (n > 0).then(|| format!("{n} more {one}{}", plural(n)));
    let money = (!extra.money.is_zero()).then(|| format!("{} {currency} more", extra.money));
    let parts = [count(extra.calls, "call"), count(extra.seconds, "second"), money];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let parts = match parts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
        None => String::new(),
    };
    format!(
        "The server {server:?} has used up its allowance of {allowance}. Let it go on with {parts}?"
    )
}

const fn plural(n: i64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// The flat form: what was asked for is the most, and what is shown at first.
pub(super) fn schema(extra: &Extra, currency: Currency, revision: Revision) -> Value {
    let mut properties = Map::new();
    let mut add = |name: &str, mut property: Value, default: Value| {
        if let Some(it) = property.as_object_mut().filter(|_| has_defaults(revision)) {
            it.insert("default".to_owned(), default);
        }
        properties.insert(name.to_owned(), property);
    };
    for (name, title, most) in
        [("calls", "More calls", extra.calls), ("seconds", "More seconds", extra.seconds)]
    {
        if most > 0 {
            let property = json!({
                "type": "integer", "title": title, "description": format!("At most {most}."),
                "minimum": 0, "maximum": most,
            });
            add(name, property, json!(most));
        }
    }
    if !extra.money.is_zero() {
        let most = extra.money.to_string();
        let property = json!({
            "type": "string", "title": format!("More money, in {currency}"),
            "description": format!("At most {most}; a plain decimal such as 0.50."),
            "minLength": 1, "maxLength": MONEY_BYTES_MAX,
        });
        add("money", property, json!(most));
    }
    json!({ "type": "object", "properties": properties })
}

/// The params of `elicitation/create` as the revision has them.
pub(super) fn params(message: &str, schema: Value, revision: Revision) -> JsonText {
    let mut params = Map::new();
    if has_defaults(revision) {
        params.insert("mode".to_owned(), json!("form"));
    }
    params.insert("message".to_owned(), json!(message));
    params.insert("requestedSchema".to_owned(), schema);
    JsonText::checked(&Value::Object(params).to_string())
}

/// Modes and defaults came with the same revision.
fn has_defaults(revision: Revision) -> bool {
    revision >= Revision::R20251125
}

/// What a person gives. What they leave out, and all where there is no form, is as it was
/// asked for; a fault names the field.
pub(super) fn read(content: Option<&str>, asked: &Extra) -> Result<Extra, Fault> {
    let Some(content) = content else { return Ok(*asked) };
    let wrong = |problem: &str| Fault::invalid(FIELD, problem);
    let content: Value = serde_json::from_str(content).map_err(|_| wrong("must be JSON"))?;
    let Value::Object(fields) = content else { return Err(wrong("must be a JSON object")) };
    let mut given = *asked;
    for (name, value) in fields {
        match name.as_str() {
            "calls" if asked.calls > 0 => given.calls = count("calls", &value, asked.calls)?,
            "seconds" if asked.seconds > 0 => {
                given.seconds = count("seconds", &value, asked.seconds)?;
            }
            "money" if !asked.money.is_zero() => given.money = money(&value, asked.money)?,
            // The name is the host's text: it is not repeated.
            _ => return Err(wrong("has a field that was not asked for")),
        }
    }
    Ok(given)
}

fn count(field: &str, value: &Value, most: i64) -> Result<i64, Fault> {
    let whole = whole(value).filter(|it| (0..=most).contains(it));
    whole.ok_or_else(|| {
        Fault::invalid(
            format!("{FIELD}.{field}"),
            format!("must be a whole number from 0 to {most}"),
        )
    })
}

/// JSON has one kind of number: `5.0` is a whole one.
fn whole(value: &Value) -> Option<i64> {
    let text = value.as_number()?.to_string();
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
}

fn money(value: &Value, most: Amount) -> Result<Amount, Fault> {
    let wrong = |problem: String| Fault::invalid(format!("{FIELD}.money"), problem);
    let text = value.as_str().filter(|it| it.len() <= MONEY_BYTES_MAX);
    let text = text.ok_or_else(|| wrong(format!("must be a text from 0 to {most}")))?;
    let amount: Amount = text.parse().map_err(|it| wrong(format!("{it}")))?;
    if amount > most {
        return Err(wrong(format!("must be at most {most}, which was asked for")));
    }
    Ok(amount)
}
