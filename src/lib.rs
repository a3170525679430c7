#![doc = include_str!("ARCHITECTURE.md")]

pub mod admin;
pub mod app;
pub mod backend;
pub mod budget;
pub mod clock;
pub mod catalogue;
pub mod cli;
pub mod client;
pub mod domain;
pub mod identity;
pub mod ledger;
pub mod proto;
pub mod store;
pub mod transport;
