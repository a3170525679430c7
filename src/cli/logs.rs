//! Logs on standard error: lines for people on a terminal, JSON elsewhere.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// Starts logging, once. `BURSAR_LOG` chooses what, as in `info` or `bursar=debug`.
pub(super) fn start(default: &str) {
    let filter = EnvFilter::try_from_env("BURSAR_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // Somebody else logs already, such as a test: leave it so.
    let _ = if io::stderr().is_terminal() {
        builder.with_target(false).compact().try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
}
