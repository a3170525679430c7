//! Amounts of money: whole nano-units, never floats.

use std::{fmt, str::FromStr};

/// Nano-units in one unit.
pub const NANOS_PER_UNIT: i64 = 1_000_000_000;

/// The largest amount that a limit, a hold or a price may name: a thousand
/// million units. Sums of a few of them still fit the type.
pub const AMOUNT_NANOS_MAX: i64 = 1_000_000_000 * NANOS_PER_UNIT;

/// An amount in nano-units (1e-9) of some currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(i64);

/// A result beyond what an [`Amount`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an amount of money is out of range")]
pub struct OutOfRange;

/// Why a decimal text is not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAnAmount {
    /// Something other than digits and one point.
    #[error("must be a plain decimal such as 0.50")]
    Form,
    /// More than nine decimals.
    #[error("must have at most nine decimals")]
    TooFine,
    /// Beyond [`AMOUNT_NANOS_MAX`].
    #[error("must be at most 1000000000")]
    TooLarge,
}

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount of so many nano-units.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The amount in nano-units.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Whether it is exactly nothing.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, if it fits.
    pub fn plus(self, other: Self) -> Result<Self, OutOfRange> {
        self.0.checked_add(other.0).map(Self).ok_or(OutOfRange)
    }

    /// The difference, if it fits.
    pub fn minus(self, other: Self) -> Result<Self, OutOfRange> {
        self.0.checked_sub(other.0).map(Self).ok_or(OutOfRange)
    }

    /// The same amount with the other sign. The type's least value becomes its greatest.
    pub const fn negated(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl TryFrom<i128> for Amount {
    type Error = OutOfRange;

    fn try_from(nanos: i128) -> Result<Self, OutOfRange> {
        i64::try_from(nanos).map(Self).map_err(|_| OutOfRange)
    }
}

/// A plain decimal with at least two and at most nine decimals: `0.0045`, `12.00`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = NANOS_PER_UNIT.unsigned_abs();
        let (whole, rest) = (self.0.unsigned_abs() / unit, self.0.unsigned_abs() % unit);
        let nine = format!("{rest:09}");
        let kept = nine.trim_end_matches('0').len().max(2);
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{whole}.{}", nine.get(..kept).unwrap_or(&nine))
    }
}

/// Reads a plain, unsigned decimal: no sign, exponent, blank or separator.
impl FromStr for Amount {
    type Err = NotAnAmount;

    fn from_str(text: &str) -> Result<Self, NotAnAmount> {
        scaled_decimal(text, 9, i128::from(AMOUNT_NANOS_MAX))
            .and_then(|it| i64::try_from(it).map_err(|_| NotAnAmount::TooLarge))
            .map(Self)
    }
}

/// Reads an unsigned decimal as a whole number of `10^-places`, at most `max`.
pub fn scaled_decimal(text: &str, places: usize, max: i128) -> Result<i128, NotAnAmount> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(NotAnAmount::Form);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > places {
        return Err(NotAnAmount::TooFine);
    }
    let whole = whole.trim_start_matches('0');
    if whole.len() > 20 {
        return Err(NotAnAmount::TooLarge);
    }
    let joined = format!("0{whole}{fraction:0<places$}");
    let value: i128 = joined.parse().map_err(|_| NotAnAmount::TooLarge)?;
    if value > max { Err(NotAnAmount::TooLarge) } else { Ok(value) }
}

/// An ISO 4217 code: three capital letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

/// A text that is not a currency code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an ISO 4217 code such as EUR")]
pub struct NotACurrency;

impl Currency {
    /// The currency of provider prices.
    pub const USD: Self = Self(*b"USD");

    /// The code.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for Currency {
    type Err = NotACurrency;

    fn from_str(text: &str) -> Result<Self, NotACurrency> {
        let bytes = <[u8; 3]>::try_from(text.as_bytes()).map_err(|_| NotACurrency)?;
        if bytes.iter().all(u8::is_ascii_uppercase) { Ok(Self(bytes)) } else { Err(NotACurrency) }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
