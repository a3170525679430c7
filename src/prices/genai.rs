//! The JSON of genai-prices: providers with models, each with prices of some dates or
//! times of day, tiers within a price, and variants by service tier.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
};

use jiff::civil::Date;
use serde_json::value::RawValue;

use super::{
    Found, Unreadable,
    card::{Card, Unit, Wrong},
    names,
    source::{Object, get, items, object, parse, text},
};
use crate::domain::{
    book::{Key, Listing, STANDARD, dearer},
    price::Prices,
    rates::Class,
};

/// Its fields in USD per million tokens. Others are of what no call of ours uses.
const FIELDS: [(&str, Class); 8] = [
    ("input_mtok", Class::Input),
    ("cache_read_mtok", Class::CacheRead),
    ("cache_write_mtok", Class::CacheWrite),
    ("output_mtok", Class::Output),
    ("output_reasoning_mtok", Class::Reasoning),
    ("input_audio_mtok", Class::AudioInput),
    ("output_audio_mtok", Class::AudioOutput),
    ("input_image_mtok", Class::Image),
];

/// Its fee, in USD per thousand requests.
const REQUESTS: (&str, i32) = ("requests_kcount", 3);

/// Prices from some day on; several where they depend on the time of day.
struct Dated {
    from: Option<Date>,
    cards: Vec<Card>,
}

/// Prices of a service tier, over the standard ones.
struct Variant {
    tier: String,
    from: Option<Date>,
    card: Card,
}

/// When a price counts.
enum When {
    Always,
    From(Date),
    TimeOfDay,
}

pub(super) fn read(json: &str, found: &mut Found) -> Result<(), Unreadable> {
    let top: &RawValue = parse(json)?;
    let listed = object(top).and_then(|it| get(&it, "providers"));
    let wrong = Unreadable::Json { line: 1, column: 1 };
    for provider in items(listed.unwrap_or(top)).ok_or(wrong.clone())? {
        let provider = object(provider).ok_or(wrong.clone())?;
        let id = get(&provider, "id").and_then(text).ok_or(wrong.clone())?;
        let models = get(&provider, "models").and_then(items).ok_or(wrong.clone())?;
        let listed = models.len();
        let models: Vec<Object<'_>> = models.into_iter().filter_map(object).collect();
        if models.len() < listed {
            let problem = format!("has {} items that are no objects", listed - models.len());
            found.refuse(&id, ("models".to_owned(), problem));
        }
        let own = |it: &Object<'_>| get(it, "id").and_then(text).map(Cow::into_owned);
        let ids: HashSet<String> = models.iter().filter_map(own).collect();
        for it in &models {
            model(names::provider(&id), it, (&ids, found));
        }
    }
    Ok(())
}

/// A model by its own id, and by every other name that it is said to equal.
fn model(provider: &str, fields: &Object<'_>, (ids, found): (&HashSet<String>, &mut Found)) {
    let Some(id) = get(fields, "id").and_then(text) else {
        let problem = "must have an id".to_owned();
        return found.refuse(provider, ("models".to_owned(), problem));
    };
    let mut aliases = Vec::new();
    if let Some(it) = get(fields, "match") {
        equals(it, &mut aliases);
    }
    aliases.retain(|it| !ids.contains(it));
    let key = |model: &str| Key {
        provider: provider.to_owned(),
        model: model.to_owned(),
        service_tier: STANDARD.to_owned(),
    };
    match rows(fields) {
        Err(wrong) => found.refuse(&key(&id).to_string(), wrong),
        Ok(None) => found.passed_over += 1,
        Ok(Some(rows)) => {
            for (tier, from, cards) in rows {
                for model in std::iter::once(id.as_ref()).chain(aliases.iter().map(|it| &**it)) {
                    let key = Key { service_tier: tier.clone(), ..key(model) };
                    found.add(listing(key.clone(), from, &cards), &key);
                }
            }
        }
    }
}

/// The names that a condition holds for, as far as it lists them.
fn equals(condition: &RawValue, names: &mut Vec<String>) {
    let Some(fields) = object(condition) else { return };
    names.extend(get(&fields, "equals").and_then(text).map(Cow::into_owned));
    // One level is enough: what is nested deeper is no list of names.
    for it in get(&fields, "or").and_then(items).into_iter().flatten() {
        let fields = object(it).unwrap_or_default();
        names.extend(get(&fields, "equals").and_then(text).map(Cow::into_owned));
    }
}

/// Service tier, first day and cards of a row.
type Row = (String, Option<Date>, Vec<Card>);

/// The rows of a model; none where no answer of it has a price.
fn rows(fields: &Object<'_>) -> Result<Option<Vec<Row>>, Wrong> {
    let standard = standard(get(fields, "prices").ok_or_else(no_prices)?)?;
    if standard.iter().flat_map(|it| &it.cards).all(|it| !it.has(Class::Output)) {
        return Ok(None);
    }
    let variants = get(fields, "price_variants").map_or(Ok(Vec::new()), variants)?;
    let mut rows = Vec::new();
    let tiers: BTreeSet<&str> = variants.iter().map(|it| it.tier.as_str()).collect();
    for tier in tiers {
        let of_tier: Vec<&Variant> = variants.iter().filter(|it| it.tier == tier).collect();
        let dates = standard.iter().map(|it| it.from).chain(of_tier.iter().map(|it| it.from));
        for from in dates.collect::<BTreeSet<_>>() {
            let active = of_tier.iter().filter(|it| it.from <= from);
            let active: Vec<&Card> = active.map(|it| &it.card).collect();
            let under = standard.iter().rev().find(|it| it.from <= from);
            let (Some(under), false) = (under, active.is_empty()) else { continue };
            let over = |card: &Card| over(&active, card);
            rows.push((tier.to_owned(), from, under.cards.iter().map(over).collect()));
        }
    }
    rows.extend(standard.into_iter().map(|it| (STANDARD.to_owned(), it.from, it.cards)));
    Ok(Some(rows))
}

/// The first that has a class gives its price; the standard one is the last.
fn over(variants: &[&Card], standard: &Card) -> Card {
    let mut all = variants.iter().copied().chain([standard]);
    let mut first = all.next().cloned().unwrap_or_default();
    all.for_each(|it| first.fall_back_on(it));
    first
}

fn no_prices() -> Wrong {
    ("prices".to_owned(), "is missing: an unknown price is never used".to_owned())
}

fn listing(key: Key, from: Option<Date>, cards: &[Card]) -> Result<Listing, Wrong> {
    let mut found: Option<Prices> = None;
    for card in cards {
        let prices = card.prices(name)?;
        found = Some(match found {
            None => prices,
            Some(it) => dearer(&it, &prices).map_err(|it| ("prices".to_owned(), it.to_string()))?,
        });
    }
    let prices = found.ok_or_else(no_prices)?;
    Ok(Listing { key, from, prices, is_rounded: cards.iter().any(|it| it.is_rounded) })
}

fn name(class: Class) -> &'static str {
    FIELDS.iter().find(|(_, it)| *it == class).map_or("prices", |(name, _)| name)
}

/// The standard prices by date. A later one of the list goes before an earlier one; what
/// depends on the time of day is kept beside what it replaces, for the dearer counts.
fn standard(json: &RawValue) -> Result<Vec<Dated>, Wrong> {
    let Some(list) = items(json) else {
        return Ok(vec![Dated { from: None, cards: vec![card(json)?] }]);
    };
    let mut dated: Vec<Dated> = Vec::new();
    for it in list {
        let fields = object(it).ok_or_else(no_prices)?;
        let card = card(get(&fields, "prices").ok_or_else(no_prices)?)?;
        match when(&fields)? {
            // The first one counts before any that is dated.
            _ if dated.is_empty() => dated.push(Dated { from: None, cards: vec![card] }),
            When::Always => dated = vec![Dated { from: None, cards: vec![card] }],
            When::From(day) => {
                dated.retain(|it| it.from != Some(day));
                dated.push(Dated { from: Some(day), cards: vec![card] });
                dated.sort_by_key(|it| it.from);
            }
            When::TimeOfDay => dated.iter_mut().for_each(|it| it.cards.push(card.clone())),
        }
    }
    Ok(dated)
}

fn variants(json: &RawValue) -> Result<Vec<Variant>, Wrong> {
    let wrong = |problem: &str| ("price_variants".to_owned(), problem.to_owned());
    let mut found = Vec::new();
    for it in items(json).ok_or_else(|| wrong("must be a list"))? {
        let fields = object(it).ok_or_else(|| wrong("must be objects"))?;
        let condition = get(&fields, "when").and_then(object);
        let condition = condition.ok_or_else(|| wrong("must say when"))?;
        let mut values = condition.values().filter_map(|it| text(it));
        let (Some(tier), None) = (values.next(), values.next()) else {
            // What depends on two things at once has no name of ours.
            continue;
        };
        if ["default", STANDARD].contains(&tier.as_ref()) {
            continue;
        }
        let from = match when(&fields)? {
            When::Always => None,
            When::From(day) => Some(day),
            When::TimeOfDay => return Err(wrong("must not depend on the time of day")),
        };
        let card = card(get(&fields, "prices").ok_or_else(no_prices)?)?;
        found.push(Variant { tier: tier.into_owned(), from, card });
    }
    Ok(found)
}

fn when(fields: &Object<'_>) -> Result<When, Wrong> {
    let wrong = || {
        let problem = "must be a start_date, or a start_time and an end_time";
        ("constraint".to_owned(), problem.to_owned())
    };
    let Some(constraint) = get(fields, "constraint") else { return Ok(When::Always) };
    let constraint = object(constraint).ok_or_else(wrong)?;
    if let Some(day) = get(&constraint, "start_date") {
        let day = text(day).and_then(|it| it.parse().ok());
        return day.map(When::From).ok_or_else(wrong);
    }
    let is_timed = ["start_time", "end_time"].iter().all(|it| get(&constraint, it).is_some());
    if is_timed { Ok(When::TimeOfDay) } else { Err(wrong()) }
}

fn card(json: &RawValue) -> Result<Card, Wrong> {
    let fields = object(json).ok_or_else(no_prices)?;
    let mut card = Card::default();
    for (name, class) in FIELDS {
        if let Some(it) = get(&fields, name) {
            price(&mut card, class, (name, it))?;
        }
    }
    let (name, per) = REQUESTS;
    if let Some(it) = get(&fields, name) {
        card.set_request((name, it.get(), per))?;
    }
    Ok(card)
}

/// A number, or a base with tiers.
fn price(card: &mut Card, class: Class, (name, json): (&str, &RawValue)) -> Result<(), Wrong> {
    let unit = Unit::MillionTokens;
    let Some(fields) = object(json) else {
        return card.set(class, None, (name, json.get(), unit));
    };
    let wrong = |problem: &str| (name.to_owned(), problem.to_owned());
    let base = get(&fields, "base").ok_or_else(|| wrong("has tiers without a base"))?;
    card.set(class, None, (name, base.get(), unit))?;
    let tiers = get(&fields, "tiers").map_or(Some(Vec::new()), items);
    for tier in tiers.ok_or_else(|| wrong("has tiers that are no list"))? {
        let tier = object(tier).ok_or_else(|| wrong("has a tier that is no object"))?;
        let start = get(&tier, "start").and_then(|it| it.get().parse::<u64>().ok());
        let start = start.ok_or_else(|| wrong("has a tier without a start"))?;
        let price = get(&tier, "price").ok_or_else(|| wrong("has a tier without a price"))?;
        card.set(class, Some(start), (name, price.get(), unit))?;
    }
    Ok(())
}
