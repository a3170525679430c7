//! The OpenAI-compatible door: chat completions for whoever bears an envelope token. It only
//! translates; the call is the same as of every other door, with the same holds and cuts.

mod answer;
mod body;
mod guard;
mod messages;
mod models;
mod problem;
mod read;
mod running;
mod stream;
mod tools;

use std::time::{Duration, Instant};

use axum::{
    Router,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderValue,
        header::{CONTENT_TYPE, HeaderName},
    },
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    body::{Bodies, Share},
    problem::Problem,
    read::Asked,
    running::{Place, Running},
};
use crate::{
    call::{
        self, Broker, Sink,
        replay::{self, CALL_TIME_MAX, Once, Requests},
    },
    domain::{
        fault::Fault,
        ids::{CallId, CredentialId, EnvelopeId},
        token::Bearer,
    },
    identity::{HostCaller, bearer_of_token},
    proto::{self, CreateMessageResponse, Outcome},
    tasks::Tasks,
    telemetry::measured,
    transport::grpc::{
        Doors,
        convert::{self, name},
        sampling::shutting_down,
        state::Services,
    },
};
pub use guard::Hosts;

/// Events of a stream that wait for a slow reader.
const EVENTS_WAITING: usize = 16;

/// What is kept of the caller's time for settling and for the answer's way back.
const MARGIN: Duration = Duration::from_millis(300);

/// The revision whose result is asked for: the first with tools.
const REVISION: &str = "2025-11-25";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// In which OpenAI's clients say how long they wait, in seconds.
const TIMEOUTS: [&str; 2] = ["x-stainless-timeout", "x-stainless-read-timeout"];

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct Door {
    services: Services,
    broker: Broker,
    requests: Requests,
    tasks: Tasks,
    bodies: Bodies,
    running: Running,
    hosts: Hosts,
}

/// A call that has begun.
struct Called {
    started: Started,
    voice: Voice,
    created: i64,
    gone: DropGuard,
}

/// Where its reply comes from.
struct Started(oneshot::Receiver<Result<Once<CreateMessageResponse>, Fault>>);

/// What the answer is told by.
struct Voice {
    call: CallId,
    one_tool_call: bool,
    /// The names of the bearer's own envelopes.
    own: Vec<String>,
}

impl Door {
    /// Opens on what the gRPC door opens on.
    pub fn new(doors: &Doors, hosts: Hosts) -> Self {
        let Doors { services, broker, requests, tasks, body_mib_in_flight, .. } = doors.clone();
        let (bodies, running) = (Bodies::mebibytes(body_mib_in_flight), Running::default());
        Self { services, broker, requests, tasks, bodies, running, hosts }
    }

    /// Everything under `/v1`.
    pub fn routes(self) -> Router {
        let no_method = || async { Problem::no_such_method().into_response() };
        Router::new()
            .route("/v1/chat/completions", post(chat).fallback(no_method))
            .route("/v1/models", get(models::list).fallback(no_method))
            // An alias may have slashes.
            .route("/v1/models/{*id}", get(models::one).fallback(no_method))
            .route("/v1/{*rest}", axum::routing::any(|| async { Problem::no_such_path() }))
            .with_state(self)
    }

    /// Who asks: found out before a byte of the body is read.
    async fn bearer(&self, headers: &HeaderMap) -> Result<Bearer, Problem> {
        guard::sent_on_purpose(headers, &self.hosts)?;
        let bearer = bearer_of_token(&self.services.store, guard::bearer(headers)).await?;
        self.services.shed.key(CredentialId::from(bearer.token.id.uuid()))?;
        guard::agree(headers, &bearer.token)?;
        Ok(bearer)
    }

    async fn chat(&self, request: Request) -> Result<Response, Problem> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        let bearer = self.bearer(&headers).await?;
        guard::is_json(&headers)?;
        let place = self.running.enter(bearer.token.id)?;
        let (bytes, share) = self.bodies.read(&headers, body).await?;
        let (sender, progress) = mpsc::channel(EVENTS_WAITING);
        let read = self.read(&headers, (&bytes, &bearer), Sink::new(sender));
        let ((asked, request, once, gone), own) = {
            let (read, own) = measured(&self.broker.clock, read).await;
            (read?, own)
        };
        drop(bytes);
        let Asked { stream, include_usage, one_tool_call, .. } = asked;
        let voice = Voice { call: request.call, one_tool_call, own: own_names(&bearer) };
        let created = self.broker.clock.now().as_second();
        let request = if stream { request } else { call::Request { sink: Sink::NONE, ..request } };
        let started = self.start((request, own), once, (share, place))?;
        let called = Called { started, voice, created, gone };
        if stream {
            return Box::pin(stream::begin(called, progress, include_usage)).await;
        }
        let Called { started, voice, created, gone: _gone } = called;
        let reply = voice.delivered(started.reply().await?)?;
        let whole = answer::whole((voice.call, created), &reply, voice.one_tool_call);
        let mut response = Response::new(whole.into());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        name_call(headers, voice.call);
        Ok(response)
    }

    /// What is asked, as a call.
    async fn read(
        &self,
        headers: &HeaderMap,
        (bytes, bearer): (&[u8], &Bearer),
        sink: Sink,
    ) -> Result<(Asked, call::Request, Option<replay::Asked>, DropGuard), Problem> {
        let Bearer { token, currency, .. } = bearer;
        let mut asked = read::body(bytes)?;
        let wire = proto::CreateMessageRequest {
            user: token.user.clone(),
            server: token.server.clone(),
            envelope: name::format(token.tenant, &token.envelope),
            protocol_revision: REVISION.to_owned(),
            params: Some(std::mem::take(&mut asked.params)),
            ..Default::default()
        };
        let sampling = convert::request::sampling_request(wire);
        let sampling = sampling.map_err(|it| asked.places.problem(it))?;
        self.services.shed.server(token.tenant, &token.server)?;
        let clock = &self.services.clock;
        let (call, gone) = (clock.id(), CancellationToken::new());
        let deadline = if asked.stream { None } else { self.deadline(headers) };
        let credential = CredentialId::from(token.id.uuid());
        let host =
            HostCaller { tenant: token.tenant, currency: *currency, host: token.host, credential };
        let once = guard::idempotency_key(headers)?.map(|key| {
            let until = deadline.unwrap_or_else(|| clock.monotonic() + CALL_TIME_MAX);
            // Apart from those of the host itself, which have no such character.
            let id = format!("\u{1}{}\u{1}{key}", token.id);
            replay::Asked::new(&host, (&id, bytes), call, (until, gone.clone()))
        });
        let models = self.models(bearer, &asked.model).await?;
        let guard = gone.clone().drop_guard();
        let gone = once.as_ref().map_or(gone, replay::Asked::forsaken);
        let request = call::Request {
            caller: host,
            sampling,
            models,
            call,
            deadline,
            gone,
            sink,
            body: None,
        };
        Ok((asked, request, once, guard))
    }

    /// The name of a model that the key may use means that one; any other is a wish.
    async fn models(&self, bearer: &Bearer, asked: &str) -> Result<Vec<String>, Fault> {
        let Services { store, clock, catalogue, .. } = &self.services;
        let known = catalogue.of(store, clock, bearer.token.tenant).await?;
        let is_alias = known.models.iter().any(|it| it.model.alias == asked);
        Ok(if is_alias && bearer.allows(asked) {
            vec![asked.to_owned()]
        } else {
            bearer.token.models.clone()
        })
    }

    /// When whoever asks gives up, where their client says so. Of a very short time a third
    /// is kept.
    fn deadline(&self, headers: &HeaderMap) -> Option<Instant> {
        let said = TIMEOUTS.iter().find_map(|it| headers.get(*it));
        let whole = said?.to_str().ok()?.split('.').next()?.parse().ok()?;
        let time = Duration::from_secs(whole);
        let left = time.saturating_sub(MARGIN).max(time / 3);
        self.broker.clock.monotonic().checked_add(left).filter(|_| whole > 0)
    }

    /// Runs the call in a task of its own, which outlives a caller that goes away: its hold
    /// has to be settled all the same.
    fn start(
        &self,
        (request, read): (call::Request, Duration),
        once: Option<replay::Asked>,
        kept: (Share, Place),
    ) -> Result<Started, Problem> {
        let (sender, reply) = oneshot::channel();
        let (broker, requests) = (self.broker.clone(), self.requests.clone());
        let accepted = self.tasks.spawn(async move {
            let (tenant, currency) = (request.caller.tenant, request.caller.currency);
            let work = Box::pin(async {
                let reply = call::sample(&broker, request).await?;
                Ok(convert::reply::to_wire(reply, tenant, currency))
            });
            let answered = requests.once(once.as_ref(), work);
            let (reply, own) = measured(&broker.clock, answered).await;
            broker.metrics.own(read.saturating_add(own));
            drop(kept);
            // A caller that is gone misses the reply; the ledger has it.
            let _ = sender.send(reply);
        });
        if accepted { Ok(Started(reply)) } else { Err(shutting_down().into()) }
    }
}

impl Started {
    async fn reply(self) -> Result<CreateMessageResponse, Problem> {
        Ok(self.0.await.map_err(|_| Fault::Internal)??.into_inner())
    }
}

impl Voice {
    /// A reply in which something can be handed on; all others are errors here.
    fn delivered(&self, it: CreateMessageResponse) -> Result<CreateMessageResponse, Problem> {
        match it.outcome() {
            Outcome::Complete | Outcome::Partial => Ok(it),
            Outcome::Exhausted => {
                Err(Problem::exhausted(&it, |name| self.own.iter().any(|it| it == name)))
            }
            Outcome::Refused | Outcome::InputRequired | Outcome::Unspecified => {
                Err(Problem::refused(&it))
            }
        }
    }
}

fn own_names(bearer: &Bearer) -> Vec<String> {
    let token = &bearer.token;
    let own = [Some(token.envelope), token.inside].into_iter().flatten();
    own.map(|it: EnvelopeId| name::format(token.tenant, &it)).collect()
}

/// The call, as in the ledger: for whoever reports a problem.
fn name_call(headers: &mut HeaderMap, call: CallId) {
    if let Ok(value) = HeaderValue::from_str(&call.to_string()) {
        headers.insert(REQUEST_ID, value);
    }
}

async fn chat(State(door): State<Door>, request: Request) -> Response {
    match Box::pin(door.chat(request)).await {
        Ok(it) => it,
        Err(it) => it.into_response(),
    }
}
