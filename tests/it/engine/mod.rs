//! The budget engine against a real Postgres, and its rule against a model of it.

mod first;
mod races;
mod world;
