//! The `api.json` of models.dev: providers by id, their models by id, each with a cost.

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

/// Its fields in USD per million tokens.
const FIELDS: [(&str, Class); 7] = [
    ("input", Class::Input),
    ("cache_read", Class::CacheRead),
    ("cache_write", Class::CacheWrite),
    ("output", Class::Output),
    ("reasoning", Class::Reasoning),
    ("input_audio", Class::AudioInput),
    ("output_audio", Class::AudioOutput),
];

/// The one threshold that has a field of its own.
const OVER_200K: (&str, u64) = ("context_over_200k", 200_000);

pub(super) fn read(json: &str, found: &mut Found) -> Result<(), Unreadable> {
    let providers: Object<'_> = parse(json)?;
    for (id, provider) in &providers {
        let models = object(provider).and_then(|it| get(&it, "models").and_then(object));
        let Some(models) = models else {
            let problem = "must be an object with models".to_owned();
            found.refuse(id, ("models".to_owned(), problem));
            continue;
        };
        for (model, json) in models {
            let key = Key {
                provider: names::provider(id).to_owned(),
                model: model.into_owned(),
                service_tier: STANDARD.to_owned(),
            };
            match card(json) {
                Ok(None) => found.passed_over += 1,
                Ok(Some(card)) => found.add(listing(&key, &card), &key),
                Err(wrong) => found.refuse(&key.to_string(), wrong),
            }
        }
    }
    Ok(())
}

fn listing(key: &Key, card: &Card) -> Result<Listing, Wrong> {
    let prices = card.prices(name)?;
    Ok(Listing { key: key.clone(), from: None, prices, is_rounded: card.is_rounded })
}

fn name(class: Class) -> &'static str {
    FIELDS.iter().find(|(_, it)| *it == class).map_or("cost", |(name, _)| name)
}

/// None where the model has no cost: it is not said to be free.
fn card(json: &RawValue) -> Result<Option<Card>, Wrong> {
    let cost = object(json).and_then(|it| get(&it, "cost"));
    let Some(cost) = cost else { return Ok(None) };
    let wrong = |problem: &str| ("cost".to_owned(), problem.to_owned());
    let cost = object(cost).ok_or_else(|| wrong("must be an object"))?;
    let mut card = Card::default();
    rates(&mut card, &cost, None)?;
    if let Some(tiers) = get(&cost, "tiers") {
        for tier in items(tiers).ok_or_else(|| wrong("has tiers that are no list"))? {
            let tier = object(tier).ok_or_else(|| wrong("has a tier that is no object"))?;
            rates(&mut card, &tier, Some(threshold(&tier).ok_or_else(|| wrong(NO_SIZE))?))?;
        }
    } else if let Some(over) = get(&cost, OVER_200K.0) {
        let over = object(over).ok_or_else(|| wrong("has a tier that is no object"))?;
        rates(&mut card, &over, Some(OVER_200K.1))?;
    }
    Ok(Some(card))
}

const NO_SIZE: &str = "has a tier that is not of a context's size";

/// The size of a tier of the prompt's length; none where it is of something else.
fn threshold(tier: &Object<'_>) -> Option<u64> {
    let of = get(tier, "tier").and_then(object)?;
    let kind = get(&of, "type").and_then(text);
    let size = get(&of, "size")?.get().parse().ok()?;
    kind.is_none_or(|it| it == "context").then_some(size)
}

fn rates(card: &mut Card, fields: &Object<'_>, above: Option<u64>) -> Result<(), Wrong> {
    for (name, class) in FIELDS {
        if let Some(it) = get(fields, name) {
            card.set(class, above, (name, it.get(), Unit::MillionTokens))?;
        }
    }
    Ok(())
}
