//! Wiring: what a running `bursar` is made of.

pub mod postgres;
