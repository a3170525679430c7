//! `SamplingService`: the first-class door.

use std::{pin::Pin, time::Duration};

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Request, Response, Status, metadata::MetadataMap};

use super::{auth, convert, deadline, in_flight::Taken, once, state::Services};
use crate::{
    call::{
        self, Broker, Progress, Sink,
        replay::{Asked, CALL_TIME_MAX, Once, Requests},
    },
    domain::{fault::Fault, ids::TenantId},
    identity::HostCaller,
    proto::{
        self, ContentBlock, CreateMessageRequest, CreateMessageResponse, ExplainRouteRequest,
        ExplainRouteResponse, StreamMessageRequest, StreamMessageResponse, content_block,
        sampling_service_server::SamplingService, stream_message_response::Event,
    },
    tasks::Tasks,
    telemetry::measured,
};

/// Events of a stream that wait for a slow reader.
const EVENTS_WAITING: usize = 16;

/// See the module.
#[derive(Clone)]
pub struct Sampling {
    pub(super) services: Services,
    pub(super) broker: Broker,
    pub(super) requests: Requests,
    pub(super) tasks: Tasks,
}

type Events = Pin<Box<dyn Stream<Item = Result<StreamMessageResponse, Status>> + Send>>;

#[tonic::async_trait]
impl SamplingService for Sampling {
    type StreamMessageStream = Events;

    async fn create_message(
        &self,
        request: Request<CreateMessageRequest>,
    ) -> Result<Response<CreateMessageResponse>, Status> {
        let (metadata, extensions, body) = request.into_parts();
        let read = self.read(&metadata, body, Sink::NONE);
        let (read, own) = measured(&self.broker.clock, read).await;
        let (request, asked, _gone) = read?;
        let reply = self
            .start((request, own), asked, extensions.get().cloned())?
            .await
            .map_err(|_| Fault::Internal)??;
        Ok(Response::new(reply.into_inner()))
    }

    async fn stream_message(
        &self,
        request: Request<StreamMessageRequest>,
    ) -> Result<Response<Events>, Status> {
        let (metadata, extensions, body) = request.into_parts();
        let body = body.request.ok_or_else(|| Fault::invalid("request", "is required"))?;
        let (sender, receiver) = mpsc::channel(EVENTS_WAITING);
        let read = self.read(&metadata, body, Sink::new(sender));
        let (read, own) = measured(&self.broker.clock, read).await;
        let (request, asked, gone) = read?;
        let tenant = request.caller.tenant;
        let reply = self.start((request, own), asked, extensions.get().cloned())?;
        let progress = ReceiverStream::new(receiver).map(move |it| Ok(progress(it, tenant)));
        let done = stream::once(async move {
            // Held until the end: dropping the stream is what tells that the reader is gone.
            let _gone = gone;
            let reply = reply.await.map_err(|_| Fault::Internal)??;
            Ok::<_, Status>(stream::iter(last_events(reply).map(Ok)))
        })
        .try_flatten();
        Ok(Response::new(Box::pin(progress.chain(done))))
    }

    async fn explain_route(
        &self,
        request: Request<ExplainRouteRequest>,
    ) -> Result<Response<ExplainRouteResponse>, Status> {
        let (metadata, _, body) = request.into_parts();
        let body = body.request.ok_or_else(|| Fault::invalid("request", "is required"))?;
        let (request, _, _gone) = self.read(&metadata, body, Sink::NONE).await?;
        let (tenant, currency) = (request.caller.tenant, request.caller.currency);
        let explained = call::explain::explain(&self.broker, request).await?;
        Ok(Response::new(convert::reply::explained(explained, tenant, currency)))
    }
}

type Answer = oneshot::Receiver<Result<Once<CreateMessageResponse>, Fault>>;

impl Sampling {
    /// Who asks, and what. The guard says that the caller is gone when it is dropped.
    async fn read(
        &self,
        metadata: &MetadataMap,
        mut body: CreateMessageRequest,
        sink: Sink,
    ) -> Result<(call::Request, Option<Asked>, DropGuard), Status> {
        let caller: HostCaller = auth::right(&self.services, metadata).await?;
        auth::parties_agree(metadata, &body.user, &body.server)?;
        auth::mcp_agrees(metadata, &body)?;
        let identified = once::identified(&mut body);
        let same = once::body(&mut body, identified.as_ref());
        let sampling = convert::request::sampling_request(body)?;
        self.services.shed.server(caller.tenant, &sampling.server)?;
        let gone = CancellationToken::new();
        let guard = gone.clone().drop_guard();
        let deadline = deadline::of(metadata, &self.services.clock);
        let clock = &self.services.clock;
        let call = clock.id();
        let asked = identified.map(|(id, asks)| {
            let until = deadline.unwrap_or_else(|| clock.monotonic() + CALL_TIME_MAX);
            Asked::new(&caller, (&id, &asks), call, (until, gone.clone()))
        });
        let gone = asked.as_ref().map_or(gone, Asked::forsaken);
        let models = Vec::new();
        let body = same;
        let request = call::Request { caller, sampling, models, call, deadline, gone, sink, body };
        Ok((request, asked, guard))
    }

    /// Runs the call in a task of its own, which outlives a caller that goes away:
    /// its hold has to be settled all the same. What it takes of its own adds to what
    /// reading the request took.
    fn start(
        &self,
        (request, read): (call::Request, Duration),
        asked: Option<Asked>,
        taken: Option<Taken>,
    ) -> Result<Answer, Fault> {
        let (sender, answer) = oneshot::channel();
        let (broker, requests) = (self.broker.clone(), self.requests.clone());
        let accepted = self.tasks.spawn(async move {
            let (tenant, currency) = (request.caller.tenant, request.caller.currency);
            let work = Box::pin(async {
                let reply = call::sample(&broker, request).await?;
                Ok(convert::reply::to_wire(reply, tenant, currency))
            });
            let once = requests.once(asked.as_ref(), work);
            let (reply, own) = measured(&broker.clock, once).await;
            broker.metrics.own(read.saturating_add(own));
            // The request's bytes count as in flight until here.
            drop(taken);
            // A caller that is gone misses the reply; the ledger has it.
            let _ = sender.send(reply);
        });
        if accepted { Ok(answer) } else { Err(shutting_down()) }
    }
}

pub(crate) fn shutting_down() -> Fault {
    Fault::Unavailable {
        reason: "SHUTTING_DOWN",
        problem: "this replica is shutting down; try another".to_owned(),
        retry_after: Some(Duration::from_secs(1)),
    }
}

fn progress(it: Progress, tenant: TenantId) -> StreamMessageResponse {
    let event = match it {
        Progress::Started { call, attempt, envelope, max_tokens, model: _ } => {
            Event::Started(proto::Started {
                call: call.to_string(),
                envelope: convert::name::format(tenant, &envelope),
                max_tokens: i64::try_from(max_tokens).unwrap_or(i64::MAX),
                attempt: i32::from(attempt),
            })
        }
        Progress::Text(text) => Event::Text(proto::TextDelta { text }),
    };
    StreamMessageResponse { event: Some(event) }
}

/// What ends a stream: the reply, and before a repeated one its text, which nobody has
/// shown yet.
fn last_events(reply: Once<CreateMessageResponse>) -> impl Iterator<Item = StreamMessageResponse> {
    let (reply, text) = match reply {
        Once::New(it) => (it, String::new()),
        Once::Again(it) => {
            let text = it.result.iter().flat_map(|it| &it.content).filter_map(text_of).collect();
            (it, text)
        }
    };
    let text = Some(text).filter(|it: &String| !it.is_empty());
    let text = text.map(|text| Event::Text(proto::TextDelta { text }));
    let events = text.into_iter().chain([Event::Done(reply)]);
    events.map(|event| StreamMessageResponse { event: Some(event) })
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    match &block.block {
        Some(content_block::Block::Text(it)) => Some(&it.text),
        Some(_) | None => None,
    }
}
