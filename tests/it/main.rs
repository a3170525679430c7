//! The integration tests, one module an area.

mod convert;
