//! The budget engine under everything that may go wrong: replicas, Postgres, network,
//! disk and clocks. Each test ends with the same proof.

mod clocks;
mod cuts;
mod drain;
mod load;
mod locks;
mod outages;
mod proof;
mod replicas;
mod stops;
