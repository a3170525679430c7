//! An entry as the chain and the journal have it, and how batches are chained.

use std::fmt::Write;

use sha2::{Digest as _, Sha256};

use crate::{domain::ids::TenantId, store::seals::Digest};

/// What parts the columns of a line.
pub const SEPARATOR: char = '\u{1f}';

/// The columns of a line, which are also the journal's first. Money is in nano-units.
pub const COLUMNS: [&str; 41] = [
    "batch_no",
    "entry_id",
    "kind",
    "incurred_at",
    "booked_at",
    "hold_id",
    "corrects",
    "call_id",
    "attempt",
    "host_id",
    "user_id",
    "server_id",
    "envelope_id",
    "model_id",
    "backend_id",
    "root_id",
    "price_version_id",
    "fx_rate_id",
    "usd_nanos_per_unit",
    "fx_buffer_bp",
    "limit_ids",
    "held_money",
    "held_tokens",
    "input",
    "cache_read",
    "cache_write",
    "output",
    "reasoning",
    "pico_usd",
    "calls",
    "tokens_charged",
    "tokens_overrun",
    "charged",
    "overrun",
    "provider_payable",
    "fx_buffer",
    "certainty",
    "claim",
    "cut",
    "by_host",
    "route",
];

/// The column of this name.
pub fn column(name: &str) -> usize {
    COLUMNS.iter().position(|it| *it == name).unwrap_or(usize::MAX)
}

/// The head before the first batch.
pub const START: Digest = [0; 32];

/// Says which form the lines have, in every digest.
const VERSION: &[u8] = b"bursar ledger 1";

/// The digest of a batch: of its tenant, its number and its entries' lines in the order
/// of their ids.
pub fn digest<'a>(tenant: TenantId, batch: i64, lines: impl Iterator<Item = &'a str>) -> Digest {
    let mut hash = Sha256::new();
    hash.update(VERSION);
    hash.update(tenant.uuid().as_bytes());
    hash.update(batch.to_be_bytes());
    for line in lines {
        hash.update(line.as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().into()
}

/// The head after a batch.
pub fn link(previous: &Digest, digest: &Digest) -> Digest {
    let mut hash = Sha256::new();
    hash.update(previous);
    hash.update(digest);
    hash.finalize().into()
}

/// In hexadecimal, as logs and exports show a head.
pub fn hex(digest: &[u8]) -> String {
    let mut text = String::with_capacity(2 * digest.len());
    for byte in digest {
        let _infallible = write!(text, "{byte:02x}");
    }
    text
}

/// Reads what [`hex()`] wrote.
pub fn from_hex(text: &str) -> Option<Digest> {
    let fine = text.len() == 64 && text.bytes().all(|it| it.is_ascii_hexdigit());
    let byte =
        |at: usize| text.get(2 * at..2 * at + 2).and_then(|it| u8::from_str_radix(it, 16).ok());
    let bytes: Vec<u8> = (0..32).map_while(byte).collect();
    Digest::try_from(bytes.as_slice()).ok().filter(|_| fine)
}
