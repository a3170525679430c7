//! Finance's reads: what was booked, and the proof that it adds up.

mod page;
pub mod report;
pub mod rollup;
mod verify;

pub use page::{Entry, Reader, Wanted, entries};
pub use verify::{PROBLEMS_MAX, Verification, verify, verify_all};
