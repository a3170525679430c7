//! Prices of a model, and what a usage costs at them.

use std::str::FromStr;

use super::{
    money::{NotAnAmount, scaled_decimal},
    rates::{Rates, Tiers},
    usage::Usage,
};

/// A thousandth of a dollar a token: dearer is taken for a mistake in the units.
const PICO_USD_PER_TOKEN_MAX: i128 = 1_000_000_000;

/// USD per request at most.
const PICO_USD_PER_REQUEST_MAX: i128 = 1_000_000_000_000_000;

/// Pico-USD per token, the same number as micro-USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Price(u64);

impl Price {
    /// Explicitly free.
    pub const FREE: Self = Self(0);

    /// A price of so many pico-USD per token.
    pub const fn from_pico_usd(pico: u64) -> Self {
        Self(pico)
    }

    /// The price in pico-USD per token.
    pub const fn pico_usd(self) -> u64 {
        self.0
    }

    /// So many tokens, in pico-USD.
    pub(super) fn times(self, tokens: u64) -> i128 {
        i128::from(self.0) * i128::from(tokens)
    }
}

/// Reads USD per million tokens with at most six decimals.
impl FromStr for Price {
    type Err = NotAnAmount;

    fn from_str(text: &str) -> Result<Self, NotAnAmount> {
        let pico = scaled_decimal(text, 6, PICO_USD_PER_TOKEN_MAX)?;
        u64::try_from(pico).map(Self).map_err(|_| NotAnAmount::TooLarge)
    }
}

/// USD per million tokens, as [`FromStr`] reads it.
impl std::fmt::Display for Price {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let six = format!("{rest:06}");
        let kept = six.trim_end_matches('0').len().max(2);
        write!(f, "{whole}.{}", six.get(..kept).unwrap_or(&six))
    }
}

/// What a model costs: rates by token class, cliffs at which they change, and a fee per
/// request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prices {
    /// The rates of a prompt that reaches no tier.
    pub base: Rates,
    /// The rates of longer ones.
    pub tiers: Tiers,
    /// Pico-USD for each request.
    pub request: u64,
}

impl Prices {
    /// Two prices alone, every other class at the safe reading: cached tokens as
    /// input, hidden ones as output, no tiers, no fee.
    pub const fn of(input: Price, output: Price) -> Self {
        Self { base: Rates::of(input, output), tiers: Tiers::NONE, request: 0 }
    }

    /// Reads a fee of USD per request, with at most twelve decimals.
    pub fn request_fee(text: &str) -> Result<u64, NotAnAmount> {
        let pico = scaled_decimal(text, 12, PICO_USD_PER_REQUEST_MAX)?;
        u64::try_from(pico).map_err(|_| NotAnAmount::TooLarge)
    }

    /// The rates of a call whose prompt is of so many tokens, cached ones included. They
    /// are those of all its tokens.
    pub fn at(&self, prompt_tokens: u64) -> &Rates {
        let reached = self.tiers.iter().rev().find(|it| prompt_tokens > it.above);
        reached.map_or(&self.base, |it| &it.rates)
    }

    /// What a usage costs, exactly, in pico-USD, at the tier that it reached.
    pub fn cost(&self, usage: &Usage) -> i128 {
        i128::from(self.request) + self.at(usage.prompt()).cost(usage)
    }

    /// The most that a prompt of at most so many tokens costs, in pico-USD, with the
    /// request's fee: every token at the dearest class and tier that it may fall in.
    pub fn prompt_ceiling(&self, tokens: u64) -> i128 {
        let dearest = self.dearest(tokens, Rates::dearest_prompt_token);
        i128::from(self.request) + dearest.times(tokens)
    }

    /// The price of the dearest class and tier that a token of the answer to a prompt of
    /// at most so many tokens may fall in.
    pub fn dearest_answer_token(&self, prompt_tokens: u64) -> Price {
        self.dearest(prompt_tokens, Rates::dearest_answer_token)
    }

    /// The most that a prompt and an answer of at most so many tokens cost, in pico-USD.
    pub fn ceiling(&self, prompt_tokens: u64, answer_tokens: u64) -> i128 {
        let answer = self.dearest_answer_token(prompt_tokens).times(answer_tokens);
        self.prompt_ceiling(prompt_tokens).saturating_add(answer)
    }

    /// Whether no usage costs anything.
    pub fn are_free(&self) -> bool {
        self.request == 0 && self.base.are_free() && self.tiers.iter().all(|it| it.rates.are_free())
    }

    /// Over the tiers that a prompt of at most so many tokens may be in.
    fn dearest(&self, prompt_tokens: u64, of: impl Fn(&Rates) -> Price) -> Price {
        let reached = self.tiers.iter().filter(|it| prompt_tokens > it.above);
        reached.map(|it| of(&it.rates)).fold(of(&self.base), Price::max)
    }
}
