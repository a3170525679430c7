//! An answer while it comes, as server-sent events. A slow reader holds the model back; one
//! that goes away cuts it.

use std::convert::Infallible;

use axum::{
    body::Body,
    http::{
        HeaderValue,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::Response,
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::{
    Called, Voice,
    answer::{self, Frame},
    problem::Problem,
};
use crate::{call::Progress, transport::http::run::Started};

/// A stream that has begun.
struct Live {
    progress: mpsc::Receiver<Progress>,
    started: Started,
    voice: Voice,
    frame: Frame,
    /// Bytes of text sent so far.
    sent: usize,
    /// Dropping it is what tells that the reader is gone.
    _gone: DropGuard,
}

/// Waits for the first word, so that what could not be begun is an error and no stream, and
/// then goes on as it comes.
pub(super) async fn begin(
    called: Called,
    mut progress: mpsc::Receiver<Progress>,
    include_usage: bool,
) -> Result<Response, Problem> {
    let Called { started, voice, created, gone } = called;
    let (mut model, mut first) = (String::new(), None);
    while first.is_none() {
        match progress.recv().await {
            Some(Progress::Started { model: it, .. }) => model = it,
            Some(Progress::Text(it)) => first = Some(it),
            None => break,
        }
    }
    let id = answer::id(voice.call);
    let frame = Frame { id, created, model, include_usage };
    let call = voice.call;
    let body = match first {
        // Nothing was shown: only tool calls, an answer of an earlier request, or no answer.
        None => {
            let reply = voice.delivered(started.reply().await?)?;
            let model = answer::parts(&reply, voice.one_tool_call).model.to_owned();
            let frame = Frame { model, ..frame };
            let whole = frame.head() + &frame.tail(&reply, (0, voice.one_tool_call));
            Body::from(whole)
        }
        Some(text) => {
            let begun = frame.head() + &frame.text(&text);
            let sent = text.len();
            let live = Live { progress, started, voice, frame, sent, _gone: gone };
            let begun = stream::once(std::future::ready(Some(begun)));
            let all = begun.chain(stream::unfold(Some(live), next).map(Some));
            Body::from_stream(all.filter_map(|it| {
                std::future::ready(it.map(|it| Ok::<_, Infallible>(Bytes::from(it))))
            }))
        }
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that gather answers by default let this one through as it comes.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    super::name_call(headers, call);
    Ok(response)
}

async fn next(live: Option<Live>) -> Option<(String, Option<Live>)> {
    let mut live = live?;
    loop {
        match live.progress.recv().await {
            Some(Progress::Text(it)) => {
                live.sent = live.sent.saturating_add(it.len());
                return Some((live.frame.text(&it), Some(live)));
            }
            Some(Progress::Started { .. }) => {}
            None => return Some((live.end().await, None)),
        }
    }
}

impl Live {
    /// The last words. An error can only be said where the answer would have gone on.
    async fn end(self) -> String {
        let Self { started, voice, frame, sent, _gone, .. } = self;
        let reply = match started.reply().await {
            Ok(reply) => voice.delivered(reply),
            Err(it) => Err(it.into()),
        };
        match reply {
            Ok(reply) => frame.tail(&reply, (sent, voice.one_tool_call)),
            Err(problem) => answer::event(&problem.body()),
        }
    }
}
