//! The journal: every entry with all its columns, the head of the chain after its batch,
//! and the names that people know. The batches of a month in a row, so that the chain can
//! be followed; the few entries among them that were booked on the other side of
//! midnight say so by their time, and are not in the totals.

use std::fmt::Write;

use super::{
    Month,
    manifest::{Chain, Totals},
};
use crate::{
    domain::{csv, fault::Fault, ids::TenantId},
    ledger::{
        chain,
        line::{self, COLUMNS, SEPARATOR, column, hex, link},
    },
    store::{
        self, Store,
        reports::Batches,
        rollups,
        seals::{self, Digest, Line},
    },
};

/// What follows the columns of the line.
pub(super) const MORE: [&str; 7] =
    ["batch_head", "user", "server", "host", "model", "backend", "root"];

pub(super) struct Journal {
    tenant: TenantId,
    month: String,
    has_heading: bool,
    /// The last batch that was written, and the last to write.
    at: i64,
    last: i64,
    head: Digest,
    expected: Digest,
}

impl Journal {
    pub(super) async fn begin(
        store: &Store,
        tenant: TenantId,
        (month, batches): (Month, Batches),
    ) -> Result<(Self, Chain), Fault> {
        let Batches { first, last, entries } = batches;
        // A month without entries is an empty stretch at the start.
        let (first, last) = if entries == 0 { (1, 0) } else { (first, last) };
        let before = chain::head_after(store, tenant, first - 1).await?;
        let head = chain::head_after(store, tenant, last).await?;
        let month = month.to_string();
        let (at, expected) = (first - 1, head);
        let journal = Self { tenant, month, has_heading: false, at, last, head: before, expected };
        Ok((journal, Chain { first, last, before, head }))
    }

    pub(super) async fn next(
        &mut self,
        store: &Store,
        totals: &mut Totals,
    ) -> Result<Option<String>, Fault> {
        let mut out = String::new();
        if !self.has_heading {
            self.has_heading = true;
            let _infallible = write!(out, "{},{}\r\n", COLUMNS.join(","), MORE.join(","));
            return Ok(Some(out));
        }
        if self.at >= self.last {
            return if self.head == self.expected { Ok(None) } else { Err(changed()) };
        }
        let mut tx = store.report_tx(self.tenant).await?;
        rollups::by_key(&mut tx).await?;
        let to = rollups::step_end(&mut tx, self.tenant, (self.at, self.last)).await?;
        let lines = seals::lines(&mut tx, self.tenant, (self.at, to), true).await?;
        store::commit(tx).await?;
        let mut rest = lines.as_slice();
        for batch in self.at + 1..=to {
            let (own, others) =
                rest.split_at(rest.iter().take_while(|it| it.batch == batch).count());
            let texts = own.iter().map(|it| it.text.as_str());
            self.head = link(&self.head, &line::digest(self.tenant, batch, texts));
            for line in own {
                self.row(line, &mut out, totals)?;
            }
            rest = others;
        }
        self.at = to;
        Ok(Some(out))
    }

    fn row(&self, line: &Line, out: &mut String, totals: &mut Totals) -> Result<(), Fault> {
        let columns: Vec<&str> = line.text.split(SEPARATOR).collect();
        let Some((route, plain)) = columns.split_last() else { return Err(changed()) };
        if columns.len() != COLUMNS.len() {
            return Err(changed());
        }
        for it in plain {
            out.push_str(&csv::quoted(it));
            out.push(',');
        }
        let _infallible = write!(out, "{},{}", csv::text(route), hex(&self.head));
        for name in line.names.split(SEPARATOR) {
            let _infallible = write!(out, ",{}", csv::text(&name.replace(['\r', '\n'], " ")));
        }
        out.push_str("\r\n");
        totals.rows += 1;
        let of = |name| columns.get(column(name)).copied().unwrap_or_default();
        if of("booked_at").starts_with(&self.month) {
            let money = ["charged", "overrun", "provider_payable", "fx_buffer"];
            let money = money.map(|it| of(it).parse::<i64>());
            let [Ok(charged), Ok(overrun), Ok(payable), Ok(buffer)] = money else {
                return Err(changed());
            };
            totals.add(1, [charged, overrun, payable, buffer]);
        }
        Ok(())
    }
}

fn changed() -> Fault {
    Fault::Precondition {
        reason: "LEDGER_CHANGED",
        problem: "the ledger is not as it was sealed; `bursar ledger verify` says where".to_owned(),
    }
}
