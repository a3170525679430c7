//! From the bytes of an answer to its events.

use std::{collections::VecDeque, pin::Pin, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream, stream::BoxStream};
use tokio::time::Sleep;

use super::{
    Cause, Error, Event, Events,
    fields::{self, Fields},
    sse::{Decoder, Frame, LINE_BYTES_MAX},
};

/// How long after the finish reason the usage may take. Some servers keep the
/// connection open after their last word.
const USAGE_GRACE: Duration = Duration::from_secs(3);

/// An answer on its way, in some dialect.
pub(super) trait Assembly: Send + 'static {
    /// Whether the model said how it ended: nothing but the usage can follow.
    fn is_finished(&self) -> bool;

    /// Takes the data of one event. What came before an error stands.
    fn chunk(&mut self, json: &str, events: &mut Vec<Event>) -> Result<Flow, Cause>;

    /// Takes a whole answer that came at once.
    fn document(&mut self, json: &str, events: &mut Vec<Event>) -> Result<(), Cause>;

    /// The end. `complete` is the vendor's word that nothing is missing, which stands
    /// in for a finish reason that never came. Nothing comes of an answer that broke
    /// off.
    fn end(self, complete: bool) -> (Vec<Event>, Option<Cause>);
}

/// Whether anything may follow an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// Something may.
    On,
    /// It was the last one.
    Ended,
}

/// Reads as the caller asks for events; dropping it closes the connection.
struct Reader<A> {
    body: BoxStream<'static, reqwest::Result<Bytes>>,
    form: Form,
    /// None once the answer has ended.
    answer: Option<A>,
    events: VecDeque<Result<Event, Error>>,
    /// Runs once the model has ended.
    grace: Option<Pin<Box<Sleep>>>,
}

/// What the body turned out to be. Content types are not to be trusted.
enum Form {
    Unknown,
    Document(Vec<u8>),
    /// With whether an event came yet.
    Stream(Decoder, bool),
}

/// The events of a body.
pub(super) fn events(response: reqwest::Response, answer: impl Assembly) -> Events {
    let reader = Reader {
        body: response.bytes_stream().boxed(),
        form: Form::Unknown,
        answer: Some(answer),
        events: VecDeque::new(),
        grace: None,
    };
    stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((event, reader))
    })
    .boxed()
}

// === impl Reader ===

impl<A: Assembly> Reader<A> {
    async fn next(&mut self) -> Option<Result<Event, Error>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let finished = self.answer.as_ref()?.is_finished();
            if finished && self.grace.is_none() {
                self.grace = Some(Box::pin(tokio::time::sleep(USAGE_GRACE)));
            }
            let read = match &mut self.grace {
                None => self.body.next().await,
                // What only keeps the connection alive does not prolong it.
                Some(grace) => tokio::select! {
                    biased;
                    () = grace => None,
                    read = self.body.next() => read,
                },
            };
            match read {
                Some(Ok(bytes)) => self.take(&bytes).unwrap_or_else(|it| self.fail(it)),
                Some(Err(_)) if !finished => self.fail(Cause::Disconnected),
                Some(Err(_)) | None => self.end_of_body().unwrap_or_else(|it| self.fail(it)),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        if matches!(self.form, Form::Unknown) {
            let Some(first) = bytes.iter().find(|it| !it.is_ascii_whitespace()) else {
                return Ok(());
            };
            self.form = match first {
                b'{' | b'[' => Form::Document(Vec::new()),
                _ => Form::Stream(Decoder::default(), false),
            };
        }
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Document(document) => {
                if document.len().saturating_add(bytes.len()) > LINE_BYTES_MAX {
                    return Err(Cause::TooLarge);
                }
                document.extend_from_slice(bytes);
                Ok(())
            }
            Form::Stream(decoder, any) => {
                let mut frames = Vec::new();
                let fed = decoder.feed(bytes, &mut frames);
                *any |= !frames.is_empty();
                frames.iter().try_for_each(|it| self.frame(it))?;
                fed
            }
        }
    }

    fn frame(&mut self, frame: &Frame) -> Result<(), Cause> {
        if frame.error {
            return Err(Cause::ErrorFrame);
        }
        let data = frame.data.trim();
        // Some vendors leave out the blank line between two events.
        if data.contains('\n') && Fields::parse(data).is_none() {
            return data.lines().try_for_each(|it| self.data(it.trim()));
        }
        self.data(data)
    }

    fn data(&mut self, data: &str) -> Result<(), Cause> {
        let Some(answer) = &mut self.answer else { return Ok(()) };
        match data {
            "[DONE]" => self.end(true),
            "" | "null" => {}
            _ => {
                let mut events = Vec::new();
                let taken = answer.chunk(data, &mut events);
                self.events.extend(events.into_iter().map(Ok));
                if taken? == Flow::Ended {
                    self.end(true);
                }
            }
        }
        Ok(())
    }

    fn end_of_body(&mut self) -> Result<(), Cause> {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Unknown => self.end(false),
            Form::Document(document) => {
                self.document(&document)?;
            }
            Form::Stream(decoder, mut any) => {
                // A last event that is cut short is as good as none.
                if let Ok(Some(last)) = decoder.finish() {
                    any = true;
                    match self.frame(&last) {
                        Ok(()) | Err(Cause::Malformed) => {}
                        it => it?,
                    }
                }
                if !any {
                    return Err(Cause::Malformed);
                }
                self.end(false);
            }
        }
        Ok(())
    }

    /// A whole answer at once. Some vendors wrap an error into an array.
    fn document(&mut self, document: &[u8]) -> Result<(), Cause> {
        let document = std::str::from_utf8(document).map_err(|_| Cause::Malformed)?;
        let document = fields::members(document).first().copied().unwrap_or(document);
        let Some(answer) = &mut self.answer else { return Ok(()) };
        let mut events = Vec::new();
        let taken = answer.document(document, &mut events);
        self.events.extend(events.into_iter().map(Ok));
        taken?;
        self.end(true);
        Ok(())
    }

    fn end(&mut self, complete: bool) {
        let Some(answer) = self.answer.take() else { return };
        let (events, fault) = answer.end(complete);
        self.events.extend(events.into_iter().map(Ok));
        self.events.extend(fault.map(|it| Err(it.into())));
        self.body = stream::empty().boxed();
    }

    /// After an error nothing follows.
    fn fail(&mut self, cause: Cause) {
        self.answer = None;
        self.events.push_back(Err(cause.into()));
        self.body = stream::empty().boxed();
    }
}
