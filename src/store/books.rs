//! Versions of price books.

use jiff::{Timestamp, civil::Date};
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{
    Error,
    instant::{Day, Instant},
};
use crate::domain::ids::{BookId, CredentialId, TenantId};

/// A version: all that one import lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Book {
    /// Its id.
    pub id: BookId,
    /// Whose.
    pub owner: TenantId,
    /// How the content was written.
    pub format: String,
    /// Where it came from, as the importer says.
    pub source: String,
    /// SHA-256 of the content.
    pub content_sha256: [u8; 32],
    /// The day that the source speaks of.
    pub source_date: Date,
    /// Rows listed, refused, and of no use for sampling.
    pub counts: Counts,
    /// From when on it is to count; none: from its approval.
    pub wanted_at: Option<Timestamp>,
    /// When it was imported, and by whom.
    pub created: Deed,
    /// When it was approved, and by whom.
    pub approved: Option<Deed>,
    /// From when on it counts.
    pub effective_at: Option<Timestamp>,
    /// When it was reverted, and by whom.
    pub reverted: Option<Deed>,
}

/// How many rows a source has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Rows of the version.
    pub listings: i32,
    /// Rows that were refused.
    pub refused: i32,
    /// Models without a price per token.
    pub passed_over: i32,
}

/// Who did something, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deed {
    /// When.
    pub at: Timestamp,
    /// With which key.
    pub by: CredentialId,
}

/// Adds a version that awaits approval.
pub(crate) async fn add(connection: &mut PgConnection, it: &Book) -> Result<(), Error> {
    sqlx::query(
        "insert into price_books (tenant_id, book_id, format, source, content_sha256, source_date,
             listings, refused, passed_over, wanted_at, created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(it.owner.uuid())
    .bind(it.id.uuid())
    .bind(&it.format)
    .bind(&it.source)
    .bind(it.content_sha256.as_slice())
    .bind(Day(it.source_date))
    .bind(it.counts.listings)
    .bind(it.counts.refused)
    .bind(it.counts.passed_over)
    .bind(it.wanted_at.map(Instant))
    .bind(it.created.by.uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// How many versions of an owner await approval.
pub(crate) async fn pending(connection: &mut PgConnection, owner: TenantId) -> Result<i64, Error> {
    let statement = "select count(*) from price_books
         where tenant_id = $1 and approved_at is null and reverted_at is null";
    Ok(sqlx::query_scalar(statement).bind(owner.uuid()).fetch_one(connection).await?)
}

/// A version. Locked against another's approval of it, if this is to write.
pub(crate) async fn find(
    connection: &mut PgConnection,
    owner: TenantId,
    (id, locked): (BookId, bool),
) -> Result<Option<Book>, Error> {
    let statement = if locked {
        "select * from price_books where tenant_id = $1 and book_id = $2 for no key update"
    } else {
        "select * from price_books where tenant_id = $1 and book_id = $2"
    };
    let row = sqlx::query(statement)
        .bind(owner.uuid())
        .bind(id.uuid())
        .fetch_optional(connection)
        .await?;
    row.map(|it| book(&it)).transpose()
}

/// The version of an owner that is in effect at an instant; none given: now. Locked, so
/// that two approvals compare themselves with each other and not both with this one.
pub(crate) async fn in_effect(
    connection: &mut PgConnection,
    owner: TenantId,
    (at, locked): (Option<Timestamp>, bool),
) -> Result<Option<BookId>, Error> {
    let statement = if locked {
        "select book_id from price_books
         where tenant_id = $1 and approved_at is not null and reverted_at is null
             and effective_at <= greatest(coalesce($2, now()), now())
         order by effective_at desc, book_id desc limit 1 for no key update"
    } else {
        "select book_id from price_books
         where tenant_id = $1 and approved_at is not null and reverted_at is null
             and effective_at <= greatest(coalesce($2, now()), now())
         order by effective_at desc, book_id desc limit 1"
    };
    let id: Option<Uuid> = sqlx::query_scalar(statement)
        .bind(owner.uuid())
        .bind(at.map(Instant))
        .fetch_optional(connection)
        .await?;
    Ok(id.map(Into::into))
}

/// The versions before `before`, newest first.
pub(crate) async fn list(
    connection: &mut PgConnection,
    owner: TenantId,
    (before, most): (Option<Uuid>, i64),
) -> Result<Vec<Book>, Error> {
    let rows = sqlx::query(
        "select * from price_books where tenant_id = $1 and ($2::uuid is null or book_id < $2)
         order by book_id desc limit $3",
    )
    .bind(owner.uuid())
    .bind(before)
    .bind(most)
    .fetch_all(connection)
    .await?;
    rows.iter().map(book).collect()
}

/// Puts a version into effect: from the instant that was wanted, never before now.
pub(crate) async fn approve(
    connection: &mut PgConnection,
    owner: TenantId,
    (id, by): (BookId, CredentialId),
) -> Result<(), Error> {
    sqlx::query(
        "update price_books
         set approved_at = now(), approved_by = $3,
             effective_at = greatest(coalesce(wanted_at, now()), now())
         where tenant_id = $1 and book_id = $2",
    )
    .bind(owner.uuid())
    .bind(id.uuid())
    .bind(by.uuid())
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes a version out of effect, or gives it up before it ever was.
pub(crate) async fn revert(
    connection: &mut PgConnection,
    owner: TenantId,
    (id, by): (BookId, CredentialId),
) -> Result<(), Error> {
    sqlx::query(
        "update price_books set reverted_at = now(), reverted_by = $3
         where tenant_id = $1 and book_id = $2",
    )
    .bind(owner.uuid())
    .bind(id.uuid())
    .bind(by.uuid())
    .execute(connection)
    .await?;
    Ok(())
}

fn book(row: &PgRow) -> Result<Book, Error> {
    let deed = |at: &'static str, by: &'static str| -> Result<Option<Deed>, Error> {
        let (at, by): (Option<Instant>, Option<Uuid>) = (row.try_get(at)?, row.try_get(by)?);
        Ok(at.zip(by).map(|(at, by)| Deed { at: at.0, by: by.into() }))
    };
    let instant = |name: &'static str| -> Result<Option<Timestamp>, Error> {
        Ok(row.try_get::<Option<Instant>, _>(name)?.map(|it| it.0))
    };
    let hash: Vec<u8> = row.try_get("content_sha256")?;
    Ok(Book {
        id: row.try_get::<Uuid, _>("book_id")?.into(),
        owner: row.try_get::<Uuid, _>("tenant_id")?.into(),
        format: row.try_get("format")?,
        source: row.try_get("source")?,
        content_sha256: hash.try_into().map_err(|_| Error::Unreadable("content_sha256"))?,
        source_date: row.try_get::<Day, _>("source_date")?.0,
        counts: Counts {
            listings: row.try_get("listings")?,
            refused: row.try_get("refused")?,
            passed_over: row.try_get("passed_over")?,
        },
        wanted_at: instant("wanted_at")?,
        created: deed("created_at", "created_by")?.ok_or(Error::Unreadable("created_at"))?,
        approved: deed("approved_at", "approved_by")?,
        effective_at: instant("effective_at")?,
        reverted: deed("reverted_at", "reverted_by")?,
    })
}
