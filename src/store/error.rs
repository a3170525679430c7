//! What can go wrong between us and Postgres, by what can be done about it.

use sqlx::{
    error::DatabaseError,
    postgres::{PgDatabaseError, PgSeverity},
};

use crate::domain::fault::Fault;

/// A failure of the store. Its text names no value of a row.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection, or it broke: whether a statement took effect is unknown.
    #[error("the database cannot be reached")]
    Unreachable(#[source] sqlx::Error),
    /// Nothing took effect; the same again may succeed.
    #[error("the database asked for a retry ({0})")]
    Retry(String),
    /// A compare-and-set found other values; nothing took effect.
    #[error("the rows have changed")]
    Stale,
    /// The row exists already.
    #[error("exists already ({0})")]
    Duplicate(String),
    /// A mistake of ours: a statement or a value that Postgres refuses.
    #[error("the database refused a statement ({code})")]
    Refused {
        /// The SQLSTATE, and the constraint where there is one.
        code: String,
        /// For the log.
        #[source]
        source: sqlx::Error,
    },
    /// A row that no version of this program writes.
    #[error("an unreadable row: {0}")]
    Unreadable(&'static str),
}

impl Error {
    /// Whether the whole transaction may simply be tried again.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Retry(_) | Self::Stale)
    }

    /// Whether a lock was waited for in vain: somebody else keeps a row.
    pub(crate) fn is_blocked(&self) -> bool {
        matches!(self, Self::Retry(code) if code == LOCK_NOT_AVAILABLE)
    }
}

/// See [`Error::is_blocked`].
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// SQLSTATEs after which nothing took effect and a retry makes sense:
/// serialization failure, deadlock, lock not available, cancelled, too little of
/// something (connections, disk, memory), an error of the disk, shutting down.
const RETRY: [&str; 11] = [
    "40001",
    "40P01",
    LOCK_NOT_AVAILABLE,
    "57014",
    "53000",
    "53100",
    "53200",
    "53300",
    "53400",
    "58030",
    "57P03",
];

/// The server ended the connection: the outcome of what ran is unknown. Or it only
/// reads, being the wrong one after a failover: another connection may find the right one.
const GONE: [&str; 5] = ["57P01", "57P02", "57P05", "25P03", "25006"];

impl From<sqlx::Error> for Error {
    fn from(it: sqlx::Error) -> Self {
        let Some(database) = it.as_database_error() else {
            use sqlx::Error::{ColumnDecode, ColumnNotFound, Migrate};
            let code = if matches!(it, ColumnDecode { .. } | ColumnNotFound(_)) {
                "decode"
            } else if matches!(it, Migrate(_)) {
                "migration"
            } else {
                return Self::Unreachable(it);
            };
            return Self::Refused { code: code.to_owned(), source: it };
        };
        let code = database.code().map(String::from).unwrap_or_default();
        match code.as_str() {
            // The write statement divides by zero when a count is short.
            "22012" => Self::Stale,
            "23505" => Self::Duplicate(database.constraint().unwrap_or_default().to_owned()),
            _ if is_panic(database) => Self::Unreachable(it),
            it if RETRY.contains(&it) => Self::Retry(code),
            known if GONE.contains(&known) => Self::Unreachable(it),
            _ => {
                let constraint = database.constraint().unwrap_or_default();
                Self::Refused { code: format!("{code} {constraint}"), source: it }
            }
        }
    }
}

/// Whether the server ends all that it does with this error, as when it cannot write
/// its log: the outcome of what ran is unknown, whatever the code.
fn is_panic(it: &dyn DatabaseError) -> bool {
    let severity = it.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
    severity == Some(PgSeverity::Panic)
}

/// What a caller is told. The cause is logged here, once, at the boundary.
impl From<Error> for Fault {
    fn from(it: Error) -> Self {
        let unavailable = || Self::Unavailable {
            reason: "DATABASE_UNAVAILABLE",
            problem: "the database cannot be reached right now; nothing was lost".to_owned(),
            retry_after: None,
        };
        match &it {
            Error::Unreachable(source) => {
                tracing::warn!(error = %source, "the database cannot be reached");
                unavailable()
            }
            Error::Retry(code) => {
                tracing::warn!(code, "the database asked for a retry too often");
                unavailable()
            }
            Error::Stale => unavailable(),
            Error::Duplicate(_) => Self::Exists { what: "a resource of this name" },
            Error::Refused { code, source } => {
                tracing::error!(code, error = %source, "the database refused a statement");
                Self::Internal
            }
            Error::Unreadable(what) => {
                tracing::error!(what, "an unreadable row");
                Self::Internal
            }
        }
    }
}
