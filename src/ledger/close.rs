//! The close of a month: checked, final, and never undone. What comes later, a late truth
//! or a correction, is booked at its own time, in the month that is open then, and points
//! back to what it corrects.

use jiff::Timestamp;

use super::{
    chain,
    export::{Month, Totals},
    rollup, verify,
};
use crate::{
    domain::{fault::Fault, ids::TenantId, period::to_the_second},
    store::{
        self, Store,
        periods::{self, Standing},
        rollups, seals,
    },
};

/// One check of a close.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// A stable word.
    pub name: &'static str,
    /// Whether it lets the month be closed.
    pub passed: bool,
    /// What was found, in words.
    pub detail: String,
}

/// What became of a close.
#[derive(Debug, Clone)]
pub struct Closing {
    /// Every check, passed or not.
    pub checks: Vec<Check>,
    /// When it was closed; none: a check failed, or it was only checked.
    pub closed_at: Option<Timestamp>,
    /// What the month came to.
    pub totals: Totals,
    /// Its last batch, and the chain's head after it in hexadecimal; empty where that is
    /// not sealed.
    pub last_batch: i64,
    /// See `last_batch`.
    pub head: String,
}

/// Closes a month if every check passes; with `only_check` says what would come of it.
pub async fn close(
    store: &Store,
    tenant: TenantId,
    month: Month,
    only_check: bool,
) -> Result<Closing, Fault> {
    rollup::catch_up(store, tenant).await?;
    chain::seal(store, tenant, true).await?;
    let mut tx = store.snapshot_tx(tenant).await?;
    let standing = periods::standing(&mut tx, tenant, month.first()).await?;
    let progress = rollups::progress(&mut tx, tenant).await?;
    let sealed_to = seals::sealed_to(&mut tx, tenant).await?;
    store::commit(tx).await?;
    if let Some(at) = standing.closed_at {
        return Err(closed(month, at));
    }
    let mut checks = checks(&standing);
    let behind = progress.last - progress.rolled_to.min(sealed_to);
    checks.push(check("sealed", behind == 0, format!("{behind} batches are not sealed")));
    let verified = verify(store, tenant).await?;
    let first = verified.problems.first().cloned();
    let detail = first.unwrap_or_else(|| format!("{} entries add up", verified.entries));
    checks.push(check("verified", verified.is_ok(), detail));
    let passed = checks.iter().all(|it| it.passed);
    let is_sealed = sealed_to >= standing.last_batch;
    let digest = if is_sealed {
        Some(chain::head_after(store, tenant, standing.last_batch).await?)
    } else {
        None
    };
    let closed_at = match digest.filter(|_| passed && !only_check) {
        Some(digest) => Some(write(store, tenant, (month, digest), &standing).await?),
        None => None,
    };
    let head = digest.map_or_else(String::new, |it| super::line::hex(&it));
    if closed_at.is_some() {
        tracing::info!(%tenant, %month, batch = standing.last_batch, head, "a month was closed");
    }
    let [charged, overrun, provider_payable, fx_buffer] = standing.money;
    let entries = standing.entries;
    let totals = Totals { rows: 0, entries, charged, overrun, provider_payable, fx_buffer };
    Ok(Closing { checks, closed_at, totals, last_batch: standing.last_batch, head })
}

async fn write(
    store: &Store,
    tenant: TenantId,
    (month, head): (Month, seals::Digest),
    standing: &Standing,
) -> Result<Timestamp, Fault> {
    let mut tx = store.report_tx(tenant).await?;
    let now = store::now(&mut tx).await?;
    let at = match periods::close(&mut tx, tenant, (month.first(), head), standing).await {
        // Somebody else did it meanwhile.
        Err(store::Error::Duplicate(_)) => return Err(closed(month, now)),
        other => other?,
    };
    store::commit(tx).await?;
    Ok(at)
}

fn closed(month: Month, at: Timestamp) -> Fault {
    let at = to_the_second(at);
    Fault::Precondition {
        reason: "PERIOD_CLOSED",
        problem: format!("{month} was closed at {at}, and stays so"),
    }
}

fn check(name: &'static str, passed: bool, detail: String) -> Check {
    Check { name, passed, detail }
}

/// What can be told from the numbers.
fn checks(it: &Standing) -> Vec<Check> {
    let over = if it.is_over { "is over" } else { "is not over for a minute yet" };
    let before = it.open_before.as_ref();
    let before_text = before.map_or_else(
        || "every month before is closed, or without entries".to_owned(),
        |month| format!("{month} has entries and is open; close it first"),
    );
    let [charged, overrun, payable, buffer] = it.money;
    let clears = charged.saturating_add(overrun) == payable.saturating_add(buffer);
    vec![
        check("over", it.is_over, format!("the month {over}")),
        check("in_order", before.is_none(), before_text),
        check("holds", it.open_holds == 0, format!("{} holds of it are open", it.open_holds)),
        check("prices", it.unpriced == 0, format!("{} entries have no price", it.unpriced)),
        check("rates", it.without_rate == 0, format!("{} entries have no rate", it.without_rate)),
        check("balance", clears, "what is charged is what is owed".to_owned()),
        check(
            "estimates",
            true,
            format!(
                "{} of {} entries are bounds of ours; a later truth is booked in the open month",
                it.estimated, it.entries
            ),
        ),
    ]
}
