//! The gRPC door, `bursar.v1`.

pub mod convert;
pub mod status;
