#![doc = include_str!("ARCHITECTURE.md")]

pub mod backend;
pub mod domain;
pub mod net;
pub mod proto;
