//! Hosts that ask, and what they were answered.

use std::time::{Duration, Instant};

use bursar::proto::{
    self, CreateMessageRequest, CreateMessageResponse, Outcome,
    envelope_service_client::EnvelopeServiceClient, sampling_service_client::SamplingServiceClient,
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::{Status, transport::Channel};

use crate::call::world::{nanos, signed};

/// How long a host tries again.
const PATIENCE: Duration = Duration::from_secs(40);

/// A host at one replica. Cheap to clone.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) channel: Channel,
    pub(super) key: String,
}

/// What came of many calls.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) complete: usize,
    pub(super) partial: usize,
    pub(super) exhausted: usize,
    /// Errors, in words.
    pub(super) failed: Vec<String>,
    /// Nano-euros that the replies said were charged.
    pub(super) charged: i64,
    /// The longest that one took.
    pub(super) slowest: Duration,
}

impl Host {
    pub(super) async fn call(
        &self,
        request: CreateMessageRequest,
    ) -> Result<CreateMessageResponse, Status> {
        let mut client = SamplingServiceClient::new(self.channel.clone());
        Ok(client.create_message(signed(&self.key, request)).await?.into_inner())
    }

    /// The same, again where the reply says that nothing was lost: on a small machine a
    /// connection may be waited for longer than a request is let wait.
    async fn call_until_answered(
        &self,
        request: CreateMessageRequest,
    ) -> Result<CreateMessageResponse, Status> {
        let began = Instant::now();
        loop {
            match self.call(request.clone()).await {
                Err(it)
                    if it.message().contains("nothing was lost") && began.elapsed() < PATIENCE =>
                {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                other => return other,
            }
        }
    }

    /// A fresh envelope of the demonstration's user.
    pub(super) async fn open(&self, limits: proto::EnvelopeLimits) -> String {
        let request = proto::OpenEnvelopeRequest {
            user: bursar::admin::demo::USER.to_owned(),
            server: bursar::admin::demo::SERVER.to_owned(),
            limits: Some(limits),
            ..Default::default()
        };
        let mut client = EnvelopeServiceClient::new(self.channel.clone());
        client.open_envelope(signed(&self.key, request)).await.unwrap().into_inner().name
    }
}

impl Tally {
    fn count(&mut self, reply: Result<CreateMessageResponse, Status>, took: Duration) {
        self.slowest = self.slowest.max(took);
        match reply {
            Ok(it) => {
                match it.outcome() {
                    Outcome::Complete => self.complete += 1,
                    Outcome::Partial => self.partial += 1,
                    Outcome::Exhausted => self.exhausted += 1,
                    Outcome::Unspecified | Outcome::Refused | Outcome::InputRequired => {
                        self.failed.push(format!("{:?}", it.outcome()));
                    }
                }
                if let Some(charge) = &it.charge {
                    self.charged += nanos(charge.amount.as_ref());
                }
            }
            Err(it) => self.failed.push(format!("{:?}: {}", it.code(), it.message())),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.complete += other.complete;
        self.partial += other.partial;
        self.exhausted += other.exhausted;
        self.failed.extend(other.failed);
        self.charged += other.charged;
        self.slowest = self.slowest.max(other.slowest);
    }

    pub(super) fn answered(&self) -> usize {
        self.complete + self.partial + self.exhausted
    }
}

/// So many calls at once, over all hosts in turn.
pub(super) fn at_once(hosts: &[Host], requests: &[CreateMessageRequest]) -> JoinSet<Tally> {
    let mut set = JoinSet::new();
    for (n, request) in requests.iter().enumerate() {
        let (host, request) = (hosts[n % hosts.len()].clone(), request.clone());
        set.spawn(async move {
            let mut tally = Tally::default();
            let began = Instant::now();
            tally.count(host.call_until_answered(request).await, began.elapsed());
            tally
        });
    }
    set
}

/// Callers that call again and again until they are stopped.
pub(super) struct Load {
    callers: JoinSet<Tally>,
    stop: CancellationToken,
}

impl Load {
    pub(super) fn start(hosts: &[Host], callers: usize, requests: &[CreateMessageRequest]) -> Self {
        let (mut set, stop) = (JoinSet::new(), CancellationToken::new());
        for n in 0..callers {
            let host = hosts[n % hosts.len()].clone();
            let (requests, stop) = (requests.to_vec(), stop.clone());
            set.spawn(async move {
                let mut tally = Tally::default();
                for request in requests.iter().cycle().skip(n) {
                    if stop.is_cancelled() {
                        break;
                    }
                    let (began, before) = (Instant::now(), tally.failed.len());
                    let reply = host.call_until_answered(request.clone()).await;
                    tally.count(reply, began.elapsed());
                    if tally.failed.len() > before {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
                tally
            });
        }
        Self { callers: set, stop }
    }

    /// Lets the last calls end.
    pub(super) async fn stop(self) -> Tally {
        self.stop.cancel();
        sum(self.callers).await
    }
}

pub(super) async fn sum(set: JoinSet<Tally>) -> Tally {
    let mut all = Tally::default();
    for it in set.join_all().await {
        all.add(it);
    }
    all
}
