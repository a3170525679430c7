//! Money on the wire: units and nanos, as google.type.Money.

use crate::{
    domain::{
        fault::Fault,
        money::{AMOUNT_NANOS_MAX, Amount, Currency, NANOS_PER_UNIT},
    },
    proto,
};

/// Reads an amount of the tenant's currency, which an empty code stands for too: a
/// tenant has one. Not negative, at most [`AMOUNT_NANOS_MAX`].
pub fn amount(field: &str, it: &proto::Money, currency: Currency) -> Result<Amount, Fault> {
    let wrong = |part: &str, problem: &str| Fault::invalid(format!("{field}.{part}"), problem);
    let proto::Money { currency_code, units, nanos } = it;
    if !currency_code.is_empty() && currency_code != currency.code() {
        let problem = format!("must be the tenant's currency, {currency}");
        return Err(wrong("currency_code", &problem));
    }
    let nanos = i64::from(*nanos);
    if !(1 - NANOS_PER_UNIT..NANOS_PER_UNIT).contains(&nanos) {
        return Err(wrong("nanos", "must be from -999999999 to 999999999"));
    }
    if units.signum() * nanos.signum() < 0 {
        return Err(wrong("nanos", "must have the sign of units"));
    }
    if *units < 0 {
        return Err(wrong("units", "must not be negative"));
    }
    if nanos < 0 {
        return Err(wrong("nanos", "must not be negative"));
    }
    units
        .checked_mul(NANOS_PER_UNIT)
        .and_then(|it| it.checked_add(nanos))
        .filter(|it| *it <= AMOUNT_NANOS_MAX)
        .map(Amount::from_nanos)
        .ok_or_else(|| wrong("units", "must be at most 1000000000"))
}

/// Reads an amount above zero.
pub fn positive(field: &str, it: &proto::Money, currency: Currency) -> Result<Amount, Fault> {
    let amount = amount(field, it, currency)?;
    if amount.is_zero() {
        return Err(Fault::invalid(field, "must be above zero"));
    }
    Ok(amount)
}

/// An amount for the wire, of either sign.
pub fn to_wire(amount: Amount, currency: Currency) -> proto::Money {
    let (units, nanos) = (amount.nanos() / NANOS_PER_UNIT, amount.nanos() % NANOS_PER_UNIT);
    proto::Money {
        currency_code: currency.code().to_owned(),
        units,
        // Below a thousand million, so it fits.
        nanos: i32::try_from(nanos).unwrap_or_default(),
    }
}
