//! Rows of price books.

use jiff::civil::{Date, date};
use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::{
    Error,
    batch::signed,
    instant::Day,
    prices::{prices, tier_numbers},
};
use crate::domain::{
    book::{Key, Listing},
    ids::{BookId, ModelId, PriceVersionId, TenantId},
    rates::Class,
};

/// The first day of a row that counts always.
const ALWAYS: Date = date(1, 1, 1);

/// Rows that are written in one statement.
const ROWS_AT_ONCE: usize = 2_000;

/// A row as it stands in a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The id that entries name.
    pub version: PriceVersionId,
    /// Whose book.
    pub owner: TenantId,
    /// Which version of it.
    pub book: BookId,
    /// The row.
    pub listing: Listing,
}

/// Which rows are wanted; empty: all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Of this provider.
    pub provider: String,
    /// Of models whose names hold this.
    pub model: String,
}

/// Adds the rows of a version. Their ids follow from the version's in their order, so
/// that a page is a range of them.
pub(crate) async fn add(
    connection: &mut PgConnection,
    (owner, book): (TenantId, BookId),
    rows: &[Listing],
) -> Result<(), Error> {
    for (chunk, rows) in rows.chunks(ROWS_AT_ONCE).enumerate() {
        let first = chunk.saturating_mul(ROWS_AT_ONCE);
        add_some(&mut *connection, (owner, book, first), rows).await?;
    }
    Ok(())
}

async fn add_some(
    connection: &mut PgConnection,
    (owner, book, first): (TenantId, BookId, usize),
    rows: &[Listing],
) -> Result<(), Error> {
    let texts = |of: fn(&Listing) -> &String| -> Vec<String> {
        rows.iter().map(|it| of(it).clone()).collect()
    };
    let prices = |class: Class| -> Vec<i64> {
        rows.iter().map(|it| signed(it.prices.base.price(class).pico_usd())).collect()
    };
    let ids = rows.iter().enumerate().map(|(at, _)| row_id(book, first.saturating_add(at)));
    // An array of arrays would have to be even.
    let tiers = rows.iter().map(|it| {
        let numbers = tier_numbers(&it.prices.tiers);
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        format!("{{{}}}", numbers.join(","))
    });
    sqlx::query(
        "insert into book_prices (tenant_id, book_id, price_version_id, provider, model,
             service_tier, effective_from, input, cache_read, cache_write, output, reasoning,
             audio_input, audio_output, image, request, tiers, is_rounded)
         select $1, $2, t.id, t.provider, t.model, t.tier, t.day::date, t.input, t.cache_read,
             t.cache_write, t.output, t.reasoning, t.audio_input, t.audio_output, t.image,
             t.request, t.tiers::bigint[], t.is_rounded
         from unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
             $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
             $14::bigint[], $15::bigint[], $16::bigint[], $17::text[], $18::boolean[])
             as t (id, provider, model, tier, day, input, cache_read, cache_write, output,
                 reasoning, audio_input, audio_output, image, request, tiers, is_rounded)",
    )
    .bind(owner.uuid())
    .bind(book.uuid())
    .bind(ids.collect::<Vec<Uuid>>())
    .bind(texts(|it| &it.key.provider))
    .bind(texts(|it| &it.key.model))
    .bind(texts(|it| &it.key.service_tier))
    .bind(rows.iter().map(|it| it.from.unwrap_or(ALWAYS).to_string()).collect::<Vec<_>>())
    .bind(prices(Class::Input))
    .bind(prices(Class::CacheRead))
    .bind(prices(Class::CacheWrite))
    .bind(prices(Class::Output))
    .bind(prices(Class::Reasoning))
    .bind(prices(Class::AudioInput))
    .bind(prices(Class::AudioOutput))
    .bind(prices(Class::Image))
    .bind(rows.iter().map(|it| signed(it.prices.request)).collect::<Vec<_>>())
    .bind(tiers.collect::<Vec<String>>())
    .bind(rows.iter().map(|it| it.is_rounded).collect::<Vec<bool>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// The id of the row at a place of a version.
fn row_id(book: BookId, at: usize) -> Uuid {
    let place = u128::try_from(at).unwrap_or(0) & u128::from(u32::MAX);
    let above = book.uuid().as_u128() >> 32;
    // The last four bytes of a version 7 id are random alone: the rest stays unique.
    Uuid::from_u128((above << 32) | place)
}

/// All rows of a version.
pub(crate) async fn of_book(
    connection: &mut PgConnection,
    (owner, book): (TenantId, BookId),
) -> Result<Vec<Listing>, Error> {
    let rows = sqlx::query(
        "select * from book_prices where tenant_id = $1 and book_id = $2
         order by provider, model, service_tier, effective_from",
    )
    .bind(owner.uuid())
    .bind(book.uuid())
    .fetch_all(connection)
    .await?;
    rows.iter().map(|it| listed(it).map(|it| it.listing)).collect()
}

/// Rows of a version after `after`, by id.
pub(crate) async fn page(
    connection: &mut PgConnection,
    (owner, book): (TenantId, BookId),
    filter: &Filter,
    (after, most): (Option<Uuid>, i64),
) -> Result<Vec<Listed>, Error> {
    let rows = sqlx::query(
        "select * from book_prices
         where tenant_id = $1 and book_id = $2 and ($3::uuid is null or price_version_id > $3)
             and ($4 = '' or provider = $4) and ($5 = '' or strpos(lower(model), lower($5)) > 0)
         order by price_version_id limit $6",
    )
    .bind(owner.uuid())
    .bind(book.uuid())
    .bind(after)
    .bind(&filter.provider)
    .bind(&filter.model)
    .bind(most)
    .fetch_all(connection)
    .await?;
    rows.iter().map(listed).collect()
}

/// What a key costs a tenant today: by its own book, else by the platform's.
pub(crate) async fn in_effect(
    connection: &mut PgConnection,
    tenant: TenantId,
    key: &Key,
) -> Result<Option<Listed>, Error> {
    let row = sqlx::query(
        "select r.* from (
             select distinct on (v.tenant_id) v.tenant_id, v.book_id from price_books v
             where v.tenant_id in ($1, $2) and v.approved_at is not null
                 and v.reverted_at is null and v.effective_at <= now()
             order by v.tenant_id, v.effective_at desc, v.book_id desc) v
         join book_prices r on r.tenant_id = v.tenant_id and r.book_id = v.book_id
         where r.provider = $3 and r.model = $4 and r.service_tier = $5
             and r.effective_from <= (now() at time zone 'utc')::date
         order by (r.tenant_id = $1) desc, r.effective_from desc limit 1",
    )
    .bind(tenant.uuid())
    .bind(TenantId::PLATFORM.uuid())
    .bind(&key.provider)
    .bind(&key.model)
    .bind(&key.service_tier)
    .fetch_optional(connection)
    .await?;
    row.map(|it| listed(&it)).transpose()
}

/// Lets a row of the book price a model from now on.
pub(crate) async fn follow(
    connection: &mut PgConnection,
    tenant: TenantId,
    (model, key): (ModelId, &Key),
) -> Result<(), Error> {
    sqlx::query(
        "update models set book_provider = $3, book_model = $4, book_tier = $5
         where tenant_id = $1 and model_id = $2",
    )
    .bind(tenant.uuid())
    .bind(model.uuid())
    .bind(&key.provider)
    .bind(&key.model)
    .bind(&key.service_tier)
    .execute(connection)
    .await?;
    Ok(())
}

/// Which row of the book prices a model, if one does.
pub(super) fn followed(row: &PgRow) -> Result<Option<Key>, Error> {
    let model: Option<String> = row.try_get("book_model")?;
    let Some(model) = model else { return Ok(None) };
    Ok(Some(Key {
        provider: row.try_get("book_provider")?,
        model,
        service_tier: row.try_get("book_tier")?,
    }))
}

fn listed(row: &PgRow) -> Result<Listed, Error> {
    let from = row.try_get::<Day, _>("effective_from")?.0;
    Ok(Listed {
        version: row.try_get::<Uuid, _>("price_version_id")?.into(),
        owner: row.try_get::<Uuid, _>("tenant_id")?.into(),
        book: row.try_get::<Uuid, _>("book_id")?.into(),
        listing: Listing {
            key: Key {
                provider: row.try_get("provider")?,
                model: row.try_get("model")?,
                service_tier: row.try_get("service_tier")?,
            },
            from: (from != ALWAYS).then_some(from),
            prices: prices(row)?,
            is_rounded: row.try_get("is_rounded")?,
        },
    })
}
