//! Rows of prices: a model's own, and those of the price book.

use sqlx::{PgConnection, Row, postgres::PgRow};

use super::{Error, batch::signed, catalogue::unsigned};
use crate::domain::{
    ids::{ModelId, PriceVersionId, TenantId},
    price::{Price, Prices},
    rates::{Class, Rates, Tier, Tiers},
};

/// Numbers of a tier in a row: its threshold, and a price for each class.
const TIER_NUMBERS: usize = 9;

/// The prices of a version, be it a model's own or a row of a book that it may see.
pub(crate) async fn price_version(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: PriceVersionId,
) -> Result<Option<Prices>, Error> {
    let row = sqlx::query(
        "select input, cache_read, cache_write, output, reasoning, audio_input, audio_output, image,
             request, tiers
         from price_versions where tenant_id = $1 and price_version_id = $2
         union all
         select input, cache_read, cache_write, output, reasoning, audio_input, audio_output, image,
             request, tiers
         from book_prices where tenant_id in ($1, $3) and price_version_id = $2
         limit 1",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .bind(TenantId::PLATFORM.uuid())
    .fetch_optional(connection)
    .await?;
    row.map(|it| prices(&it)).transpose()
}

/// Adds a price version of a model, in effect from now on; no row of the book prices it
/// any more.
pub(crate) async fn add_price(
    connection: &mut PgConnection,
    tenant: TenantId,
    (model, id): (ModelId, PriceVersionId),
    prices: &Prices,
) -> Result<(), Error> {
    let Prices { base, tiers, request } = prices;
    let price = |class| signed(base.price(class).pico_usd());
    sqlx::query(
        "with own as (
             update models set book_provider = null, book_model = null, book_tier = null
             where tenant_id = $1 and model_id = $3 and book_model is not null)
         insert into price_versions (tenant_id, price_version_id, model_id, input, cache_read,
             cache_write, output, reasoning, audio_input, audio_output, image, request, tiers)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(tenant.uuid())
    .bind(id.uuid())
    .bind(model.uuid())
    .bind(price(Class::Input))
    .bind(price(Class::CacheRead))
    .bind(price(Class::CacheWrite))
    .bind(price(Class::Output))
    .bind(price(Class::Reasoning))
    .bind(price(Class::AudioInput))
    .bind(price(Class::AudioOutput))
    .bind(price(Class::Image))
    .bind(signed(*request))
    .bind(tier_numbers(tiers))
    .execute(connection)
    .await?;
    Ok(())
}

/// The prices of a row of either table.
pub(super) fn prices(row: &PgRow) -> Result<Prices, Error> {
    prefixed(row, "")
}

/// The prices of a row that has other columns too: the names of these begin so.
pub(super) fn prefixed(row: &PgRow, prefix: &str) -> Result<Prices, Error> {
    let column = |name: &str| format!("{prefix}{name}");
    let pico = |class: Class| -> Result<Option<Price>, Error> {
        let pico: Option<i64> = row.try_get(column(class.word()).as_str())?;
        pico.map(|it| unsigned(it, class.word()).map(Price::from_pico_usd)).transpose()
    };
    let mut known = [None; Class::ALL.len()];
    for (place, class) in known.iter_mut().zip(Class::ALL) {
        *place = pico(class)?;
    }
    let known = |class| Class::ALL.into_iter().zip(known).find(|(it, _)| *it == class)?.1;
    let tiers: Vec<i64> = row.try_get(column("tiers").as_str())?;
    Ok(Prices {
        base: Rates::filled(known).map_err(|it| Error::Unreadable(it.word()))?,
        tiers: tiers_of(&tiers)?,
        request: unsigned(row.try_get(column("request").as_str())?, "request")?,
    })
}

/// As a row keeps them.
pub(super) fn tier_numbers(tiers: &Tiers) -> Vec<i64> {
    let numbers = |it: &Tier| {
        let prices = it.rates.all().map(|(_, price)| signed(price.pico_usd()));
        std::iter::once(signed(it.above)).chain(prices).collect::<Vec<_>>()
    };
    tiers.iter().flat_map(numbers).collect()
}

fn tiers_of(numbers: &[i64]) -> Result<Tiers, Error> {
    let unreadable = || Error::Unreadable("tiers");
    let tier = |it: &[i64]| -> Result<Tier, Error> {
        let (above, prices) = it.split_first().ok_or_else(unreadable)?;
        let price = |class| {
            let known = Class::ALL.into_iter().zip(prices).find(|(it, _)| *it == class);
            known.and_then(|(_, it)| u64::try_from(*it).ok()).map(Price::from_pico_usd)
        };
        let rates = Rates::filled(price).map_err(|_| unreadable())?;
        Ok(Tier { above: unsigned(*above, "tiers")?, rates })
    };
    let tiers: Result<Vec<Tier>, Error> = numbers.chunks(TIER_NUMBERS).map(tier).collect();
    Tiers::new(&tiers?).map_err(|_| unreadable())
}
