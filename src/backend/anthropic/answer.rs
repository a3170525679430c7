//! From Anthropic's events to ours. What is unknown is passed over.

use super::usage::{Came, Counts};
use crate::{
    backend::{
        Cause, Event,
        calls::{Calls, Part},
        fields::Fields,
        finish::{self, Reason},
        reader::{Assembly, Flow},
    },
    domain::{answer::Finish, usage::ReportedUsage},
};

/// An answer on its way.
#[derive(Debug)]
pub(super) struct Answer {
    calls: Calls,
    counts: Counts,
    reported: ReportedUsage,
    came: Came,
    finish: Option<Finish>,
    tools_allowed: bool,
}

// === impl Answer ===

impl Answer {
    /// Begins one. Calls of tools that must not be called are dropped.
    pub(super) fn new(tools_allowed: bool) -> Self {
        Self {
            calls: Calls::default(),
            counts: Counts::default(),
            reported: ReportedUsage::UNKNOWN,
            came: Came::default(),
            finish: None,
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
        let index = chunk.number("index");
        match chunk.text("type").as_deref().unwrap_or("") {
            "message_start" => {
                self.counts.begin(&chunk.object("message").object("usage"));
                self.report(events);
            }
            "content_block_start" => {
                self.block(index, &chunk.object("content_block"), events)?;
            }
            "content_block_delta" => self.delta(index, chunk.json("delta"), events)?,
            "message_delta" => {
                self.counts.go_on(&chunk.object("usage"));
                self.report(events);
                self.stop(&chunk.object("delta"))?;
            }
            "message_stop" => return Ok(Flow::Ended),
            _ => {}
        }
        Ok(Flow::On)
    }

    fn document(&mut self, json: &str, events: &mut Vec<Event>) -> Result<(), Cause> {
        let message = Fields::parse(json).ok_or(Cause::Malformed)?;
        if is_error(&message) {
            return Err(Cause::ErrorFrame);
        }
        if !message.json("content").is_some_and(|it| it.starts_with('[')) {
            return Err(Cause::Malformed);
        }
        let blocks = message.array("content").into_iter().filter_map(Fields::parse);
        for (index, block) in (0..).zip(blocks) {
            self.block(Some(index), &block, events)?;
        }
        self.counts.go_on(&message.object("usage"));
        self.report(events);
        self.stop(&message)
    }

    fn end(self, complete: bool) -> (Vec<Event>, Option<Cause>) {
        match self.finish.or(complete.then_some(Finish::EndTurn)) {
            None => (Vec::new(), None),
            Some(it) => self.calls.end(it),
        }
    }
}

impl Answer {
    /// The beginning of a block, or a whole one.
    fn block(
        &mut self,
        index: Option<i64>,
        block: &Fields<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), Cause> {
        let bytes = |name| block.text(name).map_or(0, |it| it.len());
        match block.text("type").as_deref().unwrap_or("") {
            "text" => self.text(block.text("text"), events),
            "thinking" => {
                self.came.hidden = true;
                hide(bytes("thinking").saturating_add(bytes("signature")), events);
            }
            "redacted_thinking" => {
                self.came.hidden = true;
                hide(bytes("data"), events);
            }
            "tool_use" => {
                let part = Part {
                    index,
                    id: block.text("id").filter(|it| !it.is_empty()),
                    name: block.text("name").unwrap_or_default(),
                    arguments: input(block),
                };
                self.call(part, events)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn delta(
        &mut self,
        index: Option<i64>,
        json: Option<&str>,
        events: &mut Vec<Event>,
    ) -> Result<(), Cause> {
        let Some(json) = json else { return Ok(()) };
        let delta = Fields::parse(json).ok_or(Cause::Malformed)?;
        let bytes = |name| delta.text(name).map_or(0, |it| it.len());
        match delta.text("type").as_deref().unwrap_or("") {
            "text_delta" => self.text(delta.text("text"), events),
            "thinking_delta" => hide(bytes("thinking"), events),
            "signature_delta" => hide(bytes("signature"), events),
            "input_json_delta" => {
                let arguments = delta.text("partial_json").unwrap_or_default();
                self.call(Part { index, arguments, ..Part::default() }, events)?;
            }
            // Whatever it is, it came, and may be paid for.
            _ => hide(json.len(), events),
        }
        Ok(())
    }

    fn text(&mut self, text: Option<String>, events: &mut Vec<Event>) {
        if let Some(text) = text.filter(|it| !it.is_empty()) {
            self.shown(text.len());
            events.push(Event::Text(text));
        }
    }

    fn call(&mut self, part: Part, events: &mut Vec<Event>) -> Result<(), Cause> {
        let mut dropped = Calls::default();
        let calls = if self.tools_allowed { &mut self.calls } else { &mut dropped };
        let brought = calls.take(part)?;
        self.came.calls = u64::try_from(self.calls.count()).unwrap_or(u64::MAX);
        if self.tools_allowed {
            self.shown(brought);
        } else {
            self.came.hidden = true;
        }
        hide(brought, events);
        Ok(())
    }

    fn shown(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.came.visible_bytes = self.came.visible_bytes.saturating_add(bytes);
    }

    fn report(&mut self, events: &mut Vec<Event>) {
        let reported = self.counts.reported(self.came);
        if reported != self.reported {
            self.reported = reported;
            events.push(Event::Usage(reported));
        }
    }

    fn stop(&mut self, of: &Fields<'_>) -> Result<(), Cause> {
        match of.text("stop_reason").map_or(Reason::None, |it| finish::read(&it)) {
            Reason::None => {}
            Reason::Failed => return Err(Cause::ErrorFrame),
            Reason::Ended(it) => self.finish = Some(it),
        }
        Ok(())
    }
}

fn hide(bytes: usize, events: &mut Vec<Event>) {
    if let Ok(bytes @ 1..) = u64::try_from(bytes) {
        events.push(Event::Hidden(bytes));
    }
}

/// The input of a whole call. Where deltas bring it, an empty object stands for it.
fn input(block: &Fields<'_>) -> String {
    let json = block.json("input").unwrap_or("");
    let is_empty = Fields::parse(json).is_some_and(|it| it.is_empty());
    if is_empty { String::new() } else { json.to_owned() }
}

/// An error, by its type or by what it holds.
fn is_error(chunk: &Fields<'_>) -> bool {
    let named = chunk.json("error").is_some_and(|it| !matches!(it, "{}" | "\"\"" | "false"));
    named || chunk.text("type").is_some_and(|it| it == "error")
}
