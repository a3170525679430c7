//! The `bursar` command.

fn main() {}
