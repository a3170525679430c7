//! What can go wrong for a caller, in words for a person. The key is in none of them.

use std::{error, fmt, time::Duration};

use tonic::{Code, Status};
use tonic_types::StatusExt;

/// Why a call did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The endpoint is no URL that can be used.
    #[error("the endpoint must be a URL such as http://127.0.0.1:50051, without a user in it")]
    Endpoint,
    /// The key has characters that no key has.
    #[error("the key has characters that no key has; copy it again")]
    Key,
    /// Nobody answers there.
    #[error("cannot reach {endpoint} ({cause}); is bursar running there?")]
    Unreachable {
        /// Where.
        endpoint: String,
        /// The innermost cause, such as `Connection refused`.
        cause: String,
    },
    /// The service answered with an error.
    #[error("{0}")]
    Failure(Box<Failure>),
}

/// An error of the service, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The gRPC code's name, such as `INVALID_ARGUMENT`.
    pub code: &'static str,
    /// A sentence for a person.
    pub message: String,
    /// The stable word of `google.rpc.ErrorInfo`, such as `ENVELOPE_CLOSED`.
    pub reason: Option<String>,
    /// The fields that were refused, each with what is wrong.
    pub fields: Vec<(String, String)>,
    /// When to try again.
    pub retry_after: Option<Duration>,
}

impl Error {
    pub(super) fn unreachable(endpoint: &str, cause: &dyn error::Error) -> Self {
        let mut innermost = cause;
        while let Some(deeper) = innermost.source() {
            innermost = deeper;
        }
        Self::Unreachable { endpoint: endpoint.to_owned(), cause: innermost.to_string() }
    }

    /// The service's error, if it is one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failure(it) => Some(it),
            Self::Endpoint | Self::Key | Self::Unreachable { .. } => None,
        }
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let fields = details.bad_request().map(|it| it.field_violations.as_slice());
        Self::Failure(Box::new(Failure {
            code: code_name(status.code()),
            message: status.message().to_owned(),
            reason: details.error_info().map(|it| it.reason.clone()),
            fields: fields
                .unwrap_or_default()
                .iter()
                .map(|it| (it.field.clone(), it.description.clone()))
                .collect(),
            retry_after: details.retry_info().and_then(|it| it.retry_delay),
        }))
    }
}

/// One line: `INVALID_ARGUMENT: message [REASON]; field: problem; try again in 2 s`.
/// What the message says already is not said twice.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = if self.message.is_empty() { "no details" } else { &self.message };
        write!(f, "{}: {message}", self.code)?;
        if let Some(reason) = self.reason.as_deref().filter(|it| *it != self.code) {
            write!(f, " [{reason}]")?;
        }
        let news = |it: &&(String, String)| !(message.contains(&it.0) && message.contains(&it.1));
        for (field, problem) in self.fields.iter().filter(news) {
            write!(f, "; {field}: {problem}")?;
        }
        if let Some(wait) = self.retry_after {
            let millis = wait.as_millis();
            write!(f, "; try again in {} s", millis.div_ceil(1_000).max(1))?;
        }
        Ok(())
    }
}

const fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
