//! Wiring: what a running `bursar` is made of.

pub mod dev;
pub mod doctor;
pub mod postgres;
pub mod service;
pub mod signals;
