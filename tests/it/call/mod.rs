//! The story of a call from outside: a host that asks a running service.

mod anthropic;
mod attempts;
mod binary;
mod breaker;
mod budgets;
mod canary;
mod cuts;
mod doors;
mod envelopes;
mod explain;
mod gone;
mod hierarchy;
mod landing;
mod metrics;
mod nesting;
mod outcomes;
pub(crate) mod price;
mod reserve;
mod shape;
mod stops;
mod stream;
mod usage;
pub(crate) mod world;
