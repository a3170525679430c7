//! What goes wrong, as JSON-RPC says it: the only map from faults to its codes.

use std::time::Duration;

use axum::{
    http::{
        HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    domain::{fault::Fault, request::Revision},
    proto::{self, mcp_json},
    transport::http::entry::Turned,
};

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const NO_METHOD: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;
const INTERNAL_ERROR: i32 = -32_603;
const HEADER_MISMATCH: i32 = -32_020;
const NO_CAPABILITY: i32 = -32_021;
const NO_REVISION: i32 = -32_022;
/// A person or a policy said no.
const REJECTED: i32 = -1;

/// An answer that is an error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    status: StatusCode,
    retry_after: Option<Duration>,
    error: Box<Error>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Error {
    code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

#[derive(Serialize)]
struct Body<'a> {
    jsonrpc: &'static str,
    /// Null where it could not be read.
    id: Option<&'a RawValue>,
    error: &'a Error,
}

// === impl Problem ===

impl Problem {
    /// No JSON, too long or too deep.
    pub(super) fn unreadable(it: &mcp_json::Problem) -> Self {
        Self::new(StatusCode::BAD_REQUEST, PARSE_ERROR, it.to_string())
    }

    /// No request of JSON-RPC 2.0.
    pub(super) fn no_request(it: &mcp_json::Problem) -> Self {
        Self::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, it.to_string())
    }

    /// A method that is none of this door's.
    pub(super) fn no_such_method() -> Self {
        let message = "this door knows sampling/createMessage alone".to_owned();
        Self::new(StatusCode::NOT_FOUND, NO_METHOD, message)
    }

    /// A field of the params.
    pub(super) fn invalid(field: &str, problem: &str) -> Self {
        let message = format!("{field}: {problem}");
        Self::new(StatusCode::BAD_REQUEST, INVALID_PARAMS, message).with(json!({ "field": field }))
    }

    /// A header that says something else than the body.
    pub(super) fn mismatch(header: &str) -> Self {
        let message = format!("the header {header} must agree with the body, or be left out");
        let it = Self::new(StatusCode::BAD_REQUEST, HEADER_MISMATCH, message);
        it.with(json!({ "header": header }))
    }

    /// A revision that is not known.
    pub(super) fn no_such_revision() -> Self {
        let supported = Revision::ALL.map(Revision::as_str);
        let message = "this revision of MCP is not supported".to_owned();
        let it = Self::new(StatusCode::BAD_REQUEST, NO_REVISION, message);
        it.with(json!({ "supported": supported }))
    }

    /// Tools of a host that has not declared them.
    pub(super) fn no_tools_declared() -> Self {
        let message = "tools need the capability sampling.tools".to_owned();
        let it = Self::new(StatusCode::BAD_REQUEST, NO_CAPABILITY, message);
        it.with(json!({ "requiredCapabilities": { "sampling": { "tools": {} } } }))
    }

    /// The call was refused: whoever reads this must not try it again.
    pub(super) fn refused(it: &proto::CreateMessageResponse) -> Self {
        let (reason, message) = it.refusal.as_ref().map_or_else(
            || ("REFUSED".to_owned(), "the request was refused".to_owned()),
            |it| (it.reason.clone(), it.message.clone()),
        );
        let data = json!({ "reason": reason, "verdict": "ABANDON" });
        Self::new(StatusCode::OK, REJECTED, message).with(data)
    }

    /// The method of HTTP is another.
    pub(super) fn not_posted() -> Self {
        let message = "requests are posted here".to_owned();
        Self::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message)
    }

    /// As the answer to the request of this id.
    pub(super) fn answer(&self, id: Option<&RawValue>) -> Response {
        let body = Body { jsonrpc: "2.0", id, error: &self.error };
        let body = serde_json::to_string(&body).unwrap_or_default();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(after) = self.retry_after {
            let seconds = after.as_secs().saturating_add(1);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }

    fn new(status: StatusCode, code: i32, message: String) -> Self {
        let error = Box::new(Error { code, message, data: None });
        Self { status, retry_after: None, error }
    }

    fn with(mut self, data: Value) -> Self {
        self.error.data = Some(data);
        self
    }
}

impl From<Turned> for Problem {
    fn from(it: Turned) -> Self {
        let turned = |status, message: &str| Self::new(status, INVALID_REQUEST, message.to_owned());
        match it {
            Turned::Origin => turned(StatusCode::FORBIDDEN, "requests of web pages are refused"),
            Turned::Host => turned(
                StatusCode::FORBIDDEN,
                "the Host is not one of this service; http_hosts names those that are",
            ),
            Turned::NotJson => turned(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body must be application/json without a content-encoding",
            ),
            Turned::TooLong(bytes) => {
                let message = format!("the body must be at most {bytes} bytes");
                turned(StatusCode::PAYLOAD_TOO_LARGE, &message)
            }
            Turned::CutOff => turned(
                StatusCode::REQUEST_TIMEOUT,
                "the request's body was silent for too long, or broke off",
            ),
            Turned::Shed(retry_after) => Fault::Shed { retry_after }.into(),
            Turned::Disagrees(header) => Self::mismatch(&header),
            Turned::Malformed(header) => {
                let message = format!("the header {header} must be there once, and be printable");
                turned(StatusCode::BAD_REQUEST, &message)
            }
        }
    }
}

impl From<Fault> for Problem {
    fn from(it: Fault) -> Self {
        let message = it.to_string();
        let (status, code, reason) = match &it {
            Fault::Invalid { field, problem } => return Self::invalid(&camel(field), problem),
            Fault::Unauthenticated => (StatusCode::UNAUTHORIZED, INTERNAL_ERROR, "UNAUTHENTICATED"),
            Fault::WrongRole { .. } => (StatusCode::FORBIDDEN, INTERNAL_ERROR, "WRONG_ROLE"),
            Fault::NotFound { .. } => (StatusCode::NOT_FOUND, INTERNAL_ERROR, "NOT_FOUND"),
            Fault::Exists { .. } => (StatusCode::CONFLICT, INTERNAL_ERROR, "ALREADY_EXISTS"),
            Fault::Precondition { reason, .. } => {
                (StatusCode::PRECONDITION_FAILED, INTERNAL_ERROR, *reason)
            }
            Fault::Aborted { reason, .. } => (StatusCode::CONFLICT, INTERNAL_ERROR, *reason),
            Fault::Shed { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, INTERNAL_ERROR, "TOO_MANY_REQUESTS")
            }
            Fault::Unavailable { reason, .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, INTERNAL_ERROR, *reason)
            }
            Fault::Internal => (StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_ERROR, "INTERNAL"),
        };
        let retry_after = match it {
            Fault::Shed { retry_after } => Some(retry_after),
            Fault::Unavailable { retry_after, .. } | Fault::Aborted { retry_after, .. } => {
                retry_after
            }
            Fault::Invalid { .. }
            | Fault::Unauthenticated
            | Fault::WrongRole { .. }
            | Fault::NotFound { .. }
            | Fault::Exists { .. }
            | Fault::Precondition { .. }
            | Fault::Internal => None,
        };
        let problem = Self::new(status, code, message).with(json!({ "reason": reason }));
        Self { retry_after, ..problem }
    }
}

/// A path of the wire's names in MCP's: `params.tools[0].input_schema_json` is
/// `params.tools[0].inputSchema`.
fn camel(path: &str) -> String {
    let part = |it: &str| {
        let it = it.strip_suffix("_json").unwrap_or(it);
        let mut words = it.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |mut all, word| {
            let mut letters = word.chars();
            all.extend(letters.next().map(|it| it.to_ascii_uppercase()));
            all.push_str(letters.as_str());
            all
        })
    };
    path.split('.').map(part).collect::<Vec<_>>().join(".")
}
