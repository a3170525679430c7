//! What Anthropic counts, in exclusive classes.

use crate::{backend::fields::Fields, domain::usage::ReportedUsage};

/// Tokens that may frame one tool call beside its name and input.
const FRAME_TOKENS_MAX: u64 = 64;

/// The counts so far. Its prompt tokens leave out the cached ones, so they are
/// exclusive as they come; its output tokens include the thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    prompt: Prompt,
    output: Option<i64>,
    thinking: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Prompt {
    input: Option<i64>,
    cache_read: Option<i64>,
    cache_write: Option<i64>,
}

/// What came of the answer, to part its visible tokens from its hidden ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Came {
    /// Bytes of text and of tool calls.
    pub(super) visible_bytes: u64,
    /// Whether something came that nobody sees, such as thinking.
    pub(super) hidden: bool,
    /// Tool calls.
    pub(super) calls: u64,
}

// === impl Counts ===

impl Counts {
    /// Takes the count at the beginning: the number of output tokens there is no more
    /// than a place-holder.
    pub(super) fn begin(&mut self, usage: &Fields<'_>) {
        self.prompt(usage);
    }

    /// Takes a count of all so far. A field that is missing, or zero where there was
    /// more, does not unsay what was said before: counts only grow.
    pub(super) fn go_on(&mut self, usage: &Fields<'_>) {
        self.prompt(usage);
        let later = |now: Option<i64>, before| now.filter(|it| *it != 0).or(before).or(now);
        self.output = later(usage.number("output_tokens"), self.output);
        let details = usage.object("output_tokens_details");
        let thinking = ["thinking_tokens", "reasoning_tokens"];
        let thinking = thinking.iter().find_map(|it| details.number(it));
        self.thinking = later(thinking, self.thinking);
    }

    /// The claim.
    pub(super) fn reported(&self, came: Came) -> ReportedUsage {
        let Prompt { input, cache_read, cache_write } = self.prompt;
        let (output, reasoning) = match (self.output, self.thinking) {
            (None, _) => (None, None),
            (Some(all), Some(thinking)) => (Some(all.saturating_sub(thinking)), Some(thinking)),
            (Some(all), None) => split(all, came),
        };
        ReportedUsage { input, cache_read, cache_write, output, reasoning }
    }

    fn prompt(&mut self, usage: &Fields<'_>) {
        let by_lifetime = usage.object("cache_creation");
        let lifetimes = ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"];
        let written = lifetimes.iter().filter_map(|it| by_lifetime.number(it));
        let written = || written.reduce(i64::saturating_add);
        let now = Prompt {
            input: usage.number("input_tokens"),
            cache_read: usage.number("cache_read_input_tokens"),
            cache_write: usage.number("cache_creation_input_tokens").or_else(written),
        };
        let counts = [now.input, now.cache_read, now.cache_write];
        let says_nothing = counts.iter().flatten().all(|it| *it == 0);
        if says_nothing && self.prompt != Prompt::default() {
            return;
        }
        let before = self.prompt;
        self.prompt = Prompt {
            input: now.input.or(before.input),
            cache_read: now.cache_read.or(before.cache_read),
            cache_write: now.cache_write.or(before.cache_write),
        };
    }
}

/// Parts hidden tokens from visible ones where the vendor does not. A visible token is
/// at least one byte, so what goes beyond the bytes was hidden: thinking, of which a
/// summary or nothing may have been shown, or the frames of tool calls. Where neither
/// was, the claim stays as it is, and is disputed if it cannot be true.
fn split(all: i64, came: Came) -> (Option<i64>, Option<i64>) {
    let hidden_max =
        if came.hidden { u64::MAX } else { came.calls.saturating_mul(FRAME_TOKENS_MAX) };
    let beyond = u64::try_from(all).unwrap_or(0).saturating_sub(came.visible_bytes);
    match i64::try_from(beyond.min(hidden_max)) {
        Ok(hidden @ 1..) => (Some(all.saturating_sub(hidden)), Some(hidden)),
        Ok(_) | Err(_) => (Some(all), None),
    }
}
