//! LiteLLM's map of models: USD per token in fields whose names say class, threshold and
//! service tier, such as `input_cost_per_token_above_200k_tokens_priority`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{
    Found, Unreadable,
    card::{Card, Unit, Wrong},
    names,
    source::{Object, get, items, object, parse, text},
};
use crate::domain::{
    book::{Key, Listing, STANDARD},
    rates::Class,
};

/// The beginnings of its fields. A longer one stands before its own beginning.
const FIELDS: [(&str, Class); 8] = [
    ("input_cost_per_token", Class::Input),
    ("output_cost_per_token", Class::Output),
    ("cache_read_input_token_cost", Class::CacheRead),
    ("cache_creation_input_token_cost", Class::CacheWrite),
    ("output_cost_per_reasoning_token", Class::Reasoning),
    ("input_cost_per_audio_token", Class::AudioInput),
    ("output_cost_per_audio_token", Class::AudioOutput),
    ("input_cost_per_image_token", Class::Image),
];

const REQUEST: &str = "input_cost_per_request";

/// The service tiers that it names, and what the book calls them.
const SERVICE_TIERS: [(&str, &str); 3] =
    [("batches", "batch"), ("flex", "flex"), ("priority", "priority")];

/// What can be sampled; a model without a mode is taken by its prices.
const MODES: [&str; 3] = ["chat", "completion", "responses"];

/// Entries that are no models.
const NOT_MODELS: [&str; 2] = ["sample_spec", "fallback_generalizations"];

pub(super) fn read(json: &str, found: &mut Found) -> Result<(), Unreadable> {
    let models: Object<'_> = parse(json)?;
    for (name, json) in &models {
        if NOT_MODELS.contains(&name.as_ref()) {
            continue;
        }
        let Some(fields) = object(json) else {
            let problem = "must be an object".to_owned();
            found.refuse(name, (name.clone().into_owned(), problem));
            continue;
        };
        model(name, &fields, found);
    }
    Ok(())
}

fn model(name: &str, fields: &Object<'_>, found: &mut Found) {
    let mode = get(fields, "mode").and_then(text);
    if mode.as_ref().is_some_and(|it| !MODES.contains(&it.as_ref())) {
        found.passed_over += 1;
        return;
    }
    let Some(provider) = get(fields, "litellm_provider").and_then(text) else {
        let problem = "is missing: whose price it is cannot be told".to_owned();
        return found.refuse(name, ("litellm_provider".to_owned(), problem));
    };
    // Most names begin with the provider, which is not a part of the model's own name.
    let own = name.strip_prefix(provider.as_ref()).and_then(|it| it.strip_prefix('/'));
    let key = |tier: &str| Key {
        provider: names::provider(&provider).to_owned(),
        model: own.unwrap_or(name).to_owned(),
        service_tier: tier.to_owned(),
    };
    let cards = match cards(fields) {
        Ok(it) => it,
        Err(wrong) => return found.refuse(&key(STANDARD).to_string(), wrong),
    };
    let standard = cards.get(STANDARD).cloned().unwrap_or_default();
    if mode.is_none() && !standard.has(Class::Output) {
        found.passed_over += 1;
        return;
    }
    for (tier, mut card) in cards {
        if tier != STANDARD {
            card.fall_back_on(&standard);
        }
        found.add(listing(&key(tier), &card), &key(tier));
    }
    if standard.has(Class::Input) || standard.has(Class::Output) {
        return;
    }
    let problem = "is missing: an unknown price is never used".to_owned();
    found.refuse(&key(STANDARD).to_string(), (FIELDS[0].0.to_owned(), problem));
}

fn listing(key: &Key, card: &Card) -> Result<Listing, Wrong> {
    let prices = card.prices(field)?;
    Ok(Listing { key: key.clone(), from: None, prices, is_rounded: card.is_rounded })
}

fn field(class: Class) -> &'static str {
    FIELDS.iter().find(|(_, it)| *it == class).map_or("model", |(name, _)| name)
}

/// The prices of each service tier that the fields name.
fn cards(fields: &Object<'_>) -> Result<BTreeMap<&'static str, Card>, Wrong> {
    let mut cards: BTreeMap<&'static str, Card> = BTreeMap::new();
    for (name, json) in fields.iter().filter(|(_, it)| it.get() != "null") {
        let Some((class, above, tier)) = meaning(name) else { continue };
        cards.entry(tier).or_default().set(class, above, (name, json.get(), Unit::Token))?;
    }
    if let Some(it) = get(fields, REQUEST) {
        cards.entry(STANDARD).or_default().set_request((REQUEST, it.get(), 0))?;
    }
    if let Some(it) = get(fields, "tiered_pricing") {
        ranges(cards.entry(STANDARD).or_default(), it)?;
    }
    Ok(cards)
}

/// Class, threshold and service tier of a field; none where it is of something else.
fn meaning(name: &str) -> Option<(Class, Option<u64>, &'static str)> {
    let (rest, class) =
        FIELDS.iter().find_map(|(it, class)| Some((name.strip_prefix(it)?, *class)))?;
    let (rest, tier) = SERVICE_TIERS
        .iter()
        .find_map(|(theirs, ours)| Some((rest.strip_suffix(theirs)?.strip_suffix('_')?, *ours)))
        .unwrap_or((rest, STANDARD));
    if rest.is_empty() {
        return Some((class, None, tier));
    }
    let thousands = rest.strip_prefix("_above_")?.strip_suffix("k_tokens")?;
    let above = thousands.parse::<u64>().ok()?.checked_mul(1_000)?;
    Some((class, Some(above), tier))
}

/// Prices by ranges of the prompt's length, from the shortest up.
fn ranges(card: &mut Card, json: &RawValue) -> Result<(), Wrong> {
    let wrong = |problem: &str| ("tiered_pricing".to_owned(), problem.to_owned());
    for (index, it) in items(json).ok_or_else(|| wrong("must be a list"))?.into_iter().enumerate() {
        let fields = object(it).ok_or_else(|| wrong("must be objects"))?;
        let start = match get(&fields, "range") {
            None => return Err(wrong("must be of ranges of tokens")),
            Some(range) => items(range).and_then(|it| whole(it.first()?.get())),
        };
        let start = start.ok_or_else(|| wrong("must have ranges of two numbers"))?;
        if (index == 0) != (start == 0) {
            return Err(wrong("must begin at 0"));
        }
        let above = (start > 0).then_some(start);
        for (name, json) in &fields {
            if let Some((class, None, STANDARD)) = meaning(name) {
                card.set(class, above, (name, json.get(), Unit::Token))?;
            }
        }
    }
    Ok(())
}

/// A whole number, which some write with an exponent or a point.
fn whole(json: &str) -> Option<u64> {
    let it = super::scaled(json, 0, u64::MAX).ok()?;
    (!it.is_rounded).then_some(it.value)
}
