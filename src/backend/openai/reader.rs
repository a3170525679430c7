//! From the bytes of an answer to its events.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream, stream::BoxStream};

use super::{
    answer::Answer,
    fields::{self, Fields},
    sse::{Decoder, Frame, LINE_BYTES_MAX},
};
use crate::backend::{Cause, Error, Event, Events};

/// How long after the finish reason the usage may take. Some servers keep the
/// connection open after their last word.
const USAGE_GRACE: Duration = Duration::from_secs(3);

/// Reads as the caller asks for events; dropping it closes the connection.
struct Reader {
    body: BoxStream<'static, reqwest::Result<Bytes>>,
    form: Form,
    /// None once the answer has ended.
    answer: Option<Answer>,
    events: VecDeque<Result<Event, Error>>,
}

/// What the body turned out to be. Content types are not to be trusted.
enum Form {
    Unknown,
    Document(Vec<u8>),
    /// With whether an event came yet.
    Stream(Decoder, bool),
}

/// The events of a body.
pub(super) fn events(response: reqwest::Response, tools_allowed: bool) -> Events {
    let reader = Reader {
        body: response.bytes_stream().boxed(),
        form: Form::Unknown,
        answer: Some(Answer::new(tools_allowed)),
        events: VecDeque::new(),
    };
    stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((event, reader))
    })
    .boxed()
}

// === impl Reader ===

impl Reader {
    async fn next(&mut self) -> Option<Result<Event, Error>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let finished = self.answer.as_ref()?.is_finished();
            let grace = if finished { USAGE_GRACE } else { Duration::MAX };
            let read = tokio::time::timeout(grace, self.body.next()).await;
            match read.unwrap_or(None) {
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
                return taken;
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
        self.frame(&Frame { error: false, data: document.to_owned() })?;
        let answered = Fields::parse(document).is_some_and(|it| !it.array("choices").is_empty());
        if !answered {
            return Err(Cause::Malformed);
        }
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
