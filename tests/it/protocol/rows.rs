//! Arithmetic of rows.

use super::state::{LIMITS, Row};

/// A row moved by the difference of two others.
pub(super) const fn moved(row: Row, before: Row, after: Row) -> Row {
    Row {
        settled: row.settled + after.settled - before.settled,
        overrun: row.overrun + after.overrun - before.overrun,
        held: row.held + after.held - before.held,
        revision: row.revision + 1,
    }
}

/// Which rows these are.
pub(super) fn marked<'a>(on: impl IntoIterator<Item = &'a usize>) -> [bool; LIMITS] {
    let mut marks = [false; LIMITS];
    on.into_iter().for_each(|it| marks[*it] = true);
    marks
}
