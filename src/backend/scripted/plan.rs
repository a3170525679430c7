//! From a script to what happens, step by step.

use std::{borrow::Cow, ops::Range, time::Duration};

use super::script::{self, Fault, Script};
use crate::{
    backend::{Cause, Error, Event, Prompt, finish},
    domain::{answer::Finish, message::ToolUse, usage::ReportedUsage},
};

/// The default reply.
const REPLY: &str = "This is the scripted backend speaking.";

/// One thing that happens.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Time passes.
    Wait(Duration),
    /// Something arrives.
    Emit(Event),
    /// The stream fails; the last step.
    Fail(Cause),
    /// Nothing comes any more; the last step.
    Stall,
}

/// The answer in place of a stream, if the script asks for one.
pub(super) fn refusal(script: &Script) -> Option<Error> {
    (script.fault == Some(Fault::HttpStatus))
        .then_some(Error { cause: Cause::Status(script.status), retry_after: script.retry_after })
}

/// All that happens after the status.
pub(super) fn steps(script: &Script, prompt: &Prompt) -> Vec<Step> {
    let text = text(script);
    let pieces = pieces(&text, script.deltas);
    let tokens_max = if script.obey_max_tokens { prompt.max_tokens } else { u64::MAX };
    let (cut_at, mut cut) = cut(&text, tokens_max);
    let break_off = break_off(script, pieces.len());

    let mut steps = vec![Step::Wait(script.first_delay)];
    for (done, piece) in pieces.iter().enumerate() {
        if let Some((_, last)) = break_off.as_ref().filter(|(after, _)| *after == done) {
            steps.push(last.clone());
            return steps;
        }
        let delivered = text.get(piece.start..piece.end.min(cut_at)).unwrap_or("");
        if delivered.is_empty() {
            break;
        }
        if done > 0 {
            steps.push(Step::Wait(script.delay));
        }
        steps.push(Step::Emit(Event::Text(delivered.to_owned())));
    }
    // A cut answer ends before a fault that lies beyond the cut.
    if let Some((_, last)) = break_off.filter(|(after, _)| *after == pieces.len() && !cut) {
        steps.push(last);
        return steps;
    }

    let text = text.get(..cut_at).unwrap_or("");
    let mut tokens = words(text);
    // A tool call is one token; what does not fit is never completed.
    for (at, call) in script.tool_calls.iter().enumerate() {
        if cut || tokens >= tokens_max {
            cut = true;
            break;
        }
        tokens = tokens.saturating_add(1);
        let id = format!("call_{}", at.saturating_add(1));
        let (name, input) = (call.name.clone(), call.input.clone());
        steps.push(Step::Emit(Event::ToolUse(ToolUse { id, name, input })));
    }
    end(script, prompt, &mut steps, &Ended { cut, tokens });
    steps
}

/// How the answer came to its end.
struct Ended {
    cut: bool,
    tokens: u64,
}

/// The last words: what was used, then how it ended.
fn end(script: &Script, prompt: &Prompt, steps: &mut Vec<Step>, ended: &Ended) {
    let reason = match &script.finish {
        _ if ended.cut => finish::Reason::Ended(Finish::MaxTokens),
        Some(word) => finish::read(word),
        None if script.tool_calls.is_empty() => finish::Reason::Ended(Finish::EndTurn),
        None => finish::Reason::Ended(Finish::ToolUse),
    };
    let counted = || ReportedUsage {
        input: i64::try_from(prompt_words(prompt)).ok(),
        output: i64::try_from(ended.tokens).ok(),
        ..ReportedUsage::UNKNOWN
    };
    let usage = script.usage.unwrap_or_else(counted);
    if usage != ReportedUsage::UNKNOWN {
        steps.push(Step::Emit(Event::Usage(usage)));
    }
    match reason {
        finish::Reason::Ended(it) => steps.push(Step::Emit(Event::Finish(it))),
        finish::Reason::Failed => steps.push(Step::Fail(Cause::ErrorFrame)),
        finish::Reason::None => {}
    }
}

/// Where and how the answer breaks off. What is asked for after more deltas than
/// there are comes after the last one.
fn break_off(script: &Script, deltas: usize) -> Option<(usize, Step)> {
    let fault = script.fault.map(|it| {
        let cause = match it {
            Fault::Disconnect => Cause::Disconnected,
            Fault::Malformed => Cause::Malformed,
            Fault::ErrorFrame => Cause::ErrorFrame,
            Fault::HttpStatus => Cause::Status(script.status),
        };
        (script.fault_after.min(deltas), Step::Fail(cause))
    });
    let stall = script.stall_after.map(|it| (it.min(deltas), Step::Stall));
    // At the same place the fault comes first: nothing comes after a stall.
    fault.into_iter().chain(stall).min_by_key(|(after, _)| *after)
}

/// The scripted text, or the reply, said again until there is a word a delta.
fn text(script: &Script) -> Cow<'_, str> {
    if let Some(text) = &script.text {
        return text.into();
    }
    let in_reply = REPLY.split_whitespace().count().max(1);
    let times = script.deltas.unwrap_or(1).div_ceil(in_reply).max(1);
    if times == 1 { REPLY.into() } else { vec![REPLY; times].join(" ").into() }
}

/// Splits into `count` pieces of about as many characters, or else into words
/// with the space around them. No piece is empty; together they are the text.
fn pieces(text: &str, count: Option<usize>) -> Vec<Range<usize>> {
    let starts: Vec<usize> = match count {
        None => word_starts(text),
        Some(count) => {
            let chars: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let count = count.clamp(1, chars.len().max(1));
            let at = |piece: usize| piece.saturating_mul(chars.len()).checked_div(count);
            (0..count).filter_map(|it| chars.get(at(it)?).copied()).collect()
        }
    };
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
}

/// Where a piece starts for each word; the first one takes any space before it.
fn word_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut after_space = true;
    for (at, char) in text.char_indices() {
        if after_space && !char.is_whitespace() {
            starts.push(at);
        }
        after_space = char.is_whitespace();
    }
    match starts.first_mut() {
        Some(first) => *first = 0,
        None if text.is_empty() => {}
        None => starts.push(0),
    }
    starts
}

/// Where `tokens_max` words end, and whether anything was cut off there.
fn cut(text: &str, tokens_max: u64) -> (usize, bool) {
    let mut seen = 0_u64;
    let mut after_space = true;
    let mut word_end = 0;
    for (at, char) in text.char_indices() {
        let space = char.is_whitespace();
        if after_space && !space {
            if seen == tokens_max {
                return (word_end, true);
            }
            seen = seen.saturating_add(1);
        }
        if !space {
            word_end = at.saturating_add(char.len_utf8());
        }
        after_space = space;
    }
    (text.len(), false)
}

fn words(text: &str) -> u64 {
    u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX)
}

/// The words of all prompt text.
fn prompt_words(prompt: &Prompt) -> u64 {
    let blocks = prompt.messages.iter().flat_map(|it| &it.content).flat_map(script::texts);
    let said = blocks.map(|it| words(&it)).fold(0, u64::saturating_add);
    said.saturating_add(words(prompt.system.as_deref().unwrap_or("")))
}
