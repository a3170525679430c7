//! Between the wire types of `bursar.v1` and the domain: the one place where a
//! request becomes a domain value. What leaves here is within every limit, and a
//! fault names the field by its path in the request, never its value.

pub mod admin;
pub mod book;
mod content;
pub mod envelope;
mod field;
mod json;
mod metadata;
pub mod money;
pub mod name;
pub mod page;
mod params;
pub mod prices;
pub mod reply;
pub mod request;
mod tools;

pub use field::{id, label, timestamp};
