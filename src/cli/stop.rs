//! Why a command ends before its end.

use std::io;

use crate::client;

/// The end of a command that did not get to its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Whoever read the output went away: nothing more to say.
    Unheard,
    /// An error, in one line: what, and how to mend it.
    Error(String),
}

impl Stop {
    /// An error in one line.
    pub fn new(message: impl Into<String>) -> Self {
        Self::Error(message.into())
    }
}

impl From<io::Error> for Stop {
    fn from(cause: io::Error) -> Self {
        if cause.kind() == io::ErrorKind::BrokenPipe {
            Self::Unheard
        } else {
            Self::Error(format!("cannot write the output: {cause}"))
        }
    }
}

/// Adds what mends it to the service's own words.
impl From<client::Error> for Stop {
    fn from(cause: client::Error) -> Self {
        let mend = match cause.failure().map(|it| it.code) {
            Some("UNAUTHENTICATED") => "; check --key or BURSAR_KEY",
            Some("PERMISSION_DENIED") => "; use a key of that role with --key or BURSAR_KEY",
            _ => "",
        };
        Self::Error(format!("{cause}{mend}"))
    }
}
