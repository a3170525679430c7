//! The integration tests, one module an area.

mod convert;
//! Everything that is tested from outside, as one binary.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "what a test stands on may fail it, and says why"
)]

mod postgres;
mod support;
mod tidy;
//! Everything that a user would notice, one module an area.
#![expect(clippy::unwrap_used, reason = "what is unwrapped is what is tested")]
#![expect(clippy::disallowed_methods, reason = "tests read the clock and spawn their servers")]

mod backend;
//! Integration tests, one module an area.

#[cfg(test)]
mod mcp_json;
