//! A bound on the bytes of request bodies that are under way at once, over all
//! connections: large prompts cannot fill the memory of a replica together. Nobody
//! without a key gets a share of it, and a body that stalls gives its share back.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Sleep,
};
use tonic::{Status, body::Body as GrpcBody};
use tower::{Layer, Service};

use super::{auth, peer};
use crate::domain::fault::Fault;

/// Bytes are counted in steps of this size.
const STEP: usize = 1_024;

/// How long a body may be silent.
const STALL: Duration = Duration::from_secs(30);

/// What the paths of our own services begin with; health and reflection need no key.
const OURS: &str = "/bursar.v1.";

/// The bound. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct InFlight(Arc<Semaphore>);

impl InFlight {
    /// So many mebibytes at most.
    pub(super) fn mebibytes(most: u32) -> Self {
        let steps = usize::try_from(most).unwrap_or(1).saturating_mul(1_024 * 1_024 / STEP);
        Self(Arc::new(Semaphore::new(steps.clamp(1, Semaphore::MAX_PERMITS))))
    }
}

impl<S> Layer<S> for InFlight {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, bound: self.clone() }
    }
}

/// A service whose requests' bodies are counted.
#[derive(Debug, Clone)]
pub(super) struct Counted<S> {
    inner: S,
    bound: InFlight,
}

impl<S> Service<http::Request<GrpcBody>> for Counted<S>
where
    S: Service<http::Request<GrpcBody>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<GrpcBody>) -> S::Future {
        peer::tell(&mut request);
        let ours = request.uri().path().starts_with(OURS);
        if ours && !auth::bears_a_key(request.headers()) {
            return self.inner.call(request.map(|_unread| GrpcBody::new(Keyless)));
        }
        let bound = self.bound.clone();
        let taken = Taken::default();
        request.extensions_mut().insert(taken.clone());
        let silent = ours.then(|| Box::pin(tokio::time::sleep(STALL)));
        let counted = |inner| GrpcBody::new(CountedBody { inner, bound, taken, silent });
        self.inner.call(request.map(counted))
    }
}

/// The share of the bound that a request has taken, given back when the last clone
/// goes. A call keeps one for as long as it keeps the request.
#[derive(Debug, Clone, Default)]
pub(super) struct Taken(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Taken {
    fn add(&self, more: OwnedSemaphorePermit) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.as_mut() {
            Some(all) => all.merge(more),
            None => *all = Some(more),
        }
    }
}

/// Stands for the body of a request without a key: whoever reads it is told so.
struct Keyless;

impl Body for Keyless {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(Some(Err(Fault::Unauthenticated.into())))
    }
}

/// Counts what it reads.
struct CountedBody {
    inner: GrpcBody,
    bound: InFlight,
    taken: Taken,
    /// Ends when the body was silent for too long; none where it may be.
    silent: Option<Pin<Box<Sleep>>>,
}

impl CountedBody {
    /// The next frame, unless it is too long in coming.
    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            if let Some(silent) = &mut self.silent {
                silent.set(tokio::time::sleep(STALL));
            }
            return Poll::Ready(frame);
        }
        let over = self.silent.as_mut().is_some_and(|it| it.as_mut().poll(cx).is_ready());
        if over { Poll::Ready(Some(Err(stalled().into()))) } else { Poll::Pending }
    }
}

fn stalled() -> Fault {
    let problem = format!("the request's body was silent for {} seconds", STALL.as_secs());
    Fault::Aborted { reason: "REQUEST_STALLED", problem, retry_after: None }
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = std::task::ready!(self.next(cx));
        if let Some(Ok(frame)) = &frame {
            let bytes = frame.data_ref().map_or(0, Buf::remaining);
            let steps = u32::try_from(bytes.div_ceil(STEP)).unwrap_or(u32::MAX);
            let Ok(permit) = Arc::clone(&self.bound.0).try_acquire_many_owned(steps) else {
                let retry_after = Duration::from_secs(1);
                return Poll::Ready(Some(Err(Fault::Shed { retry_after }.into())));
            };
            self.taken.add(permit);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
