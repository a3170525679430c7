//! Everything that a user would notice, one module an area.
#![expect(clippy::unwrap_used, reason = "what is unwrapped is what is tested")]
#![expect(clippy::disallowed_methods, reason = "tests read the clock and spawn their servers")]

mod backend;
mod support;
