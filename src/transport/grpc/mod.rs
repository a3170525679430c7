//! The gRPC door, `bursar.v1`.

pub mod admin;
pub mod auth;
pub mod convert;
mod deadline;
pub mod envelopes;
mod in_flight;
pub mod ledger;
mod once;
pub mod pages;
mod peer;
pub mod prices;
pub mod sampling;
mod server;
pub mod state;
pub mod status;
mod tokens;

pub use server::{Doors, MESSAGE_BYTES_MAX, serve};
