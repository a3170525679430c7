//! Faults as statuses: the only such map of this door.

use std::{collections::HashMap, time::Duration};

use tonic::{
    Code, Status,
    metadata::{MetadataMap, MetadataValue},
};
use tonic_types::{ErrorDetails, StatusExt};

use crate::domain::fault::Fault;

/// The trailing metadata that holds the exact JSON-RPC code for a host to pass on.
pub const MCP_ERROR_CODE: &str = "mcp-error-code";

/// Who speaks in every `google.rpc.ErrorInfo`.
const DOMAIN: &str = "bursar.dev";

const INVALID_PARAMS: &str = "-32602";
const INTERNAL_ERROR: &str = "-32603";

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        let message = fault.to_string();
        let (code, reason) = code_and_reason(&fault);
        let mut details = ErrorDetails::with_error_info(reason, DOMAIN, info(&fault));
        add_details(&mut details, &fault);
        let mut metadata = MetadataMap::new();
        metadata.insert(MCP_ERROR_CODE, MetadataValue::from_static(mcp_code(&fault)));
        Self::with_error_details_and_metadata(code, message, details, metadata)
    }
}

/// The status and the stable word for programs.
const fn code_and_reason(fault: &Fault) -> (Code, &'static str) {
    match fault {
        Fault::Invalid { .. } => (Code::InvalidArgument, "INVALID_FIELD"),
        Fault::Unauthenticated => (Code::Unauthenticated, "UNAUTHENTICATED"),
        Fault::WrongRole { .. } => (Code::PermissionDenied, "WRONG_ROLE"),
        Fault::NotFound { .. } => (Code::NotFound, "NOT_FOUND"),
        Fault::Exists { .. } => (Code::AlreadyExists, "ALREADY_EXISTS"),
        Fault::Precondition { reason, .. } => (Code::FailedPrecondition, reason),
        Fault::Aborted { reason, .. } => (Code::Aborted, reason),
        Fault::Shed { .. } => (Code::ResourceExhausted, "TOO_MANY_REQUESTS"),
        Fault::Unavailable { reason, .. } => (Code::Unavailable, reason),
        Fault::Internal => (Code::Internal, "INTERNAL"),
    }
}

/// What a program wants besides the reason.
fn info(fault: &Fault) -> HashMap<String, String> {
    let pair = match fault {
        Fault::Invalid { field, .. } => Some(("field", field.as_str())),
        Fault::WrongRole { needed } => Some(("role", *needed)),
        Fault::NotFound { what } | Fault::Exists { what } => Some(("resource", *what)),
        Fault::Unauthenticated
        | Fault::Precondition { .. }
        | Fault::Aborted { .. }
        | Fault::Shed { .. }
        | Fault::Unavailable { .. }
        | Fault::Internal => None,
    };
    pair.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// At most one detail of each kind.
fn add_details(details: &mut ErrorDetails, fault: &Fault) {
    match fault {
        Fault::Invalid { field, problem } => {
            details.add_bad_request_violation(field, problem);
        }
        Fault::Shed { retry_after } => {
            details.add_quota_failure_violation("requests", "too many requests at once");
            retry(details, *retry_after);
        }
        Fault::Unavailable { retry_after: Some(retry_after), .. }
        | Fault::Aborted { retry_after: Some(retry_after), .. } => retry(details, *retry_after),
        Fault::Unavailable { retry_after: None, .. }
        | Fault::Unauthenticated
        | Fault::WrongRole { .. }
        | Fault::NotFound { .. }
        | Fault::Exists { .. }
        | Fault::Precondition { .. }
        | Fault::Aborted { retry_after: None, .. }
        | Fault::Internal => {}
    }
}

fn retry(details: &mut ErrorDetails, after: Duration) {
    details.set_retry_info(Some(after));
}

/// What the request got wrong is -32602; all else is -32603 to a server, which can
/// do nothing about it.
const fn mcp_code(fault: &Fault) -> &'static str {
    match fault {
        Fault::Invalid { .. } => INVALID_PARAMS,
        Fault::Unauthenticated
        | Fault::WrongRole { .. }
        | Fault::NotFound { .. }
        | Fault::Exists { .. }
        | Fault::Precondition { .. }
        | Fault::Aborted { .. }
        | Fault::Shed { .. }
        | Fault::Unavailable { .. }
        | Fault::Internal => INTERNAL_ERROR,
    }
}
