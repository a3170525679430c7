//! Tool calls, put together from their deltas.

use super::{Cause, Event, fields::Fields};
use crate::domain::{
    answer::Finish,
    message::{JsonText, ToolUse},
};

/// The most tool calls of an answer.
const CALLS_MAX: usize = 128;
/// The most bytes of arguments of an answer.
const ARGUMENTS_BYTES_MAX: usize = 4 << 20;

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<i64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

/// Part of a call, or a whole one.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// The call's number, where the vendor gives one.
    pub(super) index: Option<i64>,
    /// The call's name within the conversation; never empty.
    pub(super) id: Option<String>,
    /// The tool; empty if it was named before.
    pub(super) name: String,
    /// More of the arguments' JSON.
    pub(super) arguments: String,
}

// === impl Calls ===

impl Calls {
    /// Takes a part and returns how many bytes it brought.
    pub(super) fn take(&mut self, part: Part) -> Result<usize, Cause> {
        let Part { index, id, name, arguments } = part;
        let brought = name.len().saturating_add(arguments.len());
        self.bytes = self.bytes.saturating_add(brought);
        if self.bytes > ARGUMENTS_BYTES_MAX {
            return Err(Cause::TooLarge);
        }
        let place = self.place(index, id.as_deref(), &name);
        let at = place.unwrap_or(self.calls.len());
        if at >= CALLS_MAX {
            return Err(Cause::TooLarge);
        }
        if place.is_none() {
            self.calls.push(Call { index, ..Call::default() });
        }
        if let Some(call) = self.calls.get_mut(at) {
            call.id = call.id.take().or(id);
            // Some vendors repeat the name with each delta.
            if call.name.is_empty() {
                call.name = name;
            }
            call.arguments.push_str(&arguments);
        }
        Ok(brought)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// The answer's last events: the complete calls, then how it ended, unless a call
    /// is wrong, which is the fault. A call that the maximum of tokens or a filter cut
    /// short is dropped by right. An id that is missing is made up, the same each time.
    pub(super) fn end(mut self, finish: Finish) -> (Vec<Event>, Option<Cause>) {
        let cut = matches!(finish, Finish::MaxTokens | Finish::Refusal);
        // Cut before its first argument, a call looks like one that needs none.
        if cut && self.calls.last().is_some_and(|it| it.arguments.trim().is_empty()) {
            self.calls.pop();
        }
        let calls = self.calls.into_iter().enumerate();
        let calls: Vec<_> = calls.map(|(at, it)| it.finish(at.saturating_add(1))).collect();
        let dropped = calls.iter().any(Option::is_none);
        let mut events: Vec<_> = calls.into_iter().flatten().map(Event::ToolUse).collect();
        if dropped && !cut {
            return (events, Some(Cause::Malformed));
        }
        let finish = match finish {
            Finish::EndTurn if !events.is_empty() => Finish::ToolUse,
            Finish::ToolUse if events.is_empty() => Finish::EndTurn,
            it @ (Finish::EndTurn
            | Finish::StopSequence
            | Finish::MaxTokens
            | Finish::ToolUse
            | Finish::Refusal) => it,
        };
        events.push(Event::Finish(finish));
        (events, None)
    }

    /// The call that a delta goes on with: by index, else by id, else the last. A new
    /// id, or a new name where no id is given, begins a new call, for some vendors
    /// number every call zero.
    fn place(&self, index: Option<i64>, id: Option<&str>, name: &str) -> Option<usize> {
        let fits = |call: &Call| match (index, id) {
            (Some(index), _) if call.index != Some(index) => false,
            (None, Some(id)) => call.id.as_deref() == Some(id),
            (_, Some(id)) => call.id.as_deref().is_none_or(|it| it == id),
            (_, None) => true,
        };
        let at = self.calls.iter().rposition(fits)?;
        let begins_anew = |call: &Call| id.is_none() && call.is_followed_by(name);
        self.calls.get(at).is_none_or(|it| !begins_anew(it)).then_some(at)
    }
}

// === impl Call ===

impl Call {
    /// Whether a name in a delta without an id is that of a new call.
    fn is_followed_by(&self, name: &str) -> bool {
        let named = !name.is_empty() && !self.name.is_empty();
        named && (name != self.name || Fields::parse(&self.arguments).is_some())
    }

    fn finish(self, number: usize) -> Option<ToolUse> {
        let arguments = self.arguments.trim();
        let arguments = if matches!(arguments, "" | "null") { "{}" } else { arguments };
        // Not guessed: what is no JSON object is no input.
        Fields::parse(arguments).filter(|_| !self.name.is_empty())?;
        let input = JsonText::checked(arguments);
        let id = self.id.unwrap_or_else(|| format!("call_{number}"));
        Some(ToolUse { id, name: self.name, input })
    }
}
