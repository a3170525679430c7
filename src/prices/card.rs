//! A model's prices as they are gathered from a source, class by class and tier by tier.

use std::collections::BTreeMap;

use super::number::scaled;
use crate::domain::{
    price::{Price, Prices},
    rates::{Class, Rates, Tier, Tiers},
};

/// The most that a token may cost, in pico-USD: a dollar. More is a mistake in the unit.
const TOKEN_PICO_USD_MAX: u64 = 1_000_000_000_000;

/// The most that a request may cost, in pico-USD: a thousand dollars.
const REQUEST_PICO_USD_MAX: u64 = 1_000_000_000_000_000;

/// Decimal places from USD to pico-USD.
const PICO_PLACES: i32 = 12;

/// What one thing is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// USD per token.
    Token,
    /// USD per million tokens.
    MillionTokens,
}

/// What is wrong with a row: the field, and what about it.
pub(super) type Wrong = (String, String);

/// Prices so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Card {
    base: BTreeMap<Class, Price>,
    tiers: BTreeMap<u64, BTreeMap<Class, Price>>,
    request: u64,
    pub(super) is_rounded: bool,
}

// === impl Card ===

impl Card {
    /// Whether it has a price of this class.
    pub(super) fn has(&self, class: Class) -> bool {
        self.base.contains_key(&class)
    }

    /// Takes the price of a class above a threshold, if any.
    pub(super) fn set(
        &mut self,
        class: Class,
        above: Option<u64>,
        (field, json, unit): (&str, &str, Unit),
    ) -> Result<(), Wrong> {
        let places = match unit {
            Unit::Token => PICO_PLACES,
            Unit::MillionTokens => PICO_PLACES - 6,
        };
        let read = scaled(json, places, TOKEN_PICO_USD_MAX);
        let read = read.map_err(|it| (field.to_owned(), it.to_owned()))?;
        self.is_rounded |= read.is_rounded;
        let prices = match above {
            None => &mut self.base,
            Some(above) => self.tiers.entry(above).or_default(),
        };
        prices.insert(class, Price::from_pico_usd(read.value));
        Ok(())
    }

    /// Takes a fee of USD for `10^per` requests.
    pub(super) fn set_request(
        &mut self,
        (field, json, per): (&str, &str, i32),
    ) -> Result<(), Wrong> {
        let read = scaled(json, PICO_PLACES - per, REQUEST_PICO_USD_MAX);
        let read = read.map_err(|it| (field.to_owned(), it.to_owned()))?;
        self.is_rounded |= read.is_rounded;
        self.request = read.value;
        Ok(())
    }

    /// Takes the classes that `other` has and this has not, with their tiers.
    pub(super) fn fall_back_on(&mut self, other: &Self) {
        let lacking: Vec<Class> =
            other.base.keys().filter(|it| !self.base.contains_key(it)).copied().collect();
        for class in lacking {
            self.base.extend(other.base.get_key_value(&class).map(|(class, it)| (*class, *it)));
            for (above, prices) in &other.tiers {
                let tier = self.tiers.entry(*above).or_default();
                tier.extend(prices.get_key_value(&class).map(|(class, it)| (*class, *it)));
            }
        }
        if self.request == 0 {
            self.request = other.request;
        }
        self.is_rounded |= other.is_rounded;
    }

    /// The prices. A class that a tier does not name costs what it cost in the tier
    /// before; one that nothing names is at the safe reading.
    pub(super) fn prices(&self, name: impl Fn(Class) -> &'static str) -> Result<Prices, Wrong> {
        let missing = |class| {
            (name(class).to_owned(), "is missing: an unknown price is never used".to_owned())
        };
        let base = Rates::filled(|it| self.base.get(&it).copied()).map_err(missing)?;
        let mut known = self.base.clone();
        let mut tiers = Vec::with_capacity(self.tiers.len());
        for (above, prices) in &self.tiers {
            known.extend(prices);
            let rates = Rates::filled(|it| known.get(&it).copied()).map_err(missing)?;
            tiers.push(Tier { above: *above, rates });
        }
        let tiers = Tiers::new(&tiers).map_err(|it| ("tiers".to_owned(), it.to_string()))?;
        Ok(Prices { base, tiers, request: self.request })
    }
}
