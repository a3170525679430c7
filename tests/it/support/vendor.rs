//! A fake vendor: a server on loopback that answers as it is told, chunk by chunk.

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use futures_util::{Stream, StreamExt, stream};
use tokio::{net::TcpListener, task::JoinHandle};

/// What the vendor answers to every request.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) chunks: Vec<Bytes>,
    pub(crate) after: After,
}

/// What comes after the last chunk.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum After {
    /// The proper end.
    End,
    /// The connection breaks.
    Break,
    /// Silence.
    Stall,
    /// The last chunk again and again.
    Repeat,
}

/// A request as it came.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A running vendor; it stops when dropped.
pub(crate) struct Vendor {
    pub(crate) base_url: String,
    told: Arc<Told>,
    server: JoinHandle<()>,
}

struct Told {
    /// One a request, the last one again and again.
    answers: Vec<Answer>,
    asked: Mutex<Vec<Asked>>,
    streaming: AtomicUsize,
}

impl Answer {
    pub(crate) fn sse(chunks: &[&str]) -> Self {
        let chunks = chunks.iter().map(|it| Bytes::copy_from_slice(it.as_bytes())).collect();
        let headers = vec![("content-type", "text/event-stream".to_owned())];
        Self { status: 200, headers, chunks, after: After::End }
    }

    /// Events of these data, and `[DONE]`.
    pub(crate) fn events(data: &[&str]) -> Self {
        let frames: Vec<_> =
            data.iter().chain([&"[DONE]"]).map(|it| format!("data: {it}\n\n")).collect();
        Self::sse(&frames.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub(crate) fn json(status: u16, body: &str) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self {
            status,
            headers,
            chunks: vec![Bytes::copy_from_slice(body.as_bytes())],
            after: After::End,
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn then(mut self, after: After) -> Self {
        self.after = after;
        self
    }
}

impl Vendor {
    pub(crate) async fn answering(answer: Answer) -> Self {
        Self::answering_in_turn(vec![answer]).await
    }

    /// The first answer to the first request, and so on; the last one to all others.
    pub(crate) async fn answering_in_turn(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let told =
            Arc::new(Told { answers, asked: Mutex::default(), streaming: AtomicUsize::new(0) });
        let app = Router::new().fallback(reply).with_state(Arc::clone(&told));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { base_url, told, server }
    }

    /// The only request so far.
    pub(crate) fn asked(&self) -> Asked {
        let asked = self.told.asked.lock().unwrap();
        assert_eq!(asked.len(), 1, "one request was sent");
        asked[0].clone()
    }

    /// The bodies of all requests so far.
    pub(crate) fn bodies(&self) -> Vec<Bytes> {
        self.told.asked.lock().unwrap().iter().map(|it| it.body.clone()).collect()
    }

    /// Whether no request came so far.
    pub(crate) fn is_unasked(&self) -> bool {
        self.told.asked.lock().unwrap().is_empty()
    }

    /// How many answers are being sent at the moment.
    pub(crate) fn streaming(&self) -> usize {
        self.told.streaming.load(Ordering::SeqCst)
    }

    /// Waits at most a second until nobody listens.
    pub(crate) async fn is_left_alone(&self) -> bool {
        for _ in 0..100 {
            if self.streaming() == 0 {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }
}

impl Drop for Vendor {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn reply(
    State(told): State<Arc<Told>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let turn = {
        let mut asked = told.asked.lock().unwrap();
        asked.push(Asked { uri, headers, body });
        asked.len().min(told.answers.len()) - 1
    };
    let answer = told.answers[turn].clone();
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    response.body(Body::from_stream(stream_of(answer, Streaming::new(told)))).unwrap()
}

/// Counts while it lives.
struct Streaming(Arc<Told>);

impl Streaming {
    fn new(told: Arc<Told>) -> Self {
        told.streaming.fetch_add(1, Ordering::SeqCst);
        Self(told)
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.0.streaming.fetch_sub(1, Ordering::SeqCst);
    }
}

fn stream_of(
    answer: Answer,
    streaming: Streaming,
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static {
    let last = answer.chunks.last().cloned().unwrap_or_default();
    let chunks = stream::iter(answer.chunks).map(Ok::<_, Infallible>).then(|it| async {
        // Each chunk travels by itself.
        tokio::time::sleep(Duration::from_millis(1)).await;
        it
    });
    let after = match answer.after {
        After::End => stream::empty().boxed(),
        After::Break => stream::once(async {
            // The server drops what it has not sent yet.
            tokio::time::sleep(Duration::from_millis(20)).await;
            Err(std::io::Error::other("broken"))
        })
        .boxed(),
        After::Stall => stream::pending().boxed(),
        After::Repeat => stream::repeat(last)
            .then(|it| async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(it)
            })
            .boxed(),
    };
    let chunks = chunks.map(|it| it.map_err(|never| match never {}));
    chunks.chain(after).map(move |it| {
        let _alive = &streaming;
        it
    })
}
