//! What an export says of itself: enough to see that it is whole, and of which ledger.

use serde_json::{Value, json};

use super::{Export, line};
use crate::{
    domain::{
        money::{Amount, NANOS_PER_UNIT},
        period::to_the_second,
    },
    store::seals::Digest,
};

/// Control totals, in nano-units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Rows of the file, the heading left out.
    pub rows: i64,
    /// Entries that they stand for.
    pub entries: i64,
    /// What users were charged.
    pub charged: i128,
    /// What the tenant bears beyond every limit.
    pub overrun: i128,
    /// What providers are owed.
    pub provider_payable: i128,
    /// What the age of exchange rates added.
    pub fx_buffer: i128,
}

impl Totals {
    /// Charged and overrun: what the rows of the file add up to.
    pub const fn cost(&self) -> i128 {
        self.charged.saturating_add(self.overrun)
    }

    /// Adds `charged, overrun, provider payable, buffer`.
    pub(super) fn add(&mut self, entries: i64, [charged, overrun, payable, buffer]: [i64; 4]) {
        self.entries = self.entries.saturating_add(entries);
        self.charged += i128::from(charged);
        self.overrun += i128::from(overrun);
        self.provider_payable += i128::from(payable);
        self.fx_buffer += i128::from(buffer);
    }
}

/// Where a journal stands in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) first: i64,
    pub(super) last: i64,
    /// The head before the first batch.
    pub(super) before: Digest,
    /// The head after the last.
    pub(super) head: Digest,
}

impl Export {
    pub(super) fn manifest(&self, sha256: &str) -> String {
        let Totals { rows, entries, charged, overrun, provider_payable, fx_buffer } = self.totals;
        let cost = decimal(self.totals.cost());
        let chain = self.chain.map(|Chain { first, last, before, head }| {
            json!({
                "first_batch": first,
                "last_batch": last,
                "before": line::hex(&before),
                "head": line::hex(&head),
            })
        });
        let manifest = json!({
            "format": self.format.word(),
            "tenant": self.tenant.id.to_string(),
            "currency": self.tenant.currency.code(),
            "month": self.month.to_string(),
            "start_time": to_the_second(self.month.start),
            "end_time": to_the_second(self.month.end),
            "made_at": to_the_second(self.made_at),
            "through_batch": self.through_batch,
            "rows": rows,
            "entries": entries,
            "control_totals": {
                "cost": cost,
                "charged": decimal(charged),
                "overrun": decimal(overrun),
                "provider_payable": decimal(provider_payable),
                "fx_buffer": decimal(fx_buffer),
            },
            "bytes": self.bytes,
            "sha256": sha256,
            "chain": chain.unwrap_or(Value::Null),
        });
        format!("{manifest:#}\n")
    }
}

/// Nano-units as a decimal, however many.
pub(super) fn decimal(nanos: i128) -> String {
    Amount::try_from(nanos).map_or_else(
        |_| {
            let unit = i128::from(NANOS_PER_UNIT).unsigned_abs();
            let sign = if nanos < 0 { "-" } else { "" };
            let (whole, rest) = (nanos.unsigned_abs() / unit, nanos.unsigned_abs() % unit);
            format!("{sign}{whole}.{rest:09}")
        },
        |it| it.to_string(),
    )
}
