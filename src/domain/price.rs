//! Prices of a model, and what a usage costs at them.

use std::str::FromStr;

use super::{
    money::{NotAnAmount, scaled_decimal},
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

    fn times(self, tokens: u64) -> i128 {
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

/// A model's prices, one per token class, and a fee per request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prices {
    /// Prompt tokens that no cache served.
    pub input: Price,
    /// Prompt tokens read from a cache.
    pub cache_read: Price,
    /// Prompt tokens written to a cache.
    pub cache_write: Price,
    /// Visible tokens of the answer.
    pub output: Price,
    /// Hidden tokens of the answer.
    pub reasoning: Price,
    /// Pico-USD for each request.
    pub request: u64,
}

impl Prices {
    /// Two prices alone, every other class at the safe reading: cached tokens as
    /// input, hidden ones as output, no fee.
    pub const fn of(input: Price, output: Price) -> Self {
        Self { input, cache_read: input, cache_write: input, output, reasoning: output, request: 0 }
    }

    /// Reads a fee of USD per request, with at most twelve decimals.
    pub fn request_fee(text: &str) -> Result<u64, NotAnAmount> {
        let pico = scaled_decimal(text, 12, PICO_USD_PER_REQUEST_MAX)?;
        u64::try_from(pico).map_err(|_| NotAnAmount::TooLarge)
    }

    /// What a usage costs, exactly, in pico-USD.
    pub fn cost(&self, usage: &Usage) -> i128 {
        let Usage { input, cache_read, cache_write, output, reasoning } = *usage;
        i128::from(self.request)
            + self.input.times(input)
            + self.cache_read.times(cache_read)
            + self.cache_write.times(cache_write)
            + self.output.times(output)
            + self.reasoning.times(reasoning)
    }

    /// The most that a prompt of so many tokens costs, in pico-USD, with the
    /// request's fee: every token at the dearest class it may fall in.
    pub fn prompt_ceiling(&self, tokens: u64) -> i128 {
        i128::from(self.request) + self.dearest_prompt_token().times(tokens)
    }

    /// The price of the dearest class that a token of the answer may fall in.
    pub fn dearest_answer_token(&self) -> Price {
        self.output.max(self.reasoning)
    }

    /// Whether no usage costs anything.
    pub fn are_free(&self) -> bool {
        self.request == 0
            && self.dearest_prompt_token() == Price::FREE
            && self.dearest_answer_token() == Price::FREE
    }

    fn dearest_prompt_token(&self) -> Price {
        self.input.max(self.cache_read).max(self.cache_write)
    }
}
