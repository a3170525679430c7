//! The answer, as far as time, money and the backend let it come.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::StreamExt;

use super::{
    Broker,
    hold::{Attempt, HeldCall},
    prompt::prompt,
    watch::{Progress, Sink},
};
use crate::{
    backend::{self, Event, Events},
    domain::{
        answer::{Answer, Finish},
        message::ToolChoice,
        outcome::Cut,
        stop::Matcher,
        usage::ReportedUsage,
    },
};

/// How long the backend's last words are waited for once the model has ended.
const AFTERWORD: Duration = Duration::from_secs(2);

/// How long a slow reader is waited for once the answer has ended: the settlement
/// and the caller's own deadline come next.
const REST_PATIENCE: Duration = Duration::from_millis(100);

const DROPPED_WARNING: &str = "the model called a tool that was not on offer; the call was dropped";

/// Text of one answer at most, in bytes; a backend that sends more is broken.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A call whose answer has come, whole or not.
pub(super) struct Answered {
    pub(super) held: HeldCall,
    pub(super) answer: Answer,
    /// What the backend did wrong, where that ended it.
    pub(super) failure: Option<backend::Error>,
    /// Whether anything was sent to the backend.
    pub(super) dispatched: bool,
}

pub(super) async fn collect(broker: &Broker, mut held: HeldCall) -> Answered {
    let mut collector = Collector::new(&held);
    let cut = collector.run(broker, &held).await;
    let Collector { mut answer, matcher, failure, dispatched, has_dropped, .. } = collector;
    if answer.finish != Some(Finish::StopSequence) {
        let rest = matcher.finish();
        if !rest.is_empty() {
            answer.text.push_str(&rest);
            // A reader that is gone or asleep misses only what the reply has as well.
            let shown = held.attempt.admitted.request.sink.send(Progress::Text(rest));
            let _ = tokio::time::timeout(REST_PATIENCE, shown).await;
        }
    }
    let warnings = &mut held.attempt.admitted.request.sampling.warnings;
    if has_dropped && !warnings.iter().any(|it| it == DROPPED_WARNING) {
        warnings.push(DROPPED_WARNING.to_owned());
    }
    // What was finished was not cut, whatever happened afterwards, unless the end
    // was that of a clamp.
    let clamped = held.attempt.clamped_by.is_some() && answer.finish == Some(Finish::MaxTokens);
    answer.cut = if clamped { Some(Cut::Budget) } else { cut.filter(|_| answer.finish.is_none()) };
    Answered { held, answer, failure, dispatched }
}

/// What is there so far.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the stream")]
struct Collector {
    answer: Answer,
    matcher: Matcher,
    failure: Option<backend::Error>,
    /// Pieces of text so far; a piece is at least one token.
    pieces: u64,
    tokens_max: u64,
    /// The tools that the model may call.
    tools: Vec<String>,
    /// It called another.
    has_dropped: bool,
    dispatched: bool,
    /// One of the request's stop texts was found here.
    stopped: bool,
    /// The backend has counted more tokens than were held.
    is_beyond: bool,
}

impl Collector {
    fn new(held: &HeldCall) -> Self {
        let Attempt { admitted, answer_tokens, is_landing, .. } = &held.attempt;
        let params = &admitted.request.sampling.params;
        Self {
            answer: Answer {
                text: String::new(),
                tool_uses: Vec::new(),
                finish: None,
                cut: None,
                usage: ReportedUsage::UNKNOWN,
                is_final: false,
                received_bytes: 0,
                visible_bytes: 0,
            },
            matcher: Matcher::new(&params.stop),
            failure: None,
            pieces: 0,
            tokens_max: *answer_tokens,
            tools: match params.tool_choice {
                Some(ToolChoice::None) => Vec::new(),
                _ if *is_landing => Vec::new(),
                None | Some(ToolChoice::Auto | ToolChoice::Required) => {
                    params.tools.iter().map(|it| it.name.clone()).collect()
                }
            },
            has_dropped: false,
            dispatched: false,
            stopped: false,
            is_beyond: false,
        }
    }

    /// Asks the backend and takes what it says until something ends it.
    async fn run(&mut self, broker: &Broker, held: &HeldCall) -> Option<Cut> {
        let Attempt { admitted, way, past, answer_tokens, is_landing, .. } = &held.attempt;
        let request = &admitted.request;
        let started = Progress::Started {
            call: request.call,
            attempt: past.attempt(),
            envelope: admitted.standing.envelope.life.id,
            max_tokens: *answer_tokens,
            model: way.shown(admitted.standing.grant.reveal_model).to_owned(),
        };
        if request.sink.send(started).await.is_err() {
            return Some(Cut::ClientGone);
        }
        let prompt = prompt(&request.sampling.params, &way.model, (*answer_tokens, *is_landing));
        // A caller that is gone by now has cost nothing yet.
        if let Err(cut) = within(broker, &held.attempt, None, std::future::ready(())).await {
            return Some(cut);
        }
        broker.health.asked(&broker.clock, way.model.backend, way.model.id);
        self.dispatched = true;
        let start = way.connection.start(Arc::new(prompt));
        let mut events = match within(broker, &held.attempt, None, start).await {
            Ok(Ok(events)) => events,
            Ok(Err(failure)) => return Some(self.fail(failure)),
            Err(cut) => return Some(cut),
        };
        self.read(broker, &held.attempt, &mut events).await
    }

    async fn read(
        &mut self,
        broker: &Broker,
        attempt: &Attempt,
        events: &mut Events,
    ) -> Option<Cut> {
        let idle = attempt.way.connection.profile().idle;
        loop {
            let patience = if self.answer.finish.is_some() { AFTERWORD } else { idle };
            let event = match within(broker, attempt, Some(patience), events.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(failure))) => return Some(self.fail(failure)),
                Ok(None) if self.answer.finish.is_some() => return None,
                Ok(None) => return Some(self.fail(backend::Cause::Disconnected.into())),
                Err(cut) => return Some(cut),
            };
            let text = match self.take(event) {
                Ok(text) => text,
                Err(cut) => return cut,
            };
            if let Some(cut) = show(broker, attempt, text).await {
                return Some(cut);
            }
        }
    }

    /// Takes an event in. Returns the text to show, or what ends the answer.
    fn take(&mut self, event: Event) -> Result<String, Option<Cut>> {
        match event {
            Event::Text(piece) => return self.take_text(&piece),
            Event::Hidden(bytes) => {
                self.answer.received_bytes = self.answer.received_bytes.saturating_add(bytes);
                self.piece()?;
            }
            Event::ToolUse(it) => {
                // Its bytes may have been counted already while they came.
                let bytes = it.name.len().saturating_add(it.input.as_str().len());
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                let visible = self.answer.visible_bytes.saturating_add(bytes);
                self.answer.visible_bytes = visible;
                self.answer.received_bytes = self.answer.received_bytes.max(visible);
                if self.tools.contains(&it.name) {
                    self.answer.tool_uses.push(it);
                } else {
                    self.has_dropped = true;
                }
            }
            Event::Usage(it) => {
                self.answer.usage = it;
                let output = [it.output, it.reasoning].into_iter().flatten();
                let generated = output.fold(0_i64, i64::saturating_add);
                self.is_beyond = u64::try_from(generated).is_ok_and(|it| it > self.tokens_max);
            }
            Event::Finish(it) => {
                self.answer.is_final = true;
                self.answer.finish = self.answer.finish.take().or(Some(it));
            }
        }
        Ok(String::new())
    }

    fn take_text(&mut self, piece: &str) -> Result<String, Option<Cut>> {
        if self.stopped {
            // The backend does not stop where the request says: close the connection.
            return Err(None);
        }
        self.see(piece.len());
        self.piece()?;
        if self.answer.text.len().saturating_add(piece.len()) > ANSWER_BYTES_MAX {
            return Err(Some(self.fail(backend::Cause::TooLarge.into())));
        }
        let fed = self.matcher.feed(piece);
        self.answer.text.push_str(&fed.text);
        if fed.hit {
            self.answer.finish = Some(Finish::StopSequence);
            self.stopped = true;
        }
        Ok(fed.text)
    }

    /// Counts a piece, seen or hidden. More than was held for: the backend goes on
    /// beyond the hold.
    fn piece(&mut self) -> Result<(), Option<Cut>> {
        self.pieces += 1;
        if self.tokens_seen() > self.tokens_max || self.is_beyond {
            return Err(Some(Cut::Budget));
        }
        Ok(())
    }

    /// Tokens that have come at least, as far as pieces tell: a piece is a token or
    /// more. Only a server that sends single letters has more pieces than tokens; it
    /// shows by their size, and of letters four make a token.
    fn tokens_seen(&self) -> u64 {
        let bytes = self.answer.received_bytes;
        if bytes < self.pieces.saturating_mul(2) { bytes / 4 } else { self.pieces }
    }

    fn see(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.answer.received_bytes = self.answer.received_bytes.saturating_add(bytes);
        self.answer.visible_bytes = self.answer.visible_bytes.saturating_add(bytes);
    }

    fn fail(&mut self, failure: backend::Error) -> Cut {
        if matches!(failure.cause, backend::Cause::Filtered(_)) {
            self.answer.finish = Some(Finish::Refusal);
        }
        self.failure = Some(failure);
        Cut::Backend
    }
}

/// Shows text to whoever watches, for as long as there is time.
async fn show(broker: &Broker, attempt: &Attempt, text: String) -> Option<Cut> {
    if text.is_empty() {
        return None;
    }
    let sink: &Sink = &attempt.admitted.request.sink;
    match within(broker, attempt, None, sink.send(Progress::Text(text))).await {
        Ok(Ok(())) => None,
        Ok(Err(_)) => Some(Cut::ClientGone),
        Err(cut) => Some(cut),
    }
}

/// Waits for `work` until something more urgent ends the call.
pub(super) async fn within<T>(
    broker: &Broker,
    attempt: &Attempt,
    patience: Option<Duration>,
    work: impl Future<Output = T>,
) -> Result<T, Cut> {
    let idle = async {
        match patience {
            Some(time) => broker.clock.sleep(time).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = attempt.admitted.request.gone.cancelled() => Err(Cut::ClientGone),
        () = until(attempt.deadline.at) => Err(Cut::Deadline),
        () = broker.shutdown.cancelled() => Err(Cut::Shutdown),
        () = attempt.admitted.watched.stopped() => Err(Cut::Cancelled),
        it = work => Ok(it),
        () = idle => Err(Cut::Idle),
    }
}

async fn until(at: Instant) {
    tokio::time::sleep_until(at.into()).await;
}
