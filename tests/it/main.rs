//! Everything that is tested from outside, as one binary: one module an area.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "what a test stands on may fail it, and says why; tests read clocks and spawn servers"
)]

mod admin;
mod backend;
mod call;
mod catalogue;
mod cli_output;
mod convert;
mod engine;
mod extension;
mod fake_service;
mod faults;
mod guard_probe;
mod ledger;
mod mcp_door;
mod mcp_json;
mod openai;
mod plans;
mod postgres;
mod prices;
mod protocol;
mod replay;
mod routing;
mod support;
mod tidy;
mod tokens;
mod world;
