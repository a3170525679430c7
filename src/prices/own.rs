//! Our own table: a line a model, and the one that comes with the program.

use jiff::civil::Date;

use super::{
    Found,
    card::{Card, Unit, Wrong},
};
use crate::domain::{
    book::{Key, Listing, STANDARD},
    rates::Class,
};

/// What the program knows of itself: see the head of the file.
pub const SHIPPED: &str = include_str!("shipped.txt");

/// The day on which that was last compared with what the providers publish.
pub const SHIPPED_DATE: Date = jiff::civil::date(2026, 12, 1);

pub(super) fn read(text: &str, found: &mut Found) {
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(provider) = words.next() else { continue };
        let mut key = Key {
            provider: provider.to_owned(),
            model: words.next().unwrap_or_default().to_owned(),
            service_tier: STANDARD.to_owned(),
        };
        let row = line_of(&mut key, words);
        let number = index.saturating_add(1);
        let row = row.map_err(|(field, it)| (field, format!("{it} (line {number})")));
        found.add(row, &key);
    }
}

fn line_of<'a>(key: &mut Key, words: impl Iterator<Item = &'a str>) -> Result<Listing, Wrong> {
    let mut card = Card::default();
    let mut positions = [Class::Input, Class::Output].into_iter();
    let (mut above, mut from) = (None, None);
    for word in words {
        let wrong = |problem: &str| (word.to_owned(), problem.to_owned());
        let Some((name, value)) = word.split_once('=') else {
            let class = positions.next().ok_or_else(|| wrong("is one number too many"))?;
            card.set(class, None, (class.word(), word, Unit::MillionTokens))?;
            continue;
        };
        match name {
            "tier" => value.clone_into(&mut key.service_tier),
            "above" => {
                above = Some(value.parse().map_err(|_| wrong("must be a number of tokens"))?);
            }
            "from" => {
                from = Some(value.parse().map_err(|_| wrong("must be a day, YYYY-MM-DD"))?);
            }
            "request" => card.set_request((name, value, 0))?,
            _ => {
                let class = Class::ALL.into_iter().find(|it| it.word() == name);
                let class = class.ok_or_else(|| wrong("is no class of tokens"))?;
                card.set(class, above, (name, value, Unit::MillionTokens))?;
            }
        }
    }
    let prices = card.prices(Class::word)?;
    Ok(Listing { key: key.clone(), from, prices, is_rounded: card.is_rounded })
}
