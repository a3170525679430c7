//! The story of a call, one stage a file. Each stage takes what the one before it
//! made, by value: a wrong order does not compile.

mod admission;
mod answer;
mod attempts;
mod deadline;
mod ending;
pub mod explain;
mod extension;
mod hold;
mod meta;
mod past;
pub mod policy;
mod prompt;
pub mod replay;
mod reply;
mod route;
mod settlement;
pub mod stopped;
mod truth;
mod warnings;
mod watch;

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::{
    budget::Engine,
    catalogue::{Catalogue, Connections, Health},
    clock::Clock,
    domain::{fault::Fault, ids::CallId, outcome::Refusal, request::SamplingRequest},
    envelope::{self, Made},
    identity::HostCaller,
    store::Store,
    telemetry::{Ended, Metrics},
    vault::Vault,
};

use attempts::Next;
pub use extension::{Body, Question};
pub use reply::{Charge, MessageResult, Reply, Routed};
pub use watch::{Progress, Sink};

/// All that a call needs from its surroundings. Cheap to clone.
#[derive(Clone)]
pub struct Broker {
    /// Rows.
    pub store: Store,
    /// Holds and settlements.
    pub engine: Engine,
    /// Time and ids.
    pub clock: Clock,
    /// Models and prices.
    pub catalogue: Catalogue,
    /// Live backends.
    pub connections: Connections,
    /// How backends fare.
    pub health: Health,
    /// What is told of calls in numbers.
    pub metrics: Metrics,
    /// Set when the process begins to end: running answers are cut.
    pub shutdown: CancellationToken,
    /// Calls that run, to be cut when somebody stops their parties.
    pub running: stopped::Running,
    /// Seals questions to users. Without it nobody is asked.
    pub vault: Option<Vault>,
    /// How long such a question may be answered.
    pub question_time: Duration,
}

/// Who asks, how long they wait, and where the answer goes while it comes.
#[derive(Debug)]
pub struct Request {
    /// The host.
    pub caller: HostCaller,
    /// What it asks.
    pub sampling: SamplingRequest,
    /// Aliases that the caller's key narrows the grant to; none: all that it allows.
    pub models: Vec<String>,
    /// Fresh, and known before anything is held: whoever repeats the request finds
    /// by it what became of the call.
    pub call: CallId,
    /// When the caller itself gives up, less a margin for the reply's way back.
    pub deadline: Option<Instant>,
    /// Set when the caller is gone.
    pub gone: CancellationToken,
    /// Gets the answer while it comes.
    pub sink: Sink,
    /// What makes it the same request when it comes again with a user's answer; none
    /// where no answer comes or could come.
    pub body: Option<Body>,
}

/// How a call ends before its last stage.
#[derive(Debug)]
enum End {
    /// In a regular way.
    Reply(Box<Reply>),
    /// With an error.
    Fault(Fault),
}

/// Samples once, inside the envelope.
pub async fn sample(broker: &Broker, request: Request) -> Result<Reply, Fault> {
    let began = broker.clock.monotonic();
    // Of its own size on the heap, and not as often as it is passed on.
    let reply = match Box::pin(story(broker, request)).await {
        Ok(reply) => Ok(reply),
        Err(End::Reply(reply)) => Ok(*reply),
        Err(End::Fault(fault)) => Err(fault),
    };
    let ended = reply.as_ref().map_or(Ended::InError, |it| Ended::So(it.outcome, it.cut));
    broker.metrics.ended(ended, broker.clock.monotonic().saturating_duration_since(began));
    reply
}

async fn story(broker: &Broker, request: Request) -> Result<Reply, End> {
    // Does it bring the answer to a question of ours?
    let (request, answer) = extension::open(broker, request)?;
    // Is it allowed, and what does it stand on?
    let admitted = admission::admit(broker, request, Made::Kept).await?;
    // Has a person given it more?
    let admitted = extension::give(broker, admitted, answer).await?;
    // Which models may take it, and in which order?
    let mut routed = route::choose(broker, admitted).await?;
    loop {
        // Nothing reaches a backend without a durable hold.
        let held = hold::take(broker, routed).await?;
        // From here on every path ends in a settlement.
        let answered = answer::collect(broker, held).await;
        let settled = settlement::settle(broker, answered).await;
        // Once more, while nothing was delivered and there is a way left?
        routed = match attempts::next(broker, settled).await {
            Next::Again(it) => *it,
            Next::Done(it) => return reply::compose(*it),
        };
    }
}

impl From<Fault> for End {
    fn from(it: Fault) -> Self {
        Self::Fault(it)
    }
}

impl From<Refusal> for End {
    fn from(it: Refusal) -> Self {
        Self::Reply(Box::new(Reply::refused(it)))
    }
}

impl From<envelope::Stop> for End {
    fn from(it: envelope::Stop) -> Self {
        match it {
            envelope::Stop::Refused(it) => it.into(),
            envelope::Stop::Fault(it) => it.into(),
        }
    }
}
