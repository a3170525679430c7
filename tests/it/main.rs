//! Integration tests, one module an area.

#[cfg(test)]
mod mcp_json;
