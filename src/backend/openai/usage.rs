//! What vendors count, in exclusive classes.

use crate::{backend::fields::Fields, domain::usage::ReportedUsage};

/// Reads a usage object. OpenAI's prompt tokens include the cached ones, and its
/// completion tokens the reasoning ones; negative counts stay negative, so that they
/// are disputed and not mended.
pub(super) fn read(usage: &Fields<'_>) -> ReportedUsage {
    let number = |names: &[&str]| names.iter().find_map(|it| usage.number(it));
    let prompt = number(&["prompt_tokens", "input_tokens"]);
    let completion = number(&["completion_tokens", "output_tokens"]);
    let total = usage.number("total_tokens");

    let details = [usage.object("prompt_tokens_details"), usage.object("input_tokens_details")];
    let detail = |name| details.iter().find_map(|it| it.number(name));
    let cache_read = detail("cached_tokens").or_else(|| {
        number(&["prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"])
    });
    let cache_write = detail("cache_write_tokens")
        .or_else(|| detail("cache_creation_tokens"))
        .or_else(|| number(&["cache_creation_input_tokens"]));
    let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    let input = prompt
        .map(|it| it.saturating_sub(cached))
        .or_else(|| usage.number("prompt_cache_miss_tokens"));

    let details =
        [usage.object("completion_tokens_details"), usage.object("output_tokens_details")];
    let reasoning = details.iter().find_map(|it| it.number("reasoning_tokens"));
    let (output, reasoning) = split(prompt, completion, reasoning, total);
    ReportedUsage { input, cache_read, cache_write, output, reasoning }
}

/// Parts reasoning from visible output. Some vendors leave reasoning out of the
/// completion tokens, and some name it nowhere but in the total.
fn split(
    prompt: Option<i64>,
    completion: Option<i64>,
    reasoning: Option<i64>,
    total: Option<i64>,
) -> (Option<i64>, Option<i64>) {
    let Some(completion) = completion else { return (None, reasoning) };
    let beyond = total
        .and_then(|it| it.checked_sub(prompt?)?.checked_sub(completion))
        .filter(|it| *it > 0 && completion >= 0);
    match (reasoning, beyond) {
        (Some(it), Some(beyond)) if it == beyond => (Some(completion), Some(it)),
        (Some(it), _) => (Some(completion.saturating_sub(it)), Some(it)),
        (None, beyond) => (Some(completion), beyond),
    }
}

/// The later claim over the earlier one. One that says nothing, or of one side
/// nothing, does not unsay what was said before.
pub(super) fn later(earlier: ReportedUsage, later: ReportedUsage) -> ReportedUsage {
    let counts = [later.input, later.cache_read, later.cache_write, later.output, later.reasoning];
    if earlier != ReportedUsage::UNKNOWN && counts.iter().flatten().all(|it| *it == 0) {
        return earlier;
    }
    let prompt = if later.input.is_some() { later } else { earlier };
    let answer = if later.output.is_some() { later } else { earlier };
    ReportedUsage {
        input: prompt.input,
        cache_read: prompt.cache_read,
        cache_write: prompt.cache_write,
        output: answer.output,
        reasoning: answer.reasoning,
    }
}
