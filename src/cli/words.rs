//! The wire's amounts, enums and limits as the command line says them.

use super::{
    record::{Record, Value},
    stop::Stop,
};
use crate::{
    domain::money::{Amount, Currency, NANOS_PER_UNIT},
    proto::{EnvelopeLeft, EnvelopeLimits, LimitKind, LimitStatus, Money, Usage},
};

/// An amount as a plain decimal, such as `0.0045`.
pub fn decimal(money: &Money) -> String {
    let nanos = i128::from(money.units) * i128::from(NANOS_PER_UNIT) + i128::from(money.nanos);
    Amount::try_from(nanos).map_or_else(|_| "out of range".to_owned(), |it| it.to_string())
}

/// An amount with its currency, such as `0.0045 EUR`.
pub fn with_currency(money: &Money) -> String {
    format!("{} {}", decimal(money), money.currency_code).trim_end().to_owned()
}

/// Reads `0.50`, `0.50 EUR` or `0.50EUR`. Without a currency it is the tenant's own.
pub fn money(text: &str) -> Result<Money, String> {
    let text = text.trim();
    let split = text.find(|it: char| it.is_ascii_alphabetic()).unwrap_or(text.len());
    let (amount, currency) = text.split_at(split);
    let amount: Amount = amount.trim_end().parse().map_err(|it| format!("{it}"))?;
    if !currency.is_empty() {
        let _checked: Currency = currency.parse().map_err(|it| format!("the currency {it}"))?;
    }
    let nanos = amount.nanos() % NANOS_PER_UNIT;
    Ok(Money {
        currency_code: currency.to_owned(),
        units: amount.nanos() / NANOS_PER_UNIT,
        nanos: i32::try_from(nanos).map_err(|it| it.to_string())?,
    })
}

/// An enum's value without its type's name: `OUTCOME_COMPLETE` is `COMPLETE`;
/// null where it is unspecified.
pub fn word(name: &str, prefix: &str) -> Value {
    match name.strip_prefix(prefix).unwrap_or(name) {
        "UNSPECIFIED" => Value::Null,
        it => Value::Text(it.to_owned()),
    }
}

/// A limit as it stood, amounts as decimals.
pub fn limit(it: &LimitStatus) -> Record {
    let amount = |text: &str| match (it.kind(), text.parse::<Amount>()) {
        (LimitKind::Money, Ok(amount)) => Value::Text(amount.to_string()),
        (_, _) => Value::text_or_null(text),
    };
    Record::new()
        .with("name", Value::text_or_null(&it.name))
        .with("kind", word(it.kind().as_str_name(), "LIMIT_KIND_"))
        .with("held", amount(&it.held))
        .with("settled", amount(&it.settled))
        .with("overrun", amount(&it.overrun))
        .with("limit", amount(&it.limit))
        .with("resets_at", Value::text_or_null(&it.resets_at))
        .with("share", it.share)
}

/// Tokens by class.
pub fn usage(it: &Usage) -> Record {
    Record::new()
        .with("input", it.input)
        .with("cache_read", it.cache_read)
        .with("cache_write", it.cache_write)
        .with("output", it.output)
        .with("reasoning", it.reasoning)
}

/// What an envelope still allows.
pub fn left(it: &EnvelopeLeft) -> Record {
    Record::new()
        .with("calls", it.calls)
        .with("seconds", it.seconds)
        .with("money", it.money.as_ref().map(decimal))
        .with("tokens", it.tokens)
}

/// What an envelope allows at all.
pub fn limits(it: &EnvelopeLimits) -> Record {
    let landing = it.landing.as_ref().map(|it| {
        Record::new().with("reserve", it.reserve.as_ref().map(decimal)).with("tokens", it.tokens)
    });
    Record::new()
        .with("calls", it.calls)
        .with("seconds", it.seconds)
        .with("money", it.money.as_ref().map(decimal))
        .with("tokens", it.tokens)
        .with("concurrent_calls", it.concurrent_calls)
        .with("landing", landing)
}

/// A thing that the reply must hold.
pub fn need<T>(it: Option<T>) -> Result<T, Stop> {
    it.ok_or_else(|| Stop::new("the service's reply is incomplete; are both of one version?"))
}
