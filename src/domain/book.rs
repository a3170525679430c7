//! The price book: what is listed of providers' models, what an import would change,
//! and which changes need an explicit yes. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::civil::Date;

use super::{
    price::{Price, Prices},
    rates::{Class, NotTiers, Tier, Tiers},
};

/// A change of more than so many times, either way, needs a yes.
const JUMP: u64 = 5;

/// Pico-USD per token above which a price needs a yes: a thousandth of a dollar.
const DEAR_PICO_USD: u64 = 1_000_000_000;

/// The service tier of a row that names none.
pub const STANDARD: &str = "standard";

/// What a price is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Who bills, such as `openai`.
    pub provider: String,
    /// What the provider calls the model.
    pub model: String,
    /// How it is served, such as `standard`, `flex` or `batch`.
    pub service_tier: String,
}

/// A row of the book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// What it is the price of.
    pub key: Key,
    /// The first day, in UTC, on which it counts; none: always.
    pub from: Option<Date>,
    /// What it costs.
    pub prices: Prices,
    /// Whether a price of it had to be rounded.
    pub is_rounded: bool,
}

/// A row that a source has and the book does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which, by provider and model.
    pub row: String,
    /// The field that is wrong, as the source names it.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Why a change needs an explicit yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// More than five times what it was, or less than a fifth.
    Jump(Class),
    /// More than a thousandth of a dollar for a token.
    Dear(Class),
    /// Nothing costs anything.
    Free,
}

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// It is new.
    Added,
    /// It was there, with other prices.
    Changed,
    /// It is gone: nothing is priced by it any more.
    Removed,
}

/// A row that another version of the book has otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What becomes of it.
    pub turn: Turn,
    /// Which.
    pub key: Key,
    /// From which day on.
    pub from: Option<Date>,
    /// What it cost, or the row before it of the same key.
    pub before: Option<Prices>,
    /// What it would cost.
    pub after: Option<Prices>,
    /// What needs a yes.
    pub guards: Vec<Guard>,
}

/// What each row is found by.
type Place = (Key, Option<Date>);

/// What `new` would change of `old`, in the order of keys.
pub fn compare(old: &[Listing], new: &[Listing]) -> Vec<Change> {
    let table = |rows: &'_ [Listing]| -> BTreeMap<Place, Prices> {
        rows.iter().map(|it| ((it.key.clone(), it.from), it.prices)).collect()
    };
    let (old, new) = (table(old), table(new));
    let mut changes = Vec::new();
    for ((key, from), after) in &new {
        let same = old.get(&(key.clone(), *from));
        if same == Some(after) {
            continue;
        }
        let before = same.or_else(|| before(&old, key, *from));
        let turn = if same.is_some() { Turn::Changed } else { Turn::Added };
        let guards = guards(before, after);
        let (before, after) = (before.copied(), Some(*after));
        changes.push(Change { turn, key: key.clone(), from: *from, before, after, guards });
    }
    for ((key, from), before) in old {
        if !new.contains_key(&(key.clone(), from)) {
            let (turn, before) = (Turn::Removed, Some(before));
            changes.push(Change { turn, key, from, before, after: None, guards: Vec::new() });
        }
    }
    changes.sort_by(|a, b| (&a.key, a.from, a.turn).cmp(&(&b.key, b.from, b.turn)));
    changes
}

/// The row of the same key that counted until then; else its first one.
fn before<'a>(
    rows: &'a BTreeMap<Place, Prices>,
    key: &Key,
    from: Option<Date>,
) -> Option<&'a Prices> {
    let until = rows.range((key.clone(), None)..(key.clone(), from));
    let of_key = rows.range((key.clone(), None)..).take_while(|((it, _), _)| it == key);
    until.map(|(_, it)| it).next_back().or_else(|| of_key.map(|(_, it)| it).next())
}

/// What of a change needs a yes.
fn guards(before: Option<&Prices>, after: &Prices) -> Vec<Guard> {
    let mut found = Vec::new();
    if after.are_free() && before.is_none_or(|it| !it.are_free()) {
        found.push(Guard::Free);
    }
    for class in Class::ALL {
        let dearest = |it: &Prices| dearest(it, class);
        let is_dear = |it: Price| it.pico_usd() > DEAR_PICO_USD;
        let was_as_dear = before.is_some_and(|it| dearest(it) >= dearest(after));
        if is_dear(dearest(after)) && !was_as_dear {
            found.push(Guard::Dear(class));
        }
        if before.is_some_and(|it| is_jump(it, after, class)) {
            found.push(Guard::Jump(class));
        }
    }
    found
}

/// At any length of prompt: the thresholds of both are looked at.
fn is_jump(before: &Prices, after: &Prices, class: Class) -> bool {
    let thresholds = before.tiers.iter().chain(after.tiers.iter()).map(|it| it.above);
    let prompts = thresholds.map(|it| it.saturating_add(1)).chain([1]);
    prompts.into_iter().any(|prompt| {
        let at = |it: &Prices| it.at(prompt).price(class).pico_usd();
        let (before, after) = (at(before), at(after));
        after > before.saturating_mul(JUMP) || before > after.saturating_mul(JUMP)
    })
}

fn dearest(prices: &Prices, class: Class) -> Price {
    let tiers = prices.tiers.iter().map(|it| it.rates.price(class));
    tiers.fold(prices.base.price(class), Price::max)
}

/// The dearer of two prices, class by class and at any length of prompt: what cannot be
/// told apart is held and charged at most.
pub fn dearer(one: &Prices, other: &Prices) -> Result<Prices, NotTiers> {
    let thresholds = one.tiers.iter().chain(other.tiers.iter()).map(|it| it.above);
    let thresholds: BTreeSet<u64> = thresholds.collect();
    let at = |prompt| one.at(prompt).dearer(other.at(prompt));
    let tier = |above: u64| Tier { above, rates: at(above.saturating_add(1)) };
    let tiers: Vec<Tier> = thresholds.into_iter().map(tier).collect();
    Ok(Prices { base: at(0), tiers: Tiers::new(&tiers)?, request: one.request.max(other.request) })
}

// === impl Key ===

/// Provider and model with a slash between; the service tier where it is not standard.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)?;
        if self.service_tier != STANDARD {
            write!(f, " ({})", self.service_tier)?;
        }
        Ok(())
    }
}

// === impl Guard ===

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jump(class) => write!(f, "{} changes more than five-fold", class.word()),
            Self::Dear(class) => write!(f, "{} is above 0.001 USD a token", class.word()),
            Self::Free => f.write_str("it becomes free"),
        }
    }
}
