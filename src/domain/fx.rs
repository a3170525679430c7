//! From the provider's USD to the tenant's currency, once, in whole numbers.

use super::{
    ids::FxRateId,
    money::{Amount, OutOfRange},
};

/// Days after its fixing on which a rate counts as fresh: a long weekend.
const FRESH_DAYS: i32 = 4;

/// What a rate's age adds to a cost, in hundredths of a percent.
const BUFFER_BASIS_POINTS: u32 = 200;

const BASIS_POINTS: i128 = 10_000;

/// The rate that a call was held at and is settled at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FxQuote {
    /// The rate's id, for the ledger.
    pub rate: FxRateId,
    /// Nano-USD that one unit of the tenant's currency buys; above zero.
    pub usd_nanos_per_unit: u64,
    /// What the rate's age adds, in hundredths of a percent.
    pub buffer_basis_points: u32,
}

/// A cost in the tenant's currency. `total` is `provider` and `buffer` together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// All of it.
    pub total: Amount,
    /// The provider's share.
    pub provider: Amount,
    /// What the rate's age added.
    pub buffer: Amount,
}

/// Days that a fixing may lie ahead: somewhere it is tomorrow already.
pub const AHEAD_DAYS_MAX: i32 = 1;

/// The buffer for a rate of this age: a stale rate costs more and is never refused. One
/// from days to come is as good as stale, or it would count as fresh for too long.
pub const fn buffer_for_age(days: i32) -> u32 {
    if days > FRESH_DAYS || days < -AHEAD_DAYS_MAX { BUFFER_BASIS_POINTS } else { 0 }
}

impl FxQuote {
    /// A bound: rounded up, buffer included.
    pub fn bound(&self, pico_usd: i128) -> Result<Amount, OutOfRange> {
        let (numerator, denominator) = self.fraction(pico_usd)?;
        let up = numerator.checked_add(denominator - 1).ok_or(OutOfRange)?;
        Amount::try_from(up.div_euclid(denominator))
    }

    /// The truth: rounded half-even, once.
    pub fn cost(&self, pico_usd: i128) -> Result<Cost, OutOfRange> {
        let (numerator, denominator) = self.fraction(pico_usd)?;
        let total = Amount::try_from(half_even(numerator, denominator))?;
        self.split(total)
    }

    /// Splits an amount that is booked as it stands, such as a whole hold.
    pub fn split(&self, total: Amount) -> Result<Cost, OutOfRange> {
        let with_buffer = BASIS_POINTS + i128::from(self.buffer_basis_points);
        let provider = half_even(i128::from(total.nanos()) * BASIS_POINTS, with_buffer);
        let provider = Amount::try_from(provider)?;
        Ok(Cost { total, provider, buffer: total.minus(provider)? })
    }

    /// The most pico-USD whose bound is at most `amount`; the inverse of [`Self::bound`].
    pub fn affords(&self, amount: Amount) -> i128 {
        let with_buffer = BASIS_POINTS + i128::from(self.buffer_basis_points);
        let value = i128::from(amount.nanos().max(0)) * i128::from(self.usd_nanos_per_unit);
        // nano-units x nano-USD per unit = 1e-18 USD, a millionth of a pico-USD.
        value.saturating_mul(BASIS_POINTS) / (with_buffer * 1_000_000)
    }

    /// Nano-units as a fraction: pico-USD x 1e6 / rate, the buffer on top.
    fn fraction(&self, pico_usd: i128) -> Result<(i128, i128), OutOfRange> {
        let with_buffer = BASIS_POINTS + i128::from(self.buffer_basis_points);
        let numerator = pico_usd
            .checked_mul(1_000_000)
            .and_then(|it| it.checked_mul(with_buffer))
            .ok_or(OutOfRange)?;
        Ok((numerator, i128::from(self.usd_nanos_per_unit.max(1)) * BASIS_POINTS))
    }
}

/// Division of a non-negative number, a tie going to the even neighbour.
fn half_even(numerator: i128, denominator: i128) -> i128 {
    let (quotient, rest) = (numerator.div_euclid(denominator), numerator.rem_euclid(denominator));
    match (rest * 2).cmp(&denominator) {
        std::cmp::Ordering::Less => quotient,
        std::cmp::Ordering::Greater => quotient + 1,
        std::cmp::Ordering::Equal => quotient + quotient.rem_euclid(2),
    }
}
