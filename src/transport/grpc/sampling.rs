//! `SamplingService`: the first-class door.

use std::{pin::Pin, time::Duration};

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Request, Response, Status, metadata::MetadataMap};

use super::{auth, convert, deadline, in_flight::Taken, state::Services};
use crate::{
    call::{self, Broker, Progress, Reply, Sink},
    domain::{fault::Fault, ids::TenantId},
    identity::HostCaller,
    proto::{
        self, CreateMessageRequest, CreateMessageResponse, StreamMessageRequest,
        StreamMessageResponse, sampling_service_server::SamplingService,
        stream_message_response::Event,
    },
    tasks::Tasks,
};

/// Events of a stream that wait for a slow reader.
const EVENTS_WAITING: usize = 16;

/// See the module.
#[derive(Clone)]
pub struct Sampling {
    pub(super) services: Services,
    pub(super) broker: Broker,
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
        let (caller, request, _gone) = self.read(&metadata, body, Sink::NONE).await?;
        let reply = self
            .start(request, extensions.get().cloned())?
            .await
            .map_err(|_| Fault::Internal)??;
        Ok(Response::new(convert::reply::to_wire(reply, caller.tenant, caller.currency)))
    }

    async fn stream_message(
        &self,
        request: Request<StreamMessageRequest>,
    ) -> Result<Response<Events>, Status> {
        let (metadata, extensions, body) = request.into_parts();
        let body = body.request.ok_or_else(|| Fault::invalid("request", "is required"))?;
        let (sender, receiver) = mpsc::channel(EVENTS_WAITING);
        let (caller, request, gone) = self.read(&metadata, body, Sink::new(sender)).await?;
        let reply = self.start(request, extensions.get().cloned())?;
        let tenant = caller.tenant;
        let progress = ReceiverStream::new(receiver).map(move |it| Ok(progress(it, tenant)));
        let done = stream::once(async move {
            // Held until the end: dropping the stream is what tells that the reader is gone.
            let _gone = gone;
            let reply = reply.await.map_err(|_| Fault::Internal)??;
            let reply = convert::reply::to_wire(reply, caller.tenant, caller.currency);
            Ok(StreamMessageResponse { event: Some(Event::Done(reply)) })
        });
        Ok(Response::new(Box::pin(progress.chain(done))))
    }
}

type Answer = oneshot::Receiver<Result<Reply, Fault>>;

impl Sampling {
    /// Who asks, and what. The guard says that the caller is gone when it is dropped.
    async fn read(
        &self,
        metadata: &MetadataMap,
        body: CreateMessageRequest,
        sink: Sink,
    ) -> Result<(HostCaller, call::Request, DropGuard), Status> {
        let caller: HostCaller = auth::right(&self.services, metadata).await?;
        auth::parties_agree(metadata, &body.user, &body.server)?;
        let sampling = convert::request::sampling_request(body)?;
        self.services.shed.server(caller.tenant, &sampling.server)?;
        let gone = CancellationToken::new();
        let guard = gone.clone().drop_guard();
        let deadline = deadline::of(metadata, &self.services.clock);
        let request = call::Request { caller: caller.clone(), sampling, deadline, gone, sink };
        Ok((caller, request, guard))
    }

    /// Runs the call in a task of its own, which outlives a caller that goes away:
    /// its hold has to be settled all the same.
    fn start(&self, request: call::Request, taken: Option<Taken>) -> Result<Answer, Fault> {
        let (sender, answer) = oneshot::channel();
        let broker = self.broker.clone();
        let accepted = self.tasks.spawn(async move {
            let reply = call::sample(&broker, request).await;
            // The request's bytes count as in flight until here.
            drop(taken);
            // A caller that is gone misses the reply; the ledger has it.
            let _ = sender.send(reply);
        });
        if accepted { Ok(answer) } else { Err(shutting_down()) }
    }
}

fn shutting_down() -> Fault {
    Fault::Unavailable {
        reason: "SHUTTING_DOWN",
        problem: "this replica is shutting down; try another".to_owned(),
        retry_after: Some(Duration::from_secs(1)),
    }
}

fn progress(it: Progress, tenant: TenantId) -> StreamMessageResponse {
    let event = match it {
        Progress::Started { call, envelope, max_tokens } => Event::Started(proto::Started {
            call: call.to_string(),
            envelope: convert::name::format(tenant, &envelope),
            max_tokens: i64::try_from(max_tokens).unwrap_or(i64::MAX),
        }),
        Progress::Text(text) => Event::Text(proto::TextDelta { text }),
    };
    StreamMessageResponse { event: Some(event) }
}
