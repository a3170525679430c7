//! Integration tests, one module an area.

#[cfg(test)]
mod cli_output;
#[cfg(test)]
mod fake_service;
#[cfg(test)]
mod mcp_json;
