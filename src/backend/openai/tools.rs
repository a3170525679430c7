//! Tool calls, put together from their deltas.

use super::fields::{self, Fields};
use crate::{
    backend::Cause,
    domain::message::{JsonText, ToolUse},
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

/// What became of the calls.
#[derive(Debug, PartialEq)]
pub(super) struct Assembled {
    /// The complete ones.
    pub(super) complete: Vec<ToolUse>,
    /// Whether one was dropped.
    pub(super) dropped: bool,
}

// === impl Calls ===

impl Calls {
    /// Takes one delta, or a whole call, and returns how many bytes it brought.
    pub(super) fn delta(&mut self, delta: &Fields<'_>) -> Result<usize, Cause> {
        self.part(delta, &delta.object("function"))
    }

    /// Takes the older form: one call, without index and id.
    pub(super) fn legacy(&mut self, function: &Fields<'_>) -> Result<usize, Cause> {
        self.part(&Fields::default(), function)
    }

    /// Ends the calls. An id that is missing is made up, the same each time.
    pub(super) fn finish(self) -> Assembled {
        let mut assembled = Assembled { complete: Vec::new(), dropped: false };
        for (at, call) in self.calls.into_iter().enumerate() {
            match call.finish(at.saturating_add(1)) {
                Some(it) => assembled.complete.push(it),
                None => assembled.dropped = true,
            }
        }
        assembled
    }

    fn part(&mut self, delta: &Fields<'_>, function: &Fields<'_>) -> Result<usize, Cause> {
        let index = delta.number("index");
        let id = delta.text("id").filter(|it| !it.is_empty());
        let name = function.text("name").unwrap_or_default();
        let arguments = arguments(function);
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

/// The arguments as text, whether they come as text or as an object.
fn arguments(function: &Fields<'_>) -> String {
    let Some(json) = function.json("arguments") else { return String::new() };
    fields::text(json).unwrap_or_else(|| json.to_owned())
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
