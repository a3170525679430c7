//! Backends, each by itself.

pub(crate) mod anthropic;
mod contract;
mod dialects;
mod reach;
mod refusals;
mod requests;
mod scripted;
mod sse;
mod stop;
mod tool_calls;

use std::sync::Arc;

use bursar::{
    backend::{Backend, Cause, Error, Event, Events, Prompt},
    domain::{
        answer::Finish,
        message::{Block, Message, Role, ToolChoice, ToolUse},
        usage::ReportedUsage,
    },
};
use futures_util::StreamExt;

/// A prompt of one user message.
pub(crate) fn prompt(text: &str) -> Prompt {
    Prompt {
        vendor_model: "some-model".into(),
        system: None,
        messages: vec![Message { role: Role::User, content: vec![Block::Text(text.into())] }],
        max_tokens: 1_000,
        temperature: None,
        stop: Vec::new(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        metadata: Vec::new(),
    }
}

/// All that came of a call.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) texts: Vec<String>,
    pub(crate) hidden: u64,
    pub(crate) tool_uses: Vec<ToolUse>,
    pub(crate) usage: Option<ReportedUsage>,
    pub(crate) finish: Option<Finish>,
    pub(crate) fault: Option<Cause>,
}

impl Seen {
    pub(crate) fn text(&self) -> String {
        self.texts.concat()
    }
}

/// Reads to the end.
pub(crate) async fn drain(mut events: Events) -> Seen {
    let mut seen = Seen::default();
    while let Some(event) = events.next().await {
        assert_eq!(seen.fault, None, "nothing follows an error");
        match event {
            Ok(Event::Text(it)) => {
                assert!(!it.is_empty(), "text is never empty");
                seen.texts.push(it);
            }
            Ok(Event::Hidden(it)) => seen.hidden += it,
            Ok(Event::ToolUse(it)) => seen.tool_uses.push(it),
            Ok(Event::Usage(it)) => seen.usage = Some(it),
            Ok(Event::Finish(it)) => {
                assert_eq!(seen.finish, None, "a model ends once");
                seen.finish = Some(it);
            }
            Err(it) => seen.fault = Some(it.cause),
        }
    }
    seen
}

/// Calls and reads to the end.
pub(crate) async fn call(backend: &dyn Backend, prompt: Prompt) -> Result<Seen, Error> {
    Ok(drain(backend.start(Arc::new(prompt)).await?).await)
}
