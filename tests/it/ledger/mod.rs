//! The ledger: what it shows, to whom, and that it proves itself.

mod binary;
mod books;
mod chain;
mod close;
mod explain;
mod export;
mod filled;
mod list;
mod months;
mod report;
mod tamper;
