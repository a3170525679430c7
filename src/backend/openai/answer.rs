//! From chunks to events. Vendors agree on little, so little is demanded.

use super::usage;
use crate::{
    backend::{
        Cause, Event,
        calls::{Calls, Part},
        fields::{self, Fields},
        finish,
        reader::{Assembly, Flow},
    },
    domain::{answer::Finish, usage::ReportedUsage},
};

/// An answer on its way.
#[derive(Debug)]
pub(super) struct Answer {
    calls: Calls,
    usage: ReportedUsage,
    finish: Option<Finish>,
    refused: bool,
    tools_allowed: bool,
}

// === impl Answer ===

impl Answer {
    /// Begins one. Some models call tools although they must not; such calls are
    /// dropped.
    pub(super) fn new(tools_allowed: bool) -> Self {
        Self {
            calls: Calls::default(),
            usage: ReportedUsage::UNKNOWN,
            finish: None,
            refused: false,
            tools_allowed,
        }
    }
}

impl Assembly for Answer {
    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn chunk(&mut self, json: &str, events: &mut Vec<Event>) -> Result<Flow, Cause> {
        let chunk = Fields::parse(json).ok_or(Cause::Malformed)?;
        if is_error(&chunk) {
            return Err(Cause::ErrorFrame);
        }
        let choices: Vec<_> =
            chunk.array("choices").into_iter().filter_map(Fields::parse).collect();
        // One choice was asked for; what else comes is not the answer.
        for choice in choices.iter().filter(|it| it.number("index").unwrap_or(0) == 0) {
            self.choice(choice, events)?;
        }
        let usages = choices.iter().map(|it| it.object("usage"));
        let usages = usages.chain([chunk.object("x_groq").object("usage"), chunk.object("usage")]);
        for claim in usages {
            self.usage(usage::read(&claim), events);
        }
        Ok(Flow::On)
    }

    /// A whole response has what a chunk has.
    fn document(&mut self, json: &str, events: &mut Vec<Event>) -> Result<(), Cause> {
        self.chunk(json, events)?;
        let answered = Fields::parse(json).is_some_and(|it| !it.array("choices").is_empty());
        if answered { Ok(()) } else { Err(Cause::Malformed) }
    }

    fn end(self, complete: bool) -> (Vec<Event>, Option<Cause>) {
        match self.finish.or(complete.then_some(Finish::EndTurn)) {
            None => (Vec::new(), None),
            Some(Finish::EndTurn) if self.refused => self.calls.end(Finish::Refusal),
            Some(it) => self.calls.end(it),
        }
    }
}

impl Answer {
    fn choice(&mut self, choice: &Fields<'_>, events: &mut Vec<Event>) -> Result<(), Cause> {
        let message = if choice.json("delta").is_some() { "delta" } else { "message" };
        let message = choice.object(message);
        let mut hidden = reasoning(&message);
        if let Some(content) = message.json("content") {
            let text = content_text(content, &mut hidden).ok_or(Cause::Malformed)?;
            push_text(text, events);
        }
        if let Some(refusal) = message.text("refusal").filter(|it| !it.is_empty()) {
            self.refused = true;
            push_text(refusal, events);
        }
        hidden = hidden.saturating_add(self.tool_calls(&message)?);
        if let Ok(bytes @ 1..) = u64::try_from(hidden) {
            events.push(Event::Hidden(bytes));
        }
        let reason =
            choice.text("finish_reason").map_or(finish::Reason::None, |it| finish::read(&it));
        match reason {
            finish::Reason::None => {}
            finish::Reason::Failed => return Err(Cause::ErrorFrame),
            finish::Reason::Ended(it) => self.finish = Some(it),
        }
        Ok(())
    }

    fn tool_calls(&mut self, message: &Fields<'_>) -> Result<usize, Cause> {
        let deltas = message.array("tool_calls");
        let function = message.json("function_call").and_then(Fields::parse);
        let mut dropped = Calls::default();
        let calls = if self.tools_allowed { &mut self.calls } else { &mut dropped };
        let mut bytes = 0_usize;
        for delta in deltas.into_iter().filter_map(Fields::parse) {
            bytes = bytes.saturating_add(calls.take(part(&delta, &delta.object("function")))?);
        }
        if let Some(function) = function {
            bytes = bytes.saturating_add(calls.take(part(&Fields::default(), &function))?);
        }
        Ok(bytes)
    }

    fn usage(&mut self, claim: ReportedUsage, events: &mut Vec<Event>) {
        let later = usage::later(self.usage, claim);
        if later != self.usage {
            self.usage = later;
            events.push(Event::Usage(later));
        }
    }
}

/// An error in whatever form: in a field of its own, or flat in place of an answer.
fn is_error(chunk: &Fields<'_>) -> bool {
    let named = chunk.json("error").is_some_and(|it| !matches!(it, "{}" | "\"\"" | "false"));
    let kind = |name| chunk.text(name).is_some_and(|it| it == "error");
    let no_answer = chunk.json("choices").is_none() && chunk.json("usage").is_none();
    let flat = ["detail", "message"].iter().any(|it| chunk.json(it).is_some());
    named || kind("object") || kind("type") || (no_answer && flat)
}

/// A delta of a call, or a whole one. The older form has neither index nor id.
fn part(delta: &Fields<'_>, function: &Fields<'_>) -> Part {
    Part {
        index: delta.number("index"),
        id: delta.text("id").filter(|it| !it.is_empty()),
        name: function.text("name").unwrap_or_default(),
        arguments: arguments(function),
    }
}

/// The arguments as text, whether they come as text or as an object.
fn arguments(function: &Fields<'_>) -> String {
    let Some(json) = function.json("arguments") else { return String::new() };
    fields::text(json).unwrap_or_else(|| json.to_owned())
}

fn push_text(text: String, events: &mut Vec<Event>) {
    if !text.is_empty() {
        events.push(Event::Text(text));
    }
}

/// Bytes of reasoning. Some vendors say the same in two fields.
fn reasoning(message: &Fields<'_>) -> usize {
    let length = |name| message.text(name).map_or(0, |it| it.len());
    length("reasoning_content").max(length("reasoning"))
}

/// The text of a content, be it text or parts; `None` if it cannot be read. Parts
/// that think count as hidden.
fn content_text(json: &str, hidden: &mut usize) -> Option<String> {
    if !json.starts_with('[') {
        return fields::text(json);
    }
    let mut all = String::new();
    for part in fields::members(json) {
        if let Some(text) = fields::text(part) {
            all.push_str(&text);
            continue;
        }
        let part = Fields::parse(part)?;
        match part.text("text") {
            Some(text) => all.push_str(&text),
            None => *hidden = hidden.saturating_add(part.json("thinking").map_or(0, str::len)),
        }
    }
    Some(all)
}
