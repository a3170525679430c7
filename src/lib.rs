#![doc = include_str!("ARCHITECTURE.md")]

pub mod app;
pub mod backend;
pub mod budget;
pub mod call;
pub mod catalogue;
pub mod cli;
pub mod client;
pub mod clock;
pub mod domain;
pub mod envelope;
pub mod identity;
pub mod net;
pub mod proto;
pub mod routing;
pub mod store;
pub mod transport;
