//! JSON-RPC over HTTP: `sampling/createMessage` in the shapes of every revision, for hosts.
//! A broker's door with MCP's words, not an MCP endpoint.

mod problem;
mod read;

use axum::{
    Router,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderValue,
        header::{CONTENT_TYPE, HeaderName},
    },
    response::Response,
    routing::post,
};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    problem::Problem,
    read::{Asked, Frame},
};
use crate::{
    call::{
        self, Sink,
        replay::{self, CALL_TIME_MAX},
    },
    domain::{
        fault::Fault,
        request::{Revision, SamplingRequest},
    },
    identity::{HostCaller, authenticate},
    proto::{
        CreateMessageResponse, Outcome,
        mcp_json::{self, result_to_json},
    },
    telemetry::measured,
    transport::{
        grpc::{convert, state::Services},
        http::{
            body::{Bodies, Share},
            entry::{self, Hosts},
            run::{Runner, Started},
        },
    },
};

/// For the host alone, which passes the result on as it is.
const OUTCOME: HeaderName = HeaderName::from_static("bursar-outcome");
const ENVELOPE: HeaderName = HeaderName::from_static("bursar-envelope");
const CALL: HeaderName = HeaderName::from_static("bursar-call");

/// See the module. Cheap to clone.
#[derive(Clone)]
pub(super) struct Door {
    services: Services,
    runner: Runner,
    bodies: Bodies,
    hosts: Hosts,
}

/// A call that has begun, and what tells that its caller is gone.
struct Called {
    started: Started,
    revision: Revision,
    _gone: DropGuard,
}

#[derive(Serialize)]
struct Body<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: &'a RawValue,
}

impl Door {
    /// Opens.
    pub(super) fn new(
        services: Services,
        runner: Runner,
        (bodies, hosts): (Bodies, Hosts),
    ) -> Self {
        Self { services, runner, bodies, hosts }
    }

    /// `/mcp` alone.
    pub(super) fn routes(self) -> Router {
        let posted = post(answer).fallback(|| async { Problem::not_posted().answer(None) });
        Router::new().route("/mcp", posted).with_state(self)
    }

    async fn answer(&self, request: Request) -> Result<Response, Problem> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        entry::sent_on_purpose(&headers, &self.hosts)?;
        let key = entry::bearer(&headers);
        let caller = authenticate(&self.services.store, key).await?;
        self.services.shed.key(caller.credential.id)?;
        let caller = HostCaller::try_from(caller)?;
        entry::is_json(&headers)?;
        let (bytes, share) = self.bodies.read(&headers, body).await?;
        let text = std::str::from_utf8(&bytes).map_err(|_| not_text())?;
        let frame = read::frame(text)?;
        let begun = match self.begin(&headers, caller, (&frame, &bytes, share)).await {
            Ok(it) => it,
            Err(it) => return Ok(it.answer(Some(&frame.id))),
        };
        let id = frame.id;
        drop(bytes);
        let answered =
            begun.answered().await.and_then(|(reply, result)| told(&id, &reply, &result));
        Ok(answered.unwrap_or_else(|it| it.answer(Some(&id))))
    }

    /// Begins the call that is asked for.
    async fn begin(
        &self,
        headers: &HeaderMap,
        caller: HostCaller,
        (frame, bytes, share): (&Frame<'_>, &[u8], Share),
    ) -> Result<Called, Problem> {
        let clock = &self.services.clock;
        let read = async { self.read(headers, &caller, frame) };
        let (read, own) = measured(clock, read).await;
        let (sampling, revision) = read?;
        let (call, gone) = (clock.id(), CancellationToken::new());
        let guard = gone.clone().drop_guard();
        let once = entry::idempotency_key(headers)?.map(|key| {
            let until = clock.monotonic() + CALL_TIME_MAX;
            // Apart from those of the other doors, whose requests have other bytes.
            let id = format!("\u{1}mcp\u{1}{key}");
            replay::Asked::new(&caller, (&id, bytes), call, (until, gone.clone()))
        });
        let gone = once.as_ref().map_or(gone, replay::Asked::forsaken);
        let request = call::Request {
            caller,
            sampling,
            models: Vec::new(),
            call,
            deadline: None,
            gone,
            sink: Sink::NONE,
            body: None,
        };
        let started = self.runner.start((request, own), once, share)?;
        Ok(Called { started, revision, _gone: guard })
    }

    fn read(
        &self,
        headers: &HeaderMap,
        caller: &HostCaller,
        frame: &Frame<'_>,
    ) -> Result<(SamplingRequest, Revision), Problem> {
        let Asked { request, revision } = frame.asked(headers)?;
        entry::agree(headers, caller.tenant, (&request.user, &request.server))?;
        let sampling = convert::request::sampling_request(request).map_err(in_its_place)?;
        self.services.shed.server(caller.tenant, &sampling.server)?;
        Ok((sampling, revision))
    }
}

impl Called {
    /// The reply with its result, as its revision has it.
    async fn answered(self) -> Result<(CreateMessageResponse, String), Problem> {
        let reply = self.started.reply().await?;
        let delivered =
            matches!(reply.outcome(), Outcome::Complete | Outcome::Partial | Outcome::Exhausted);
        let result = reply.result.as_ref().filter(|_| delivered);
        let Some(result) = result else { return Err(Problem::refused(&reply)) };
        let json = result_to_json(result, self.revision.as_str()).map_err(|it| {
            tracing::error!(call = reply.call, error = %it, "a result that its revision cannot say");
            Fault::Internal
        })?;
        Ok((reply, json))
    }
}

/// A fault of the request, with the place in the body where its field stands.
fn in_its_place(fault: Fault) -> Problem {
    let Fault::Invalid { field, problem } = &fault else { return fault.into() };
    let (first, rest) = field.split_once('.').unwrap_or((field, ""));
    let name = match first {
        "user" | "server" | "envelope" | "conversation" | "root" => first,
        "originating_call" => "originatingCall",
        _ => return fault.into(),
    };
    let dot = if rest.is_empty() { "" } else { "." };
    Problem::invalid(&format!("params._meta.dev.bursar/{name}{dot}{rest}"), problem)
}

fn not_text() -> Problem {
    let problem = "must be UTF-8".to_owned();
    Problem::unreadable(&mcp_json::Problem { path: String::new(), problem })
}

fn told(id: &RawValue, reply: &CreateMessageResponse, result: &str) -> Result<Response, Problem> {
    let result: &RawValue = serde_json::from_str(result).map_err(|_| Fault::Internal)?;
    let body = Body { jsonrpc: "2.0", id, result };
    let body = serde_json::to_string(&body).map_err(|_| Fault::Internal)?;
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let outcome = reply.outcome().as_str_name();
    let outcome = outcome.strip_prefix("OUTCOME_").unwrap_or(outcome);
    for (name, value) in [(OUTCOME, outcome), (ENVELOPE, &reply.envelope), (CALL, &reply.call)] {
        if let Ok(value) = HeaderValue::from_str(value)
            && !value.is_empty()
        {
            headers.insert(name, value);
        }
    }
    Ok(response)
}

async fn answer(State(door): State<Door>, request: Request) -> Response {
    let answered = Box::pin(door.answer(request)).await;
    answered.unwrap_or_else(|it| it.answer(None))
}
