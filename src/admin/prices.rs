//! Price books: import, approval, and the way back.

use std::collections::HashSet;

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Desk, Slice, tenants::ensure_platform};
use crate::{
    domain::{
        book::{Change, Key, Listing, Refused, compare},
        fault::Fault,
        ids::{BookId, CredentialId, TenantId},
    },
    identity::{BookKeeper, BookReader},
    prices::{self, Format, List, SHIPPED, SHIPPED_DATE},
    store::{
        self, Tx,
        books::{self, Book, Counts, Deed},
        listings::{self, Filter, Listed},
    },
};

/// Versions of an owner that may await approval at once.
const PENDING_MAX: i64 = 20;

/// Changes that a refusal names.
const NAMED_MAX: usize = 20;

/// A list to be imported.
#[derive(Debug, Clone)]
pub struct Import {
    /// How it is written.
    pub format: Format,
    /// The list.
    pub content: Vec<u8>,
    /// Where it came from.
    pub source: String,
    /// The day that it speaks of; none: today.
    pub source_date: Option<Date>,
    /// From when on it is to count; none: from its approval.
    pub wanted_at: Option<Timestamp>,
    /// Whether rows that it does not name stay.
    pub keeps_missing: bool,
    /// Whether nothing is to be written.
    pub is_preview: bool,
}

/// A version, and what it would change.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The version.
    pub book: Book,
    /// What it changes of the one that counts until then.
    pub changes: Vec<Change>,
    /// What was not taken.
    pub refused: Vec<Refused>,
}

/// A version, and whether calls are priced by it now.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The version.
    pub book: Book,
    /// Whether it counts now.
    pub in_effect: bool,
}

/// Reads a list into a version that awaits approval.
pub async fn import_prices(
    desk: Desk<'_>,
    right: BookKeeper,
    import: Import,
) -> Result<Preview, Fault> {
    let content_sha256: [u8; 32] = Sha256::digest(&import.content).into();
    let today = desk.clock.now().to_zoned(TimeZone::UTC).date();
    let (format, content) = (import.format, import.content);
    // Megabytes of JSON would keep other calls waiting.
    let read = tokio::task::spawn_blocking(move || prices::read(format, &content)).await;
    let read = read.map_err(|_| Fault::Internal)?;
    let List { mut rows, refused, passed_over } =
        read.map_err(|it| Fault::invalid("content", it.to_string()))?;
    let mut tx = desk.store.report_tx(right.owner).await?;
    let old = rows_at(&mut tx, right.owner, import.wanted_at).await?;
    if import.keeps_missing {
        keep_missing(&mut rows, &old);
    }
    let changes = compare(&old, &rows);
    let count = |it: usize| i32::try_from(it).unwrap_or(i32::MAX);
    let counts = Counts {
        listings: count(rows.len()),
        refused: count(refused.len()),
        passed_over: count(passed_over),
    };
    let book = Book {
        id: desk.clock.id(),
        owner: right.owner,
        format: format.word().to_owned(),
        source: import.source,
        content_sha256,
        source_date: import.source_date.unwrap_or(today),
        counts,
        wanted_at: import.wanted_at,
        created: Deed { at: desk.clock.now(), by: right.by },
        approved: None,
        effective_at: None,
        reverted: None,
    };
    if !import.is_preview {
        if books::pending(&mut tx, right.owner).await? >= PENDING_MAX {
            let problem = format!("{PENDING_MAX} versions await approval; revert some first");
            return Err(Fault::Precondition { reason: "TOO_MANY_PENDING", problem });
        }
        books::add(&mut tx, &book).await?;
        listings::add(&mut tx, (right.owner, book.id), &rows).await?;
    }
    let written = books::find(&mut tx, right.owner, (book.id, false)).await?;
    store::commit(tx).await?;
    Ok(Preview { book: written.unwrap_or(book), changes, refused })
}

/// The rows that count at an instant, or now.
async fn rows_at(
    tx: &mut Tx,
    owner: TenantId,
    at: Option<Timestamp>,
) -> Result<Vec<Listing>, Fault> {
    match books::in_effect(tx, owner, (at, false)).await? {
        Some(id) => Ok(listings::of_book(tx, (owner, id)).await?),
        None => Ok(Vec::new()),
    }
}

/// Adds the rows whose keys are not named at all.
fn keep_missing(rows: &mut Vec<Listing>, old: &[Listing]) {
    let named: HashSet<&Key> = rows.iter().map(|it| &it.key).collect();
    let kept = old.iter().filter(|it| !named.contains(&it.key));
    let kept: Vec<Listing> = kept.cloned().collect();
    rows.extend(kept);
    rows.sort_by(|a, b| (&a.key, a.from).cmp(&(&b.key, b.from)));
}

/// Puts a version into effect. Again is harmless.
pub async fn approve_prices(
    desk: Desk<'_>,
    right: BookKeeper,
    (id, accepts_flagged): (BookId, bool),
) -> Result<Standing, Fault> {
    let mut tx = desk.store.report_tx(right.owner).await?;
    let missing = Fault::NotFound { what: "price book" };
    let book = books::find(&mut tx, right.owner, (id, true)).await?.ok_or(missing)?;
    if book.reverted.is_some() {
        let problem = "the version was reverted; import it again".to_owned();
        return Err(Fault::Precondition { reason: "PRICE_BOOK_REVERTED", problem });
    }
    if book.approved.is_none() {
        let current = books::in_effect(&mut tx, right.owner, (book.wanted_at, true)).await?;
        let old = match current {
            Some(id) => listings::of_book(&mut tx, (right.owner, id)).await?,
            None => Vec::new(),
        };
        let new = listings::of_book(&mut tx, (right.owner, id)).await?;
        if !accepts_flagged {
            refuse_flagged(&compare(&old, &new))?;
        }
        books::approve(&mut tx, right.owner, (id, right.by)).await?;
    }
    let standing = standing(&mut tx, right.owner, id).await?;
    store::commit(tx).await?;
    forget(desk, right.owner);
    Ok(standing)
}

/// What needs a yes, by name.
fn refuse_flagged(changes: &[Change]) -> Result<(), Fault> {
    let flagged: Vec<&Change> = changes.iter().filter(|it| !it.guards.is_empty()).collect();
    if flagged.is_empty() {
        return Ok(());
    }
    let named = flagged.iter().take(NAMED_MAX).map(|it| {
        let guards: Vec<String> = it.guards.iter().map(ToString::to_string).collect();
        format!("{}: {}", it.key, guards.join(", "))
    });
    let named: Vec<String> = named.collect();
    let more = flagged.len().saturating_sub(NAMED_MAX);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let problem = format!("needs an explicit yes: {}{more}", named.join("; "));
    Err(Fault::Precondition { reason: "PRICES_NEED_A_YES", problem })
}

/// Takes a version out of effect, or gives it up. Again is harmless.
pub async fn revert_prices(
    desk: Desk<'_>,
    right: BookKeeper,
    id: BookId,
) -> Result<Standing, Fault> {
    let mut tx = desk.store.report_tx(right.owner).await?;
    let missing = Fault::NotFound { what: "price book" };
    let book = books::find(&mut tx, right.owner, (id, true)).await?.ok_or(missing)?;
    if book.reverted.is_none() {
        books::revert(&mut tx, right.owner, (id, right.by)).await?;
    }
    let standing = standing(&mut tx, right.owner, id).await?;
    store::commit(tx).await?;
    forget(desk, right.owner);
    Ok(standing)
}

async fn standing(tx: &mut Tx, owner: TenantId, id: BookId) -> Result<Standing, Fault> {
    let book = books::find(tx, owner, (id, false)).await?.ok_or(Fault::Internal)?;
    let in_effect = books::in_effect(tx, owner, (None, false)).await? == Some(id);
    Ok(Standing { book, in_effect })
}

fn forget(desk: Desk<'_>, owner: TenantId) {
    if owner == TenantId::PLATFORM {
        desk.catalogue.forget_all();
    } else {
        desk.catalogue.forget(owner);
    }
}

/// The versions of a book, newest first.
pub async fn price_books(
    desk: Desk<'_>,
    right: BookReader,
    (platform, slice): (bool, Slice),
) -> Result<Vec<Standing>, Fault> {
    let owner = if platform { TenantId::PLATFORM } else { right.tenant };
    let mut tx = desk.store.report_tx(right.tenant).await?;
    let found = books::list(&mut tx, owner, slice).await?;
    let current = books::in_effect(&mut tx, owner, (None, false)).await?;
    store::commit(tx).await?;
    let standing = |book: Book| Standing { in_effect: current == Some(book.id), book };
    Ok(found.into_iter().map(standing).collect())
}

/// Which version of which book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The one in effect of this owner's.
    InEffect(TenantId),
    /// This one of this owner's.
    Version(TenantId, BookId),
}

/// Rows of a version.
pub async fn listed_prices(
    desk: Desk<'_>,
    right: BookReader,
    (which, filter): (Which, Filter),
    slice: Slice,
) -> Result<Vec<Listed>, Fault> {
    let mut tx = desk.store.report_tx(right.tenant).await?;
    let book = match which {
        Which::InEffect(owner) => {
            books::in_effect(&mut tx, owner, (None, false)).await?.map(|id| (owner, id))
        }
        Which::Version(owner, id) => {
            let found = books::find(&mut tx, owner, (id, false)).await?;
            Some((owner, found.ok_or(Fault::NotFound { what: "price book" })?.id))
        }
    };
    let found = match book {
        Some(it) => listings::page(&mut tx, it, &filter, slice).await?,
        None => Vec::new(),
    };
    store::commit(tx).await?;
    Ok(found)
}

/// What a key costs the reader's tenant today.
pub async fn listed_price(desk: Desk<'_>, right: BookReader, key: &Key) -> Result<Listed, Fault> {
    let mut tx = desk.store.report_tx(right.tenant).await?;
    let found = listings::in_effect(&mut tx, right.tenant, key).await?;
    store::commit(tx).await?;
    found.ok_or(Fault::NotFound { what: "price" })
}

/// Puts the table that came with the program into effect as the platform's book, where
/// there is none, or only an older one that came with a program.
pub async fn ship_prices(desk: Desk<'_>) -> Result<(), Fault> {
    let owner = TenantId::PLATFORM;
    let by = CredentialId::from(Uuid::nil());
    let hash: [u8; 32] = Sha256::digest(SHIPPED.as_bytes()).into();
    let mut tx = desk.store.report_tx(owner).await?;
    ensure_platform(&mut tx).await?;
    let current = match books::in_effect(&mut tx, owner, (None, false)).await? {
        Some(id) => books::find(&mut tx, owner, (id, false)).await?,
        None => None,
    };
    store::commit(tx).await?;
    let is_ours = |it: &Book| it.created.by == by && it.content_sha256 != hash;
    if current.as_ref().is_some_and(|it| !is_ours(it)) {
        return Ok(());
    }
    let right = BookKeeper { owner, by };
    let made = import_prices(desk, right, shipped(false)).await?;
    approve_prices(desk, right, (made.book.id, true)).await?;
    Ok(())
}

/// The table that came with the program.
pub fn shipped(is_preview: bool) -> Import {
    Import {
        format: Format::Table,
        content: SHIPPED.as_bytes().to_vec(),
        source: concat!("shipped with bursar ", env!("CARGO_PKG_VERSION")).to_owned(),
        source_date: Some(SHIPPED_DATE),
        wanted_at: None,
        keeps_missing: false,
        is_preview,
    }
}
