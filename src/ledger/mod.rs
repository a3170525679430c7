//! Finance's reads: what was booked, and the proof that it adds up.

mod chain;
pub mod close;
pub mod explain;
pub mod export;
pub mod line;
mod page;
pub mod report;
pub mod rollup;
mod verify;

pub use page::{Entry, Reader, Wanted, entries};
pub use verify::{PROBLEMS_MAX, Verification, verify, verify_all};
