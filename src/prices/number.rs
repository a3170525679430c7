//! Numbers of JSON as whole numbers of a small unit: exactly, never by way of a float.

/// Digits that a price may have; no source comes near.
const DIGITS_MAX: usize = 64;

/// Powers of ten by which a number may be scaled.
const EXPONENT_MAX: i32 = 64;

/// A number in a small unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scaled {
    /// How many of the unit, rounded half-even.
    pub value: u64,
    /// Whether it had to be rounded.
    pub is_rounded: bool,
}

/// Reads a JSON number as a whole number of `10^-places`, at most `max`.
///
/// The error says what is wrong, and never what was there.
pub fn scaled(json: &str, places: i32, max: u64) -> Result<Scaled, &'static str> {
    let (mantissa, exponent) = split_exponent(json)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if whole.is_empty() || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return Err("must be a number");
    }
    if digits.len() > DIGITS_MAX {
        return Err("has too many digits");
    }
    let fraction_digits = i32::try_from(fraction.len()).map_err(|_| "has too many digits")?;
    let shift = exponent - fraction_digits + places;
    let scaled = if shift >= 0 { grown(&digits, shift) } else { rounded(&digits, -shift) };
    scaled.filter(|it| it.value <= max).ok_or("is absurdly high")
}

/// The digits before an exponent, and it.
fn split_exponent(json: &str) -> Result<(&str, i32), &'static str> {
    if json.starts_with('-') && json.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
        return Err("must not be negative");
    }
    let Some((mantissa, exponent)) = json.split_once(['e', 'E']) else { return Ok((json, 0)) };
    if !mantissa.bytes().all(|it| it.is_ascii_digit() || it == b'.') {
        return Err("must be a number");
    }
    let exponent: i32 = exponent.parse().map_err(|_| "must be a number")?;
    if exponent.abs() > EXPONENT_MAX {
        return Err("has an absurd exponent");
    }
    Ok((mantissa, exponent))
}

/// Times a power of ten; none where that is beyond every measure.
fn grown(digits: &str, by: i32) -> Option<Scaled> {
    let digits: u128 = digits.parse().ok()?;
    let by = u32::try_from(by).ok()?;
    let value = if digits == 0 { 0 } else { digits.checked_mul(10_u128.checked_pow(by)?)? };
    Some(Scaled { value: value.try_into().ok()?, is_rounded: false })
}

/// Divided by a power of ten, a tie going to the even neighbour.
fn rounded(digits: &str, by: i32) -> Option<Scaled> {
    let by = usize::try_from(by).ok()?;
    let padded = format!("{digits:0>width$}", width = by + 1);
    let (kept, cut) = padded.split_at(padded.len() - by);
    let kept: u64 = kept.parse().ok()?;
    let cut = cut.trim_end_matches('0');
    let up = match cut.as_bytes() {
        [] => return Some(Scaled { value: kept, is_rounded: false }),
        [b'5'] => kept % 2 == 1,
        [b'5'..=b'9', ..] => true,
        _ => false,
    };
    Some(Scaled { value: kept.checked_add(u64::from(up))?, is_rounded: true })
}
