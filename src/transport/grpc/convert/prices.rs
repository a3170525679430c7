//! Prices on the wire: USD per million tokens, as decimals.

use std::str::FromStr;

use super::field::At;
use crate::{
    domain::{
        book::Key,
        fault::Fault,
        money::NotAnAmount,
        price::{Price, Prices},
        rates::{Class, Rates, TIERS_MAX, Tier, Tiers},
    },
    proto,
};

/// The longest prompt that a threshold may name, in tokens.
const ABOVE_MAX: i64 = 100_000_000;

const REQUIRED: &str = "is required: a model without a price is never used; free is said as \"0\"";

/// Reads prices. Unknown is refused: free is said as "0".
pub fn read(field: &str, it: Option<&proto::Price>) -> Result<Prices, Fault> {
    let it = it.ok_or_else(|| Fault::invalid(field, REQUIRED))?;
    let read = || {
        let base = rates(&words_of(it), None)?;
        if it.tiers.len() > TIERS_MAX {
            return Err(Fault::invalid("tiers", format!("must have at most {TIERS_MAX} items")));
        }
        let mut tiers: Vec<Tier> = Vec::new();
        for (index, tier) in it.tiers.iter().enumerate() {
            let before = tiers.last().map_or(&base, |it| &it.rates);
            let read = read_tier(tier, before).at(format_args!("tiers[{index}]"))?;
            tiers.push(read);
        }
        let tiers = Tiers::new(&tiers).map_err(|it| Fault::invalid("tiers", it.to_string()))?;
        let fee = |it: &str| if it.is_empty() { Ok(0) } else { Prices::request_fee(it) };
        let request = fee(&it.request);
        let request = request.map_err(|it| Fault::invalid("request", it.to_string()))?;
        Ok(Prices { base, tiers, request })
    };
    read().at(field)
}

fn read_tier(it: &proto::PriceTier, before: &Rates) -> Result<Tier, Fault> {
    let above = u64::try_from(it.above_tokens).ok().filter(|it| *it > 0);
    let above = above.filter(|_| it.above_tokens <= ABOVE_MAX);
    let problem = format!("must be from 1 to {ABOVE_MAX}");
    let above = above.ok_or_else(|| Fault::invalid("above_tokens", problem))?;
    Ok(Tier { above, rates: rates(&words_of_tier(it), Some(before))? })
}

/// What the wire says of each class.
type Words<'a> = [(Class, &'a str); Class::ALL.len()];

fn words_of(it: &proto::Price) -> Words<'_> {
    [
        (Class::Input, &it.input),
        (Class::CacheRead, &it.cache_read),
        (Class::CacheWrite, &it.cache_write),
        (Class::Output, &it.output),
        (Class::Reasoning, &it.reasoning),
        (Class::AudioInput, &it.audio_input),
        (Class::AudioOutput, &it.audio_output),
        (Class::Image, &it.image),
    ]
}

fn words_of_tier(it: &proto::PriceTier) -> Words<'_> {
    [
        (Class::Input, &it.input),
        (Class::CacheRead, &it.cache_read),
        (Class::CacheWrite, &it.cache_write),
        (Class::Output, &it.output),
        (Class::Reasoning, &it.reasoning),
        (Class::AudioInput, &it.audio_input),
        (Class::AudioOutput, &it.audio_output),
        (Class::Image, &it.image),
    ]
}

/// A class that is not said costs what it cost before, in the tier below.
fn rates(words: &Words<'_>, before: Option<&Rates>) -> Result<Rates, Fault> {
    let mut known: [(Class, Option<Price>); Class::ALL.len()] = Class::ALL.map(|it| (it, None));
    for (place, (class, text)) in known.iter_mut().zip(words) {
        *place = (*class, before.map(|it| it.price(*class)));
        if !text.is_empty() {
            place.1 = Some(price(class.word(), text)?);
        }
    }
    let price = |class| known.iter().find(|(it, _)| *it == class).and_then(|(_, it)| *it);
    let missing = |class: Class| Fault::invalid(class.word(), "is required; free is said as \"0\"");
    Rates::filled(price).map_err(missing)
}

fn price(field: &'static str, text: &str) -> Result<Price, Fault> {
    Price::from_str(text).map_err(|it| {
        let problem = match it {
            NotAnAmount::Form => "must be a plain decimal such as 0.15",
            NotAnAmount::TooFine => "must have at most six decimals",
            NotAnAmount::TooLarge => "must be at most 1000 USD per million tokens",
        };
        Fault::invalid(field, problem)
    })
}

/// Prices for the wire, every class said.
pub fn to_wire(it: &Prices, version: String) -> proto::Price {
    let Prices { base, tiers, request } = it;
    let usd = |class| base.price(class).to_string();
    proto::Price {
        input: usd(Class::Input),
        output: usd(Class::Output),
        cache_read: usd(Class::CacheRead),
        cache_write: usd(Class::CacheWrite),
        reasoning: usd(Class::Reasoning),
        request: fee(*request),
        version,
        audio_input: usd(Class::AudioInput),
        audio_output: usd(Class::AudioOutput),
        image: usd(Class::Image),
        tiers: tiers.iter().map(tier_to_wire).collect(),
    }
}

fn tier_to_wire(it: &Tier) -> proto::PriceTier {
    let usd = |class| it.rates.price(class).to_string();
    proto::PriceTier {
        above_tokens: i64::try_from(it.above).unwrap_or(i64::MAX),
        input: usd(Class::Input),
        output: usd(Class::Output),
        cache_read: usd(Class::CacheRead),
        cache_write: usd(Class::CacheWrite),
        reasoning: usd(Class::Reasoning),
        audio_input: usd(Class::AudioInput),
        audio_output: usd(Class::AudioOutput),
        image: usd(Class::Image),
    }
}

/// What a row of the book is of.
pub fn source_to_wire(it: &Key) -> proto::PriceSource {
    let Key { provider, model, service_tier } = it.clone();
    proto::PriceSource { provider, model, service_tier }
}

/// USD per request, from pico-USD; empty for none.
fn fee(pico: u64) -> String {
    const PER_USD: u64 = 1_000_000_000_000;
    if pico == 0 {
        return String::new();
    }
    let decimals = format!("{:012}", pico % PER_USD);
    let kept = decimals.trim_end_matches('0').len().max(2);
    format!("{}.{}", pico / PER_USD, decimals.get(..kept).unwrap_or(&decimals))
}
