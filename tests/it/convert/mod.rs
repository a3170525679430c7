//! What is refused at the edge, by which field, and what passes.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails with its test")]

mod admin;
mod balance;
mod canary;
mod envelope;
mod params;
mod request;
mod shape;
mod support;
mod wire;
