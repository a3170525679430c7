#![doc = include_str!("ARCHITECTURE.md")]

pub mod backend;
pub mod cli;
pub mod client;
pub mod domain;
pub mod proto;
