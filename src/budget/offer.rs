//! What a call may hold: a model at its terms, and how far down it may be clamped.

use std::sync::Arc;

use crate::domain::{hold::Terms, limit::LimitKind, money::Amount, price::Price};

/// Fewer tokens than this are no use as an answer, unless the request itself asks
/// for fewer.
pub const USEFUL_TOKENS: u64 = 16;

/// One way to make a call.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Model and prices; copied into the hold.
    pub terms: Terms,
    /// Why it was chosen, in words; copied into the hold.
    pub route: Option<Arc<str>>,
    /// What is needed.
    pub size: Size,
}

/// How much a call needs.
#[derive(Debug, Clone)]
pub enum Size {
    /// A prompt, and an answer that may be clamped.
    Clampable {
        /// The bound of the prompt.
        prompt_tokens: u64,
        /// The bound of the prompt's cost in pico-USD, fees included.
        prompt_pico_usd: i128,
        /// The dearest price of a token of the answer.
        answer_price: Price,
        /// What was asked for, within the model's own ceilings.
        answer_tokens: u64,
    },
    /// A fixed bound, named by a host that runs its own model.
    Fixed {
        /// The most it may cost.
        money: Amount,
        /// The most tokens it may use.
        tokens: u64,
    },
}

/// What the enforcing limits leave; none: there is no such limit.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Nano-units of the tenant's currency.
    pub money: Option<i64>,
    /// Tokens.
    pub tokens: Option<i64>,
}

/// How an offer fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// Money to hold.
    pub money: Amount,
    /// Tokens to hold.
    pub tokens: i64,
    /// Tokens that may be generated.
    pub answer_tokens: u64,
    /// The kind of limit that lowered it.
    pub clamped_by: Option<LimitKind>,
}

// === impl Offer ===

impl Offer {
    /// The largest part of the offer that the room affords; none if that is less
    /// than useful, or if its bound does not fit an amount.
    pub fn fit(&self, room: Room) -> Option<Fit> {
        let Size::Clampable { answer_tokens: wanted, .. } = self.size else {
            return self.at(0).filter(|it| fits(it, room));
        };
        let by_money = self.affordable(room);
        let by_tokens = self.within(room);
        let granted = wanted.min(by_money).min(by_tokens);
        if granted < wanted.clamp(1, USEFUL_TOKENS) {
            return None;
        }
        let kind = if by_tokens < by_money { LimitKind::Tokens } else { LimitKind::Money };
        let clamped_by = (granted < wanted).then_some(kind);
        let fit = Fit { clamped_by, ..self.at(granted)? };
        fits(&fit, room).then_some(fit)
    }

    /// Which kind of limit was too short for the least useful part.
    pub fn short_of(&self, room: Room) -> Option<LimitKind> {
        let least = match self.size {
            Size::Clampable { answer_tokens, .. } => answer_tokens.clamp(1, USEFUL_TOKENS),
            Size::Fixed { .. } => 0,
        };
        let Some(fit) = self.at(least) else { return Some(LimitKind::Money) };
        let over = |need: i64, room: Option<i64>| room.is_some_and(|it| need > it);
        if over(fit.tokens, room.tokens) { Some(LimitKind::Tokens) } else { Some(LimitKind::Money) }
    }

    /// The bound of its cost with so many tokens of answer, in nano-units; of a fixed one
    /// that is not known, and nothing.
    pub(super) fn bound_for(&self, answer: u64) -> i64 {
        match self.size {
            Size::Fixed { .. } => 0,
            Size::Clampable { .. } => self.at(answer).map_or(i64::MAX, |it| it.money.nanos()),
        }
    }

    /// The need for so many tokens of answer.
    fn at(&self, answer: u64) -> Option<Fit> {
        let (money, tokens) = match &self.size {
            Size::Fixed { money, tokens } => (*money, *tokens),
            Size::Clampable { prompt_tokens, prompt_pico_usd, answer_price, .. } => {
                let pico = pico_usd(*prompt_pico_usd, *answer_price, answer);
                (self.terms.fx.bound(pico).ok()?, prompt_tokens.checked_add(answer)?)
            }
        };
        let tokens = i64::try_from(tokens).ok()?;
        Some(Fit { money, tokens, answer_tokens: answer, clamped_by: None })
    }

    /// Tokens of answer that the room in money pays for.
    fn affordable(&self, room: Room) -> u64 {
        let Size::Clampable { prompt_pico_usd, answer_price, .. } = &self.size else { return 0 };
        let price = i128::from(answer_price.pico_usd());
        let Some(room) = room.money.filter(|_| price > 0) else { return u64::MAX };
        let spare = self.terms.fx.affords(Amount::from_nanos(room)) - prompt_pico_usd;
        // A spare that a rounding took below zero affords nothing.
        u64::try_from(spare.max(0) / price).unwrap_or(u64::MAX)
    }

    /// Tokens of answer that the room in tokens holds.
    fn within(&self, room: Room) -> u64 {
        let Size::Clampable { prompt_tokens, .. } = self.size else { return 0 };
        let Some(room) = room.tokens else { return u64::MAX };
        u64::try_from(room).unwrap_or(0).saturating_sub(prompt_tokens)
    }
}

/// An explicitly free call needs no room in money.
fn fits(fit: &Fit, room: Room) -> bool {
    let money = fit.money.is_zero() || room.money.is_none_or(|it| fit.money.nanos() <= it);
    money && room.tokens.is_none_or(|it| fit.tokens <= it)
}

fn pico_usd(prompt: i128, price: Price, answer: u64) -> i128 {
    prompt.saturating_add(i128::from(price.pico_usd()).saturating_mul(i128::from(answer)))
}
