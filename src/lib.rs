#![doc = include_str!("ARCHITECTURE.md")]

pub mod app;
pub mod backend;
pub mod domain;
pub mod proto;
