//! What operators write: by whom, with what answer, and seen by whom.

mod audit;
mod demo;
mod every;
mod isolation;
mod keys;
mod roles;
mod writes;
