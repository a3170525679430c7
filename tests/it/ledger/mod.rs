//! The ledger: what it shows, to whom, and that it proves itself.

mod books;
mod filled;
mod list;
mod report;
mod tamper;
