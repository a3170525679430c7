//! The doors: thin translations between a wire and the core.

pub mod grpc;
pub mod http;
mod mcp_headers;
