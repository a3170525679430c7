//! The caller's own deadline, from gRPC's `grpc-timeout`.

use std::time::{Duration, Instant};

use tonic::metadata::MetadataMap;

use crate::clock::Clock;

/// What is kept of the caller's time for settling and for the reply's way back.
const MARGIN: Duration = Duration::from_millis(300);

/// When an answer must end so that the reply still arrives in the caller's time.
/// Of a very short time a third is kept.
pub(super) fn of(metadata: &MetadataMap, clock: &Clock) -> Option<Instant> {
    let time = parse(metadata.get("grpc-timeout")?.to_str().ok()?)?;
    let left = time.saturating_sub(MARGIN).max(time / 3);
    clock.monotonic().checked_add(left)
}

/// Up to eight digits and a unit, as the gRPC protocol over HTTP/2 has it.
fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let fine = (1..=8).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| fine)?;
    match unit {
        "H" => Some(Duration::from_secs(number.saturating_mul(3_600))),
        "M" => Some(Duration::from_secs(number.saturating_mul(60))),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}
