//! Finance's reads: what was booked, and the proof that it adds up.

mod page;
mod verify;

pub use page::{Entry, Reader, Wanted, entries};
pub use verify::{PROBLEMS_MAX, Verification, verify, verify_all};
