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
