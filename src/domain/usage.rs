//! Tokens by exclusive class.

/// What a call used. No token is counted in two classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Prompt tokens that no cache served.
    pub input: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
    /// Visible tokens of the answer.
    pub output: u64,
    /// Hidden tokens of the answer.
    pub reasoning: u64,
}

impl Usage {
    /// All prompt tokens; saturates.
    pub const fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Class by class; saturates.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }

    /// All tokens; saturates.
    pub const fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output).saturating_add(self.reasoning)
    }
}

/// What a backend claims, already in exclusive classes. Unknown is not zero, and
/// a claim may be absurd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportedUsage {
    /// See [`Usage::input`].
    pub input: Option<i64>,
    /// See [`Usage::cache_read`].
    pub cache_read: Option<i64>,
    /// See [`Usage::cache_write`].
    pub cache_write: Option<i64>,
    /// See [`Usage::output`].
    pub output: Option<i64>,
    /// See [`Usage::reasoning`].
    pub reasoning: Option<i64>,
}

/// A claim that cannot be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reported usage cannot be true")]
pub struct Disputed;

/// What is known of the traffic, to judge a claim by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// The bound of the prompt in tokens: no true count is higher.
    pub prompt_tokens_max: u64,
    /// Bytes of visible answer: a visible token is at least one byte.
    pub answer_bytes: u64,
    /// What the model can hold at all, prompt and answer together, hidden or not.
    pub context_tokens: u64,
}

/// Tokens that a backend may count beside the visible ones: the end of the turn,
/// the frame of a tool call.
const CONTROL_TOKENS_MAX: u64 = 16;

impl ReportedUsage {
    /// Nothing is known.
    pub const UNKNOWN: Self =
        Self { input: None, cache_read: None, cache_write: None, output: None, reasoning: None };

    /// The prompt tokens of a claim that can be judged by the prompt alone: known, above
    /// zero, and no more than the model can hold. More than the bound of them is either a
    /// lie or a bound that fails.
    pub fn prompt_count(&self, context_tokens: u64) -> Option<u64> {
        let classes = [self.input, self.cache_read, self.cache_write];
        let sum = classes
            .into_iter()
            .flatten()
            .try_fold(0_u64, |sum, it| u64::try_from(it).ok().and_then(|it| sum.checked_add(it)))?;
        (1..=context_tokens).contains(&sum).then_some(sum)
    }

    /// The claim as a usage: `None` when it says too little to be booked, an
    /// error when it cannot be true.
    ///
    /// Both sides of a claim must be there, and text was delivered, so all zeros
    /// says nothing. Visible output beyond the delivered bytes is not true;
    /// output beyond what was asked for is, when it was delivered. Of hidden tokens
    /// only the model's context is a bound.
    pub fn believed(&self, seen: Traffic) -> Result<Option<Usage>, Disputed> {
        let class = |it: Option<i64>| u64::try_from(it.unwrap_or(0)).map_err(|_| Disputed);
        let usage = Usage {
            input: class(self.input)?,
            cache_read: class(self.cache_read)?,
            cache_write: class(self.cache_write)?,
            output: class(self.output)?,
            reasoning: class(self.reasoning)?,
        };
        let prompt_known =
            [self.input, self.cache_read, self.cache_write].iter().any(Option::is_some);
        let says_enough = prompt_known && self.output.is_some();
        let says_nothing = usage.total() == 0 && seen.answer_bytes > 0;
        if !says_enough || says_nothing {
            return Ok(None);
        }
        let true_input = usage.prompt() <= seen.prompt_tokens_max;
        let true_output = usage.output <= seen.answer_bytes.saturating_add(CONTROL_TOKENS_MAX);
        let possible = usage.total() <= seen.context_tokens.max(seen.prompt_tokens_max);
        if true_input && true_output && possible { Ok(Some(usage)) } else { Err(Disputed) }
    }
}
