//! A host that calls the way the gRPC door does, from the bytes of a request to the
//! bytes of its reply.

use std::time::{Duration, Instant};

use bursar::{
    app::dev::Dev,
    call::{self, Broker, Progress, Sink},
    catalogue::Health,
    identity::{self, HostCaller},
    proto::{self, content_block::Block},
    telemetry::{Metrics, measured},
    transport::grpc::convert,
};
use prost::Message;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::standin;

/// Calls that share an envelope: as many as the demonstration's grant gives one.
const CALLS_AN_ENVELOPE: usize = 20;

/// A prompt of about a kilobyte, as sub-agents send them.
const PROMPT_WORDS: usize = 200;

pub(crate) struct Caller {
    broker: Broker,
    key: String,
    user: String,
    server: String,
}

impl Caller {
    pub(crate) fn new(dev: &Dev) -> Self {
        let services = &dev.running.services;
        let broker = Broker {
            store: services.store.clone(),
            engine: services.engine.clone(),
            clock: services.clock.clone(),
            catalogue: services.catalogue.clone(),
            connections: services.connections.clone(),
            health: Health::default(),
            metrics: Metrics::new().unwrap(),
            shutdown: CancellationToken::new(),
            running: call::stopped::Running::default(),
            vault: None,
            question_time: Duration::ZERO,
        };
        let ready = dev.ready();
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        Self { broker, key: text("host_key"), user: text("user"), server: text("server") }
    }

    /// One call. Returns its own time.
    pub(crate) async fn call(&self, n: usize, deltas: usize) -> Duration {
        let conversation = format!("own-{}", n / CALLS_AN_ENVELOPE);
        let request = self.request(conversation, deltas);
        let work = Box::pin(self.through(&request, Sink::NONE));
        let (reply, own) = measured(&self.broker.clock, work).await;
        let reply = proto::CreateMessageResponse::decode(reply.as_slice()).unwrap();
        assert_eq!(reply.outcome(), proto::Outcome::Complete, "{reply:?}");
        own
    }

    /// One long answer, read as it comes. Returns the time from its first delta to its last.
    pub(crate) async fn stream(&self, n: usize, deltas: usize) -> Duration {
        let request = self.request(format!("stream-{n}"), deltas);
        let (sender, mut receiver) = mpsc::channel(16);
        let reading = tokio::spawn(async move {
            let (mut first, mut pieces, mut bytes) = (None, 0, 0);
            while let Some(it) = receiver.recv().await {
                if let Progress::Text(text) = it {
                    first.get_or_insert_with(Instant::now);
                    (pieces, bytes) = (pieces + 1, bytes + text.len());
                }
            }
            (first.unwrap().elapsed(), pieces, bytes)
        });
        Box::pin(self.through(&request, Sink::new(sender))).await;
        let (took, pieces, bytes) = reading.await.unwrap();
        assert_eq!((pieces, bytes), (deltas, deltas * 5));
        took
    }

    /// From bytes to bytes.
    async fn through(&self, request: &[u8], sink: Sink) -> Vec<u8> {
        let body = proto::CreateMessageRequest::decode(request).unwrap();
        let caller = identity::authenticate(&self.broker.store, Some(&self.key)).await.unwrap();
        let caller = HostCaller::try_from(caller).unwrap();
        let (tenant, currency) = (caller.tenant, caller.currency);
        let request = call::Request {
            caller,
            sampling: convert::request::sampling_request(body).unwrap(),
            models: Vec::new(),
            call: self.broker.clock.id(),
            deadline: None,
            gone: CancellationToken::new(),
            sink,
            body: None,
        };
        let reply = call::sample(&self.broker, request).await.unwrap();
        convert::reply::to_wire(reply, tenant, currency).encode_to_vec()
    }

    fn request(&self, conversation: String, deltas: usize) -> Vec<u8> {
        let text = format!("{}{deltas}", "word ".repeat(PROMPT_WORDS));
        let block = Block::Text(proto::TextContent { text });
        let message = proto::SamplingMessage {
            role: proto::Role::User.into(),
            content: vec![proto::ContentBlock { block: Some(block) }],
            ..Default::default()
        };
        let hint = proto::ModelHint { name: standin::MODEL.to_owned() };
        let preferences = proto::ModelPreferences { hints: vec![hint], ..Default::default() };
        let params = proto::SamplingParams {
            messages: vec![message],
            model_preferences: Some(preferences),
            max_tokens: Some(i64::try_from(deltas).unwrap() + 1_000),
            ..Default::default()
        };
        let request = proto::CreateMessageRequest {
            user: self.user.clone(),
            server: self.server.clone(),
            conversation,
            params: Some(params),
            ..Default::default()
        };
        request.encode_to_vec()
    }
}
