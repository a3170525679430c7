//! What goes wrong, in the shape that OpenAI's clients read: the only such map of this
//! door. What it says speaks of the bearer's own envelope alone: no wider limit, no money.

use std::time::Duration;

use axum::{
    Json,
    http::{
        HeaderValue, StatusCode,
        header::{ALLOW, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::{
    domain::fault::Fault,
    proto::{self, mcp_json},
    transport::http::entry::Turned,
};

/// Clients ask again by themselves unless this says that it is of no use.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

/// The longest name of a field that is said back.
const PARAM_CHARS_MAX: usize = 128;

/// An answer that is an error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    status: StatusCode,
    /// Whether the same again may go better.
    retry: Retry,
    error: Box<Error>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    No,
    After(Option<Duration>),
}

/// The body's `error`.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Error {
    message: String,
    r#type: &'static str,
    param: Option<String>,
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<Left>,
}

/// The limit of the bearer's own envelope that is used up. Of money only that it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "a limit's limit is its amount, as elsewhere")]
struct Limit {
    kind: &'static str,
    held: Option<i64>,
    settled: Option<i64>,
    limit: Option<i64>,
    resets_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Left {
    calls: i64,
    seconds: i64,
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a Error,
}

// === impl Problem ===

impl Problem {
    /// A field that is missing, malformed or not allowed.
    pub(super) fn invalid(param: impl Into<String>, problem: &str) -> Self {
        let param: String = param.into();
        let param: String =
            param.chars().filter(|it| !it.is_control()).take(PARAM_CHARS_MAX).collect();
        let message = if param.is_empty() {
            format!("the request {problem}")
        } else {
            format!("{param}: {problem}")
        };
        let param = Some(param).filter(|it| !it.is_empty());
        let code =
            if problem == "is required" { "missing_required_parameter" } else { "invalid_value" };
        Self::new(StatusCode::BAD_REQUEST, (INVALID, code), message).of(param)
    }

    /// A parameter that is not on the list.
    pub(super) fn unknown(param: &str) -> Self {
        let mut it = Self::invalid(param, "is not understood here, so it is refused: leave it out");
        it.error.code = Some("unknown_parameter".to_owned());
        it
    }

    /// There is nothing at this address.
    pub(super) fn no_such_path() -> Self {
        let message = "there is /v1/chat/completions and /v1/models here, and nothing else";
        Self::new(StatusCode::NOT_FOUND, (INVALID, "unknown_url"), message.to_owned())
    }

    /// The address is right and the method is not.
    pub(super) fn no_such_method() -> Self {
        let message = "this method is not allowed here".to_owned();
        Self::new(StatusCode::METHOD_NOT_ALLOWED, (INVALID, "method_not_allowed"), message)
    }

    /// No such model, or none that the key may use.
    pub(super) fn no_such_model() -> Self {
        let message = "the model does not exist, or the key may not use it".to_owned();
        let it = Self::new(StatusCode::NOT_FOUND, (INVALID, "model_not_found"), message);
        it.of(Some("model".to_owned()))
    }

    /// Too many calls of this key at once: none was made.
    pub(super) fn too_many_at_once() -> Self {
        let message = "too many calls of this key are under way; wait for one to end".to_owned();
        let code = ("rate_limit_error", "too_many_calls_at_once");
        let again = Retry::After(Some(Duration::from_secs(1)));
        Self::new(StatusCode::TOO_MANY_REQUESTS, code, message).retried(again)
    }

    /// A policy or a person said no.
    pub(super) fn refused(it: &proto::CreateMessageResponse) -> Self {
        let (code, message) = it.refusal.as_ref().map_or_else(
            || ("refused".to_owned(), "the request was refused".to_owned()),
            |it| (it.reason.to_lowercase(), it.message.clone()),
        );
        let mut problem = Self::new(StatusCode::FORBIDDEN, ("permission_error", ""), message);
        problem.error.code = Some(code);
        problem
    }

    /// Nothing is left. `is_own` says whether a limit of this name is the bearer's to see.
    pub(super) fn exhausted(
        it: &proto::CreateMessageResponse,
        is_own: impl Fn(&str) -> bool,
    ) -> Self {
        let own = it.limit.as_ref().filter(|it| is_own(&it.name));
        // Whosever it is, there is room again as soon as a call has ended.
        if it.limit.as_ref().is_some_and(|it| it.kind() == proto::LimitKind::ConcurrentCalls) {
            return match own {
                Some(_) => Self::too_many_at_once(),
                None => Fault::Shed { retry_after: Duration::from_secs(1) }.into(),
            };
        }
        let limit = own.and_then(Limit::of);
        let is_seconds = limit.as_ref().is_some_and(|it| it.kind == "SECONDS");
        if it.cut() == proto::Cut::Deadline && !is_seconds {
            return Self::too_late();
        }
        let used_up = match &limit {
            None => "the allowance of this key is used up".to_owned(),
            Some(it) => it.message(),
        };
        let made = if it.charge.is_none() { "no call was made" } else { "nothing was delivered" };
        let message = format!("{used_up}; {made}");
        let code = ("insufficient_quota", "budget_exhausted");
        let mut problem = Self::new(StatusCode::PAYMENT_REQUIRED, code, message);
        problem.error.left =
            it.left.as_ref().map(|it| Left { calls: it.calls, seconds: it.seconds });
        problem.error.limit = limit;
        problem
    }

    /// The longest time that one call may take went by with nothing delivered.
    fn too_late() -> Self {
        let message = "the call took too long and nothing was delivered".to_owned();
        Self::new(StatusCode::GATEWAY_TIMEOUT, (SERVER, "deadline_exceeded"), message)
    }

    /// The body, as an event of a stream that has begun has it.
    pub(super) fn body(&self) -> String {
        serde_json::to_string(&Body { error: &self.error }).unwrap_or_default()
    }

    fn new(status: StatusCode, (kind, code): (&'static str, &str), message: String) -> Self {
        let code = Some(code.to_owned());
        let error =
            Box::new(Error { message, r#type: kind, param: None, code, limit: None, left: None });
        Self { status, retry: Retry::No, error }
    }

    fn of(mut self, param: Option<String>) -> Self {
        self.error.param = param;
        self
    }

    fn retried(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }
}

impl Limit {
    fn of(it: &proto::LimitStatus) -> Option<Self> {
        let (kind, counts) = match it.kind() {
            proto::LimitKind::Calls => ("CALLS", true),
            proto::LimitKind::Tokens => ("TOKENS", true),
            proto::LimitKind::Seconds => ("SECONDS", true),
            // How much it was is between user and host.
            proto::LimitKind::Money => ("MONEY", false),
            proto::LimitKind::ConcurrentCalls | proto::LimitKind::Unspecified => return None,
        };
        let number = |text: &str| text.parse().ok().filter(|_| counts);
        Some(Self {
            kind,
            held: number(&it.held),
            settled: number(&it.settled),
            limit: number(&it.limit),
            resets_at: Some(it.resets_at.clone()).filter(|it| !it.is_empty()),
        })
    }

    fn message(&self) -> String {
        let kind = self.kind.to_lowercase();
        let of = match (self.settled, self.held, self.limit) {
            (Some(settled), Some(held), Some(limit)) => {
                format!(" ({settled} of {limit} used, {held} held)")
            }
            _ => String::new(),
        };
        let verb = if kind == "money" { "is" } else { "are" };
        format!("the {kind} of this key's envelope {verb} used up{of}")
    }
}

impl From<Turned> for Problem {
    fn from(it: Turned) -> Self {
        let turned = |status, code, message: String| Self::new(status, (INVALID, code), message);
        match it {
            Turned::Origin => turned(
                StatusCode::FORBIDDEN,
                "origin_not_allowed",
                "requests of web pages are refused: this door is for programs".to_owned(),
            ),
            Turned::Host => turned(
                StatusCode::FORBIDDEN,
                "host_not_allowed",
                "the Host is not one of this service; http_hosts names those that are".to_owned(),
            ),
            Turned::NotJson => turned(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "the body must be application/json without a content-encoding".to_owned(),
            ),
            Turned::TooLong(bytes) => turned(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                format!("the body must be at most {bytes} bytes"),
            ),
            Turned::CutOff => turned(
                StatusCode::REQUEST_TIMEOUT,
                "request_stalled",
                "the request's body was silent for too long, or broke off".to_owned(),
            ),
            Turned::Shed(retry_after) => Fault::Shed { retry_after }.into(),
            Turned::Disagrees(header) => turned(
                StatusCode::BAD_REQUEST,
                "invalid_header",
                format!("the header {header} must agree with the key, or be left out"),
            ),
            Turned::Malformed(header) => turned(
                StatusCode::BAD_REQUEST,
                "invalid_header",
                format!("the header {header} must be there once, of 1 to 256 printable characters"),
            ),
        }
    }
}

impl From<mcp_json::Problem> for Problem {
    fn from(it: mcp_json::Problem) -> Self {
        Self::invalid(it.path, &it.problem)
    }
}

impl From<Fault> for Problem {
    fn from(it: Fault) -> Self {
        match it {
            Fault::Invalid { field, problem } => Self::invalid(field, &problem),
            // An envelope that is gone or closed looks like any other end of its key.
            Fault::Unauthenticated
            | Fault::WrongRole { .. }
            | Fault::NotFound { .. }
            | Fault::Precondition { .. } => unauthenticated(),
            Fault::Exists { .. } | Fault::Internal => {
                let message = "an internal error; it was logged".to_owned();
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, (SERVER, "internal"), message)
            }
            Fault::Aborted { reason, problem, retry_after } => {
                let problem = problem.replace("request_id", "Idempotency-Key");
                let code = (INVALID, reason.to_lowercase());
                let it = Self::new(StatusCode::CONFLICT, (code.0, &code.1), problem);
                it.retried(retry_after.map_or(Retry::No, |it| Retry::After(Some(it))))
            }
            Fault::Shed { retry_after } => {
                let message = "too many requests at once; try again later".to_owned();
                let code = ("rate_limit_error", "rate_limit_exceeded");
                Self::new(StatusCode::TOO_MANY_REQUESTS, code, message)
                    .retried(Retry::After(Some(retry_after)))
            }
            Fault::Unavailable { reason, retry_after, .. } => unavailable(reason, retry_after),
        }
    }
}

/// Missing, malformed, unknown, expired and revoked keys all look the same.
fn unauthenticated() -> Problem {
    let message = "a valid envelope token is required: authorization: Bearer TOKEN".to_owned();
    Problem::new(StatusCode::UNAUTHORIZED, (INVALID, "invalid_api_key"), message)
}

/// In words of its own: the fault's may say what was charged.
fn unavailable(reason: &'static str, retry_after: Option<Duration>) -> Problem {
    let (message, retry) = match reason {
        // It was tried more than once already, and each time may have cost something.
        "BACKEND_FAILED" => ("the model failed and nothing was delivered", Retry::No),
        "BACKENDS_FAILING" => {
            ("every model that could answer fails right now", Retry::After(retry_after))
        }
        "SHUTTING_DOWN" => ("this replica is shutting down", Retry::After(retry_after)),
        _ => ("the service cannot answer right now", Retry::After(retry_after)),
    };
    let code = reason.to_lowercase();
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, (SERVER, &code), message.to_owned())
        .retried(retry)
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(Body { error: &self.error })).into_response();
        let headers = response.headers_mut();
        match self.retry {
            Retry::No => {
                headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
            }
            Retry::After(after) => {
                headers.insert(SHOULD_RETRY, HeaderValue::from_static("true"));
                if let Some(after) = after {
                    // Whole seconds, and never too soon.
                    let seconds = after.as_secs().saturating_add(1);
                    headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
                }
            }
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("GET, POST"));
        }
        response
    }
}
