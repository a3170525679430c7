//! The wire types of `bursar.v1`, and MCP's JSON on either side of them.

pub use generated::*;
pub use prost_types::FieldMask;

pub mod mcp_json;

/// The descriptors of all services, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor.bin"));

#[expect(
    missing_docs,
    unused_qualifications,
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::as_conversions,
    clippy::large_enum_variant,
    reason = "generated"
)]
mod generated {
    tonic::include_proto!("bursar.v1");
}
