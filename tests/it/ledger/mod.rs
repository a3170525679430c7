//! The ledger: what it shows, to whom, and that it proves itself.

mod books;
mod list;
mod months;
mod tamper;
