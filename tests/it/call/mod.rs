//! The story of a call from outside: a host that asks a running service.

mod budgets;
mod cuts;
mod envelopes;
mod gone;
mod outcomes;
mod price;
mod usage;
pub(crate) mod world;
