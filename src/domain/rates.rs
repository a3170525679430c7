//! Prices by token class, and the cliffs at which they change.

use super::{price::Price, usage::Usage};

/// A class of tokens with a price of its own. No token is of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Prompt tokens that no cache served.
    Input,
    /// Prompt tokens read from a cache.
    CacheRead,
    /// Prompt tokens written to a cache.
    CacheWrite,
    /// Visible tokens of the answer.
    Output,
    /// Hidden tokens of the answer.
    Reasoning,
    /// Prompt tokens of sound.
    AudioInput,
    /// Answer tokens of sound.
    AudioOutput,
    /// Prompt tokens of pictures.
    Image,
}

/// What a token of each class costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// See [`Class::Input`].
    pub input: Price,
    /// See [`Class::CacheRead`].
    pub cache_read: Price,
    /// See [`Class::CacheWrite`].
    pub cache_write: Price,
    /// See [`Class::Output`].
    pub output: Price,
    /// See [`Class::Reasoning`].
    pub reasoning: Price,
    /// See [`Class::AudioInput`].
    pub audio_input: Price,
    /// See [`Class::AudioOutput`].
    pub audio_output: Price,
    /// See [`Class::Image`].
    pub image: Price,
}

/// Where prices change: a prompt of more than so many tokens pays these rates for
/// every token of the call, not only for those beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tier {
    /// The longest prompt that does not reach it, in tokens; at least one.
    pub above: u64,
    /// What a token costs then.
    pub rates: Rates,
}

/// Tiers in the order of their thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tiers([Option<Tier>; TIERS_MAX]);

/// More tiers than any vendor has.
pub const TIERS_MAX: usize = 4;

/// Tiers that make no tariff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTiers {
    /// More than [`TIERS_MAX`].
    #[error("must be at most four")]
    TooMany,
    /// A threshold that is zero, or not above the one before.
    #[error("must have thresholds above zero, each above the one before")]
    Order,
}

// === impl Class ===

impl Class {
    /// All of them, in the order in which they are kept.
    pub const ALL: [Self; 8] = [
        Self::Input,
        Self::CacheRead,
        Self::CacheWrite,
        Self::Output,
        Self::Reasoning,
        Self::AudioInput,
        Self::AudioOutput,
        Self::Image,
    ];

    /// As people and the wire name it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
            Self::AudioInput => "audio_input",
            Self::AudioOutput => "audio_output",
            Self::Image => "image",
        }
    }

    /// The class whose price is taken where this one has none: the safe reading. None
    /// for the two that must be known.
    pub const fn stand_in(self) -> Option<Self> {
        match self {
            Self::Input | Self::Output => None,
            Self::CacheRead | Self::CacheWrite | Self::AudioInput | Self::Image => {
                Some(Self::Input)
            }
            Self::Reasoning | Self::AudioOutput => Some(Self::Output),
        }
    }
}

// === impl Rates ===

impl Rates {
    /// Two prices alone, every other class at the safe reading.
    pub const fn of(input: Price, output: Price) -> Self {
        Self {
            input,
            cache_read: input,
            cache_write: input,
            output,
            reasoning: output,
            audio_input: input,
            audio_output: output,
            image: input,
        }
    }

    /// From a price for each class; none: at the safe reading. The class that is missing
    /// where that has to be known.
    pub fn filled(known: impl Fn(Class) -> Option<Price>) -> Result<Self, Class> {
        let price = |class: Class| {
            let stand_in = || class.stand_in().and_then(&known);
            known(class).or_else(stand_in).ok_or(class.stand_in().unwrap_or(class))
        };
        Ok(Self {
            input: price(Class::Input)?,
            cache_read: price(Class::CacheRead)?,
            cache_write: price(Class::CacheWrite)?,
            output: price(Class::Output)?,
            reasoning: price(Class::Reasoning)?,
            audio_input: price(Class::AudioInput)?,
            audio_output: price(Class::AudioOutput)?,
            image: price(Class::Image)?,
        })
    }

    /// The price of a class.
    pub const fn price(&self, class: Class) -> Price {
        match class {
            Class::Input => self.input,
            Class::CacheRead => self.cache_read,
            Class::CacheWrite => self.cache_write,
            Class::Output => self.output,
            Class::Reasoning => self.reasoning,
            Class::AudioInput => self.audio_input,
            Class::AudioOutput => self.audio_output,
            Class::Image => self.image,
        }
    }

    /// Each class with its price.
    pub fn all(&self) -> impl Iterator<Item = (Class, Price)> + '_ {
        Class::ALL.into_iter().map(|it| (it, self.price(it)))
    }

    /// What the tokens of a usage cost, in pico-USD.
    pub fn cost(&self, usage: &Usage) -> i128 {
        let Usage { input, cache_read, cache_write, output, reasoning } = *usage;
        self.input.times(input)
            + self.cache_read.times(cache_read)
            + self.cache_write.times(cache_write)
            + self.output.times(output)
            + self.reasoning.times(reasoning)
    }

    /// The dearest that a token of a prompt's text may be.
    pub fn dearest_prompt_token(&self) -> Price {
        self.input.max(self.cache_read).max(self.cache_write)
    }

    /// The dearest that a token of the answer may be. Sound is never asked for.
    pub fn dearest_answer_token(&self) -> Price {
        self.output.max(self.reasoning)
    }

    /// Whether no token costs anything.
    pub fn are_free(&self) -> bool {
        self.all().all(|(_, price)| price == Price::FREE)
    }

    /// The dearer of both, class by class.
    pub fn dearer(&self, other: &Self) -> Self {
        let dearer = |class| self.price(class).max(other.price(class));
        Self {
            input: dearer(Class::Input),
            cache_read: dearer(Class::CacheRead),
            cache_write: dearer(Class::CacheWrite),
            output: dearer(Class::Output),
            reasoning: dearer(Class::Reasoning),
            audio_input: dearer(Class::AudioInput),
            audio_output: dearer(Class::AudioOutput),
            image: dearer(Class::Image),
        }
    }
}

// === impl Tiers ===

impl Tiers {
    /// No cliffs.
    pub const NONE: Self = Self([None; TIERS_MAX]);

    /// In the order of their thresholds.
    pub fn new(tiers: &[Tier]) -> Result<Self, NotTiers> {
        let mut kept = Self::NONE;
        let mut before = 0;
        for (index, tier) in tiers.iter().enumerate() {
            if tier.above <= before {
                return Err(NotTiers::Order);
            }
            before = tier.above;
            *kept.0.get_mut(index).ok_or(NotTiers::TooMany)? = Some(*tier);
        }
        Ok(kept)
    }

    /// From the lowest threshold up.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Tier> + '_ {
        self.0.iter().flatten()
    }
}
