//! What things cost, worked out once more: 0.15 and 0.60 USD per million tokens,
//! 1.10 USD a euro, and two percent when the rate of 2 November 2026 is more than
//! four days old.

use jiff::{Timestamp, Unit, civil::date, tz::TimeZone};

const INPUT_PICO_USD: i128 = 150_000;
const OUTPUT_PICO_USD: i128 = 600_000;

/// Nano-euros a pico-USD, as a fraction.
fn rate() -> (i128, i128) {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let age = today.since((Unit::Day, date(2026, 11, 2))).unwrap().get_days();
    (if age > 4 { 102 } else { 100 }, 110_000)
}

fn pico_usd(input: i128, output: i128) -> i128 {
    input * INPUT_PICO_USD + output * OUTPUT_PICO_USD
}

/// The charge for counted tokens, half to even.
pub(crate) fn exact(input: usize, output: usize) -> i64 {
    of_pico_usd(pico_usd(input.try_into().unwrap(), output.try_into().unwrap()))
}

/// What so much is in nano-euros, half to even.
pub(crate) fn of_pico_usd(pico_usd: i128) -> i64 {
    let (up, down) = rate();
    let value = pico_usd * up;
    let (whole, rest) = (value / down, value % down);
    let up = match (rest * 2).cmp(&down) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Greater => 1,
        std::cmp::Ordering::Equal => whole % 2,
    };
    (whole + up).try_into().unwrap()
}

/// The hold for so many tokens, rounded up.
pub(crate) fn hold(input: usize, output: usize) -> i64 {
    let (up, down) = rate();
    let value = pico_usd(input.try_into().unwrap(), output.try_into().unwrap()) * up;
    ((value + down - 1) / down).try_into().unwrap()
}

/// Tokens of answer that an amount affords after a prompt of so many tokens.
pub(crate) fn affords(nanos: i64, input: usize) -> i64 {
    let (up, down) = rate();
    let spare = i128::from(nanos) * down / up - pico_usd(input.try_into().unwrap(), 0);
    (spare / OUTPUT_PICO_USD).try_into().unwrap()
}

/// The bound of a prompt of one text: its bytes, its frame and the template.
pub(crate) fn prompt_bound(text: &str) -> usize {
    64 + 16 + text.len() + 1
}

/// The bound of the prompt of [`super::world::ask`].
pub(crate) fn bound_of(script: &serde_json::Value) -> usize {
    prompt_bound(&format!("@script {script}"))
}

/// Tokens of that prompt as the scripted backend counts them.
pub(crate) fn words_of(script: &serde_json::Value) -> usize {
    format!("@script {script}").split_whitespace().count()
}
