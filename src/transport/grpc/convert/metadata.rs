//! The request's `metadata`: an allow-list. A key passes only if it can neither
//! multiply the cost (`n`, `best_of`, service tiers), nor reach other data
//! (files, stored or earlier responses, URLs, hosted tools), nor change what
//! comes back (`stream`, `response_format`, `logprobs`).

use std::{collections::BTreeMap, ops::RangeInclusive};

use serde_json::value::RawValue;

use super::{
    field::wrong,
    json::{Shape, optional_json},
    params::Reading,
};
use crate::domain::{fault::Fault, message::JsonText};

const NAMES_SHOWN_MAX: usize = 10;
const NAME_CHARS_MAX: usize = 64;

/// What an allowed key may hold.
enum Allowed {
    Integer,
    Number(RangeInclusive<f64>),
}

/// Reads the object; names and values that pass, in the order of the names.
pub(super) fn metadata(
    text: &str,
    reading: &mut Reading,
) -> Result<Vec<(String, JsonText)>, Fault> {
    let Some(checked) = optional_json(text, Shape::Object)? else { return Ok(Vec::new()) };
    reading.count(text.len())?;
    let entries: BTreeMap<String, &RawValue> =
        serde_json::from_str(checked.as_str()).map_err(|_| wrong("must be a JSON object"))?;
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    for (name, value) in entries {
        match allowed(&name) {
            Some(_) if value.get() == "null" => {}
            Some(kind) => {
                check(&name, value.get(), &kind)?;
                kept.push((name, JsonText::checked(value.get())));
            }
            None => dropped.push(name),
        }
    }
    if !dropped.is_empty() {
        reading.warn(dropped_warning(&dropped));
    }
    Ok(kept)
}

fn allowed(name: &str) -> Option<Allowed> {
    match name {
        "seed" => Some(Allowed::Integer),
        "top_p" => Some(Allowed::Number(0.0..=1.0)),
        "presence_penalty" | "frequency_penalty" => Some(Allowed::Number(-2.0..=2.0)),
        _ => None,
    }
}

fn check(name: &str, value: &str, kind: &Allowed) -> Result<(), Fault> {
    let (fine, wanted) = match kind {
        Allowed::Integer => (value.parse::<i64>().is_ok(), "a whole number".to_owned()),
        Allowed::Number(range) => (
            value.parse::<f64>().is_ok_and(|it| range.contains(&it)),
            format!("a number from {} to {}", range.start(), range.end()),
        ),
    };
    if fine { Ok(()) } else { Err(wrong(format!("{name} must be {wanted}"))) }
}

fn dropped_warning(names: &[String]) -> String {
    let cut = |it: &String| {
        it.chars().filter(|it| !it.is_control()).take(NAME_CHARS_MAX).collect::<String>()
    };
    let shown: Vec<String> = names.iter().take(NAMES_SHOWN_MAX).map(cut).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("metadata that is not on the allow-list is ignored: {}{more}", shown.join(", "))
}
