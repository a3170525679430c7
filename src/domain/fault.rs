//! The kinds of error that leave the core. Doors map them to statuses in one place
//! each; an exhausted budget and a refusal are outcomes, not faults.

use std::time::Duration;

/// What a caller is told when a request cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A field is missing, malformed or out of range. Nothing was held.
    #[error("{field}: {problem}")]
    Invalid {
        /// The path of the field in the request, such as `params.max_tokens`.
        field: String,
        /// What is wrong with it and what is allowed. Never the value itself.
        problem: String,
    },
    /// No credential, or not a valid one.
    #[error("a valid API key is required: authorization: Bearer KEY")]
    Unauthenticated,
    /// The credential is valid, but its role is another.
    #[error("this needs a key of the role {needed}")]
    WrongRole {
        /// The role that would do.
        needed: &'static str,
    },
    /// It does not exist, or is somebody else's: the same answer.
    #[error("{what} not found")]
    NotFound {
        /// What was looked for, such as `envelope`.
        what: &'static str,
    },
    /// It exists already.
    #[error("{what} exists already")]
    Exists {
        /// What was to be made.
        what: &'static str,
    },
    /// It is not in a state that allows this.
    #[error("{problem}")]
    Precondition {
        /// A stable word, such as `ENVELOPE_CLOSED`.
        reason: &'static str,
        /// A sentence.
        problem: String,
    },
    /// Somebody else was first, or a request id was used with another body.
    #[error("{problem}")]
    Aborted {
        /// A stable word, such as `REQUEST_ID_REUSED`.
        reason: &'static str,
        /// A sentence.
        problem: String,
        /// When a retry makes sense, where one does.
        retry_after: Option<Duration>,
    },
    /// Too much at once; nothing was done.
    #[error("too many requests at once; try again later")]
    Shed {
        /// When to try again.
        retry_after: Duration,
    },
    /// Something behind us failed and nothing was delivered. Safe to retry.
    #[error("{problem}")]
    Unavailable {
        /// A stable word, such as `BACKEND_FAILED` or `DATABASE_UNAVAILABLE`.
        reason: &'static str,
        /// A sentence without anything that a backend or a user wrote.
        problem: String,
        /// When a retry makes sense, where that is known.
        retry_after: Option<Duration>,
    },
    /// A mistake of ours. The log has the cause under the same call.
    #[error("an internal error; it was logged")]
    Internal,
}

/// An error with its causes, in one line: for logs and terminals.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(it) = next {
        text.push_str(": ");
        text.push_str(&it.to_string());
        next = it.source();
    }
    text
}

impl Fault {
    /// A field that is missing, malformed or out of range.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), problem: problem.into() }
    }
}
