//! The OpenAI-compatible door: chat completions for whoever bears an envelope token. It only
//! translates; the call is the same as of every other door, with the same holds and cuts.

mod answer;
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
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{problem::Problem, read::Asked, running::Running};
use crate::{
    call::{
        self, Sink,
        replay::{self, CALL_TIME_MAX},
    },
    domain::{
        fault::Fault,
        ids::{CallId, CredentialId, EnvelopeId},
        token::Bearer,
    },
    identity::{HostCaller, bearer_of_token},
    proto::{self, CreateMessageResponse, Outcome},
    telemetry::measured,
    transport::{
        grpc::{
            convert::{self, name},
            state::Services,
        },
        http::{
            body::Bodies,
            entry::{self, Hosts},
            run::{Runner, Started},
        },
    },
};

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
pub(super) struct Door {
    services: Services,
    runner: Runner,
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

/// What the answer is told by.
struct Voice {
    call: CallId,
    one_tool_call: bool,
    /// The names of the bearer's own envelopes.
    own: Vec<String>,
}

impl Door {
    /// Opens.
    pub(super) fn new(
        services: Services,
        runner: Runner,
        (bodies, hosts): (Bodies, Hosts),
    ) -> Self {
        Self { services, runner, bodies, running: Running::default(), hosts }
    }

    /// Everything under `/v1`.
    pub(super) fn routes(self) -> Router {
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
        entry::sent_on_purpose(headers, &self.hosts)?;
        let bearer = bearer_of_token(&self.services.store, entry::bearer(headers)).await?;
        self.services.shed.key(CredentialId::from(bearer.token.id.uuid()))?;
        let token = &bearer.token;
        entry::agree(headers, token.tenant, (&token.user, &token.server))?;
        Ok(bearer)
    }

    async fn chat(&self, request: Request) -> Result<Response, Problem> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        let bearer = self.bearer(&headers).await?;
        entry::is_json(&headers)?;
        let place = self.running.enter(bearer.token.id)?;
        let (bytes, share) = self.bodies.read(&headers, body).await?;
        let (sender, progress) = mpsc::channel(EVENTS_WAITING);
        let read = self.read(&headers, (&bytes, &bearer), Sink::new(sender));
        let ((asked, request, (once, gone)), own) = {
            let (read, own) = measured(&self.runner.broker.clock, read).await;
            (read?, own)
        };
        drop(bytes);
        let Asked { stream, include_usage, one_tool_call, .. } = asked;
        let voice = Voice { call: request.call, one_tool_call, own: own_names(&bearer) };
        let created = self.runner.broker.clock.now().as_second();
        let request = if stream { request } else { call::Request { sink: Sink::NONE, ..request } };
        let started = self.runner.start((request, own), once, (share, place))?;
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

    /// What is asked, as a call. The guard says that the caller is gone when it is dropped.
    async fn read(
        &self,
        headers: &HeaderMap,
        (bytes, bearer): (&[u8], &Bearer),
        sink: Sink,
    ) -> Result<(Asked, call::Request, (Option<replay::Asked>, DropGuard)), Problem> {
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
        let guard = gone.clone().drop_guard();
        let deadline = if asked.stream { None } else { self.deadline(headers) };
        let (tenant, currency, host) = (token.tenant, *currency, token.host);
        let credential = CredentialId::from(token.id.uuid());
        let host = HostCaller { tenant, currency, host, credential };
        let once = entry::idempotency_key(headers)?.map(|key| {
            let until = deadline.unwrap_or_else(|| clock.monotonic() + CALL_TIME_MAX);
            // Apart from those of the host itself, which have no such character.
            let id = format!("\u{1}{}\u{1}{key}", token.id);
            replay::Asked::new(&host, (&id, bytes), call, (until, gone.clone()))
        });
        let models = self.models(bearer, &asked.model).await?;
        let gone = once.as_ref().map_or(gone, replay::Asked::forsaken);
        let caller = host;
        // Nobody is asked anything here, so no answer can come.
        let body = None;
        let request = call::Request { caller, sampling, models, call, deadline, gone, sink, body };
        Ok((asked, request, (once, guard)))
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
        self.runner.broker.clock.monotonic().checked_add(left).filter(|_| whole > 0)
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
