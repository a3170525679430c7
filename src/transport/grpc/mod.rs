//! The gRPC door, `bursar.v1`.

pub mod admin;
pub mod auth;
pub mod convert;
pub mod ledger;
pub mod pages;
pub mod state;
pub mod status;
