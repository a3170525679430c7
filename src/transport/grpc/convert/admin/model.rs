//! Models, prices and exchange rates.

use crate::{
    domain::{
        draft::{self, Tariff},
        fault::Fault,
        money::{Currency, NANOS_PER_UNIT, scaled_decimal},
        vocabulary::Tokenizer,
    },
    proto,
    transport::grpc::convert::{
        field::{At, alias, count, optional, required, within},
        prices,
    },
};

const VENDOR_BYTES_MAX: usize = 256;
const PROVIDER_BYTES_MAX: usize = 64;
const TIER_BYTES_MAX: usize = 32;
const TOKENS_MAX: i64 = 100_000_000;

/// USD per unit at most: no currency is worth more.
const USD_PER_UNIT_MAX: i64 = 1_000_000;

/// Reads a model with its price; what is for output only is ignored.
pub fn model(it: Option<&proto::Model>) -> Result<draft::Model, Fault> {
    let it = it.ok_or_else(|| Fault::invalid("model", "is required"))?;
    read(it).at("model")
}

fn read(it: &proto::Model) -> Result<draft::Model, Fault> {
    let context_tokens = count("context_tokens", it.context_tokens, 1..=TOKENS_MAX)?;
    let max_output_tokens = count("max_output_tokens", it.max_output_tokens, 1..=TOKENS_MAX)?;
    if max_output_tokens > context_tokens {
        return Err(Fault::invalid("max_output_tokens", "must be at most context_tokens"));
    }
    Ok(draft::Model {
        alias: alias("alias", &it.alias)?,
        backend: alias("backend", &it.backend)?,
        vendor_model: required("vendor_model", &it.vendor_model, VENDOR_BYTES_MAX)?,
        context_tokens,
        max_output_tokens,
        tools: it.tools,
        image_tokens_max: count("image_tokens_max", it.image_tokens_max, 0..=TOKENS_MAX)?,
        audio_tokens_max: count("audio_tokens_max", it.audio_tokens_max, 0..=TOKENS_MAX)?,
        tokenizer: tokenizer(&it.tokenizer)?,
        intelligence: percent("intelligence", it.intelligence)?,
        speed: percent("speed", it.speed)?,
        tariff: tariff("price", it.price.as_ref(), it.price_source.as_ref())?,
    })
}

/// Reads what prices a model: prices of its own, or a row of the price book.
fn tariff(
    field: &str,
    price: Option<&proto::Price>,
    source: Option<&proto::PriceSource>,
) -> Result<Tariff, Fault> {
    match (price, source) {
        (Some(_), Some(_)) => Err(Fault::invalid("price_source", "must not be with a price")),
        (Some(_), None) => Ok(Tariff::Own(prices::read(field, price)?)),
        (None, Some(it)) => Ok(Tariff::Listed(listed(it).at("price_source")?)),
        (None, None) => Ok(Tariff::Listed(draft::Listed::default())),
    }
}

/// Reads what is to price a model from now on: one of both has to be said.
pub fn new_tariff(it: &proto::SetPriceRequest) -> Result<Tariff, Fault> {
    let (price, source) = (it.price.as_ref(), it.price_source.as_ref());
    if price.is_none() && source.is_none() {
        return Err(Fault::invalid("price", "is required, or a price_source"));
    }
    tariff("price", price, source)
}

fn listed(it: &proto::PriceSource) -> Result<draft::Listed, Fault> {
    Ok(draft::Listed {
        provider: optional("provider", &it.provider, PROVIDER_BYTES_MAX)?,
        model: optional("model", &it.model, VENDOR_BYTES_MAX)?,
        service_tier: optional("service_tier", &it.service_tier, TIER_BYTES_MAX)?,
    })
}

fn tokenizer(word: &str) -> Result<Tokenizer, Fault> {
    let problem = "must be auto, bytes, o200k_base or cl100k_base";
    let it = if word.is_empty() { Some(Tokenizer::Auto) } else { Tokenizer::of_word(word) };
    it.ok_or_else(|| Fault::invalid("tokenizer", problem))
}

fn percent(field: &'static str, value: i32) -> Result<u8, Fault> {
    let value = within(field, i64::from(value), 0..=100)?;
    u8::try_from(value).map_err(|_| Fault::invalid(field, "must be from 0 to 100"))
}

/// Reads a rate of the tenant's currency.
pub fn fx_rate(it: Option<&proto::FxRate>, currency: Currency) -> Result<draft::FxRate, Fault> {
    let it = it.ok_or_else(|| Fault::invalid("fx_rate", "is required"))?;
    let wrong = |part: &str, problem: String| Fault::invalid(format!("fx_rate.{part}"), problem);
    if it.currency_code != currency.code() {
        let problem = format!("must be the tenant's currency, {currency}");
        return Err(wrong("currency_code", problem));
    }
    let max = i128::from(USD_PER_UNIT_MAX) * i128::from(NANOS_PER_UNIT);
    let rate = scaled_decimal(&it.usd_per_unit, 9, max)
        .ok()
        .and_then(|it| u64::try_from(it).ok())
        .filter(|it| *it > 0);
    let problem = "must be a plain decimal above 0 and at most 1000000, with at most nine decimals";
    let usd_nanos_per_unit = rate.ok_or_else(|| wrong("usd_per_unit", problem.to_owned()))?;
    let day = it.fixing_date.parse().ok().filter(|_| it.fixing_date.len() == 10);
    let fixing_date =
        day.ok_or_else(|| wrong("fixing_date", "must be a date such as 2026-07-28".to_owned()))?;
    Ok(draft::FxRate { currency, usd_nanos_per_unit, fixing_date })
}
