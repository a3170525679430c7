//! The proof of an exported journal, from the file and its manifest alone: what was
//! changed, is missing, was added or stands elsewhere is named.

use std::io::BufRead;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    journal::MORE,
    manifest::{Totals, decimal},
};
use crate::{
    domain::{csv, ids::TenantId},
    ledger::{
        Verification,
        line::{self, COLUMNS, SEPARATOR, column},
    },
    store::seals::Digest,
};

/// Problems named at most.
const PROBLEMS_MAX: usize = 100;

/// A line is refused beyond this, in bytes.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Proves a file against its manifest. An error says why it cannot be read at all.
pub fn prove(file: impl BufRead, manifest: &str) -> Result<Verification, String> {
    let manifest: Value =
        serde_json::from_str(manifest).map_err(|_| "the manifest is not JSON".to_owned())?;
    let text = |name: &str| manifest.pointer(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| manifest.pointer(name).and_then(Value::as_i64);
    if text("/format") != "journal" {
        return Err("only a journal proves itself; its manifest says another format".to_owned());
    }
    let tenant = text("/tenant").parse().map_err(|_| "the manifest names no tenant".to_owned())?;
    let chain = |name: &str| line::from_hex(text(name));
    let (Some(before), Some(head), Some(first), Some(last)) = (
        chain("/chain/before"),
        chain("/chain/head"),
        number("/chain/first_batch"),
        number("/chain/last_batch"),
    ) else {
        return Err("the manifest has no chain".to_owned());
    };
    let month = text("/month").to_owned();
    let mut proof = Proof::new(tenant, month, (first, before));
    let sha256 = proof.read(file)?;
    proof.close(last);
    if proof.head != head {
        proof.say("the file does not end at the head that its manifest names".to_owned());
    }
    if sha256 != text("/sha256") {
        proof.say("the file's SHA-256 is not the one in its manifest".to_owned());
    }
    let totals = proof.totals;
    for (name, found) in [
        ("/rows", totals.rows.to_string()),
        ("/entries", totals.entries.to_string()),
        ("/control_totals/cost", decimal(totals.cost())),
        ("/control_totals/provider_payable", decimal(totals.provider_payable)),
    ] {
        let said = manifest
            .pointer(name)
            .map(|it| it.as_str().map_or_else(|| it.to_string(), ToOwned::to_owned));
        let said = said.unwrap_or_default();
        if said != found {
            let name = name.rsplit('/').next().unwrap_or_default();
            proof.say(format!("{name} is {found}, but the manifest says {said}"));
        }
    }
    Ok(Verification { entries: totals.rows, problems: proof.problems })
}

struct Proof {
    tenant: TenantId,
    month: String,
    head: Digest,
    /// The batch that is being read, its lines, the head that the file gives it, and the
    /// last entry.
    batch: i64,
    lines: Vec<String>,
    claimed: Option<Digest>,
    last_id: String,
    totals: Totals,
    problems: Vec<String>,
}

impl Proof {
    const fn new(tenant: TenantId, month: String, (first, head): (i64, Digest)) -> Self {
        Self {
            tenant,
            month,
            head,
            batch: first,
            lines: Vec::new(),
            claimed: None,
            last_id: String::new(),
            totals: Totals {
                rows: 0,
                entries: 0,
                charged: 0,
                overrun: 0,
                provider_payable: 0,
                fx_buffer: 0,
            },
            problems: Vec::new(),
        }
    }

    fn say(&mut self, problem: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    /// Reads all lines and returns the file's digest.
    fn read(&mut self, mut file: impl BufRead) -> Result<String, String> {
        let mut hash = Sha256::new();
        let mut number = 0_u64;
        loop {
            let mut bytes = Vec::new();
            let most = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
            let mut part = std::io::Read::take(&mut file, most);
            let read = part.read_until(b'\n', &mut bytes).map_err(|it| it.to_string())?;
            if read == 0 {
                return Ok(line::hex(&hash.finalize()));
            }
            number += 1;
            hash.update(&bytes);
            let text =
                String::from_utf8(bytes).map_err(|_| format!("line {number} is not text"))?;
            let text = text.trim_end_matches(['\r', '\n']);
            let fields = csv::split(text).filter(|it| it.len() == COLUMNS.len() + MORE.len());
            let fields = fields.ok_or_else(|| format!("line {number} is not of a journal"))?;
            if number > 1 {
                self.line(&fields, number)?;
            } else if !fields.iter().map(String::as_str).eq(COLUMNS.into_iter().chain(MORE)) {
                return Err("line 1 is not a journal's heading".to_owned());
            }
        }
    }

    fn line(&mut self, fields: &[String], number: u64) -> Result<(), String> {
        let of = |name| fields.get(column(name)).map(String::as_str).unwrap_or_default();
        let batch: i64 =
            of("batch_no").parse().map_err(|_| format!("line {number}: batch_no is no number"))?;
        let id = of("entry_id");
        if batch < self.batch
            || (batch == self.batch && !self.lines.is_empty() && id <= self.last_id.as_str())
        {
            self.say(format!("line {number}: entry {id} of batch {batch} is out of order"));
        }
        if batch > self.batch {
            self.close(batch - 1);
        }
        id.clone_into(&mut self.last_id);
        let route = fields.get(COLUMNS.len() - 1).map(String::as_str).unwrap_or_default();
        let mut text: String =
            fields.iter().take(COLUMNS.len() - 1).flat_map(|it| [it.as_str(), "\u{1f}"]).collect();
        debug_assert_eq!(SEPARATOR, '\u{1f}', "the one that is written above");
        text.push_str(csv::unguarded(route));
        self.lines.push(text);
        self.claimed = fields.get(COLUMNS.len()).and_then(|it| line::from_hex(it));
        self.totals.rows += 1;
        if of("booked_at").starts_with(&self.month) {
            let money =
                ["charged", "overrun", "provider_payable", "fx_buffer"].map(|it| of(it).parse());
            let [Ok(charged), Ok(overrun), Ok(payable), Ok(buffer)] = money else {
                return Err(format!("line {number}: an amount is no number"));
            };
            self.totals.add(1, [charged, overrun, payable, buffer]);
        }
        Ok(())
    }

    /// Ends the batch that is being read, and those up to `last` of which nothing came.
    fn close(&mut self, last: i64) {
        while self.batch <= last {
            let lines = std::mem::take(&mut self.lines);
            let digest = line::digest(self.tenant, self.batch, lines.iter().map(String::as_str));
            let batch = self.batch;
            self.head = line::link(&self.head, &digest);
            if lines.is_empty() {
                self.say(format!("batch {batch} has no entries: they are missing"));
            } else if self.claimed.is_some_and(|it| it != self.head) {
                let what = "an entry was changed, is missing, was added or stands elsewhere";
                self.say(format!("batch {batch} is not as it was sealed: {what}"));
            }
            // Go on from what the file claims, so that only the first break is named.
            if let Some(claimed) = self.claimed.take().filter(|_| !lines.is_empty()) {
                self.head = claimed;
            }
            self.batch += 1;
            if self.problems.len() >= PROBLEMS_MAX {
                self.batch = last + 1;
            }
        }
    }
}
