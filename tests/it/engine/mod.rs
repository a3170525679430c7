//! The budget engine against a real Postgres, and its rule against a model of it.

mod cases;
mod faults;
mod first;
mod late;
mod offers;
mod races;
mod rule;
pub(crate) mod world;
