//! MCP's JSON of `sampling/createMessage`, to and from the wire types.
//!
//! One reader takes the params of every revision: what a later revision added is
//! simply absent from an earlier one, and unknown fields are ignored. Only types
//! are judged here; ranges and the balance of tool calls are admission's. JSON
//! that Bursar passes on (tool inputs, schemas, `_meta`) is kept as it was
//! written, so that no number loses a digit.

mod content;
pub(crate) mod node;
mod params;
mod result;

pub use self::{params::params_from_json, result::result_to_json};

/// The largest input in bytes: 32 MiB.
pub const INPUT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How deep arrays and objects may nest.
pub const DEPTH_MAX: usize = 64;

/// How many elements an array, or fields an object, may have where Bursar reads it.
pub const ITEMS_MAX: usize = 65_536;

/// The revision from which content may be an array and tools exist; also the
/// one that an empty revision stands for.
const REVISION_WITH_TOOLS: &str = "2025-11-25";

/// What is wrong with a JSON document, and where. Never says what stood there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Such as `messages[0].content.type`; empty: the document itself.
    pub path: String,
    /// Such as `must be a string, not a number`.
    pub problem: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            write!(f, "the JSON {}", self.problem)
        } else {
            write!(f, "{}: {}", self.path, self.problem)
        }
    }
}

impl std::error::Error for Problem {}

/// Refuses what is too large or too deep before anything is built from it.
pub(crate) fn check_bounds(text: &str) -> Result<(), Problem> {
    let refuse = |problem: String| Err(Problem { path: String::new(), problem });
    if text.len() > INPUT_BYTES_MAX {
        return refuse(format!("must be at most {INPUT_BYTES_MAX} bytes"));
    }
    if is_too_deep(text) {
        return refuse(format!("must nest at most {DEPTH_MAX} deep"));
    }
    Ok(())
}

fn is_too_deep(text: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return true;
        }
    }
    false
}
