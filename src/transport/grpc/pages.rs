//! One row more than a page is read, so that its end is known.

use uuid::Uuid;

use super::convert::page::{Page, next_page_token};

/// What to read of a list for a page: where it begins, and how many rows.
pub const fn slice(page: Page) -> (Option<Uuid>, i64) {
    (page.after, page.size.saturating_add(1))
}

/// Cuts what was read to the page, and gives the token of the next one; empty when
/// nothing follows.
pub fn cut<T>(mut rows: Vec<T>, page: Page, id: impl Fn(&T) -> Uuid) -> (Vec<T>, String) {
    let size = usize::try_from(page.size).unwrap_or(usize::MAX);
    let more = rows.len() > size;
    rows.truncate(size);
    let last = rows.last().filter(|_| more).map(id);
    (rows, next_page_token(last))
}
