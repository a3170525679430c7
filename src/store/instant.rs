//! Postgres' `timestamptz` and `date` as jiff's types: whole microseconds, no floats.

use jiff::{Timestamp, civil::Date};
use sqlx::{
    Decode, Encode, Postgres, Type,
    encode::IsNull,
    error::BoxDynError,
    postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef, types::Oid},
};

/// Microseconds from the Unix epoch to 2000-01-01, where Postgres counts from.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// Postgres' oids of `timestamptz`, its array, and `date`.
const TIMESTAMPTZ: Oid = Oid(1184);
const TIMESTAMPTZ_ARRAY: Oid = Oid(1185);
const DATE: Oid = Oid(1082);

/// A [`Timestamp`] as a `timestamptz`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant(pub(crate) Timestamp);

/// A [`Date`] as a `date`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Day(pub(crate) Date);

impl Type<Postgres> for Instant {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ)
    }
}

impl PgHasArrayType for Instant {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ_ARRAY)
    }
}

impl Encode<'_, Postgres> for Instant {
    fn encode_by_ref(&self, buf: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let micros =
            self.0.as_microsecond().checked_sub(EPOCH_MICROS).ok_or("instant out of range")?;
        buf.extend_from_slice(&micros.to_be_bytes());
        Ok(IsNull::No)
    }
}

impl Decode<'_, Postgres> for Instant {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        let micros = i64::from_be_bytes(value.as_bytes()?.try_into()?);
        let unix = micros.checked_add(EPOCH_MICROS).ok_or("instant out of range")?;
        Ok(Self(Timestamp::from_microsecond(unix)?))
    }
}

impl Type<Postgres> for Day {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(DATE)
    }
}

impl Encode<'_, Postgres> for Day {
    fn encode_by_ref(&self, buf: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let days = self.0.since((jiff::Unit::Day, jiff::civil::date(2000, 1, 1)))?.get_days();
        buf.extend_from_slice(&days.to_be_bytes());
        Ok(IsNull::No)
    }
}

impl Decode<'_, Postgres> for Day {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        let days = i32::from_be_bytes(value.as_bytes()?.try_into()?);
        let epoch = jiff::civil::date(2000, 1, 1);
        Ok(Self(epoch.checked_add(jiff::Span::new().try_days(days)?)?))
    }
}
