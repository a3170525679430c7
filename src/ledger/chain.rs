//! The chain over a tenant's batches: sealed in the background, proven on demand.

use super::line::{self, START, hex};
use crate::{
    domain::{fault::Fault, ids::TenantId},
    store::{
        self, Store, rollups,
        seals::{self, Digest, Line, Seal},
    },
};

/// Seals in a row for one tenant, so that others have their turn.
const STEPS_MAX: usize = 50;

/// The same for who waits for it: a thousand million entries.
const STEPS_NOW_MAX: usize = 50_000;

/// Seals a tenant's batches up to now. `now`: however few they are.
pub(super) async fn seal(store: &Store, tenant: TenantId, now: bool) -> Result<(), store::Error> {
    for _ in 0..if now { STEPS_NOW_MAX } else { STEPS_MAX } {
        let mut tx = store.report_tx(tenant).await?;
        let Some(pending) = seals::pending(&mut tx, tenant, now).await? else {
            return store::forget(tx).await;
        };
        let before = seals::at_or_after(&mut tx, tenant, pending.sealed_to).await?;
        let previous = before.map_or(START, |it| it.head);
        let span = (pending.sealed_to, pending.to);
        let lines = seals::lines(&mut tx, tenant, span, false).await?;
        let made = made(tenant, span, previous, &lines);
        seals::add(&mut tx, tenant, &made).await?;
        store::commit(tx).await?;
        let (batch, head) = (made.last, hex(&made.head));
        tracing::info!(%tenant, batch, head, "the ledger was sealed");
        if pending.to >= pending.last {
            break;
        }
    }
    Ok(())
}

/// The seal of the batches above the first number and up to the second.
fn made(tenant: TenantId, (from, to): (i64, i64), previous: Digest, lines: &[Line]) -> Seal {
    let batches = batches(tenant, (from, to), lines);
    let head = batches.iter().fold(previous, |head, (digest, _)| line::link(&head, digest));
    let (digests, counts) = batches.into_iter().unzip();
    Seal { first: from + 1, last: to, previous, digests, counts, head }
}

/// The digest of each batch, and how many entries it has.
fn batches(tenant: TenantId, (from, to): (i64, i64), lines: &[Line]) -> Vec<(Digest, i32)> {
    let mut rest = lines;
    let mut found = Vec::new();
    for batch in from + 1..=to {
        let count = rest.iter().take_while(|it| it.batch == batch).count();
        let (own, others) = rest.split_at(count);
        let digest = line::digest(tenant, batch, own.iter().map(|it| it.text.as_str()));
        found.push((digest, i32::try_from(count).unwrap_or(i32::MAX)));
        rest = others;
    }
    found
}

/// The head after a batch that is sealed, from the seals alone; the start's for 0.
pub(super) async fn head_after(
    store: &Store,
    tenant: TenantId,
    batch: i64,
) -> Result<Digest, Fault> {
    if batch == 0 {
        return Ok(START);
    }
    let mut tx = store.report_tx(tenant).await?;
    let seal = seals::at_or_after(&mut tx, tenant, batch).await?;
    store::commit(tx).await?;
    let missing = || Fault::Precondition {
        reason: "LEDGER_SEAL_MISSING",
        problem: format!(
            "batch {batch} has no seal yet, or has lost it; try again, then ask `bursar ledger verify`"
        ),
    };
    let seal = seal.filter(|it| it.first <= batch).ok_or_else(missing)?;
    let count = usize::try_from(batch - seal.first + 1).unwrap_or(0);
    Ok(seal.digests.iter().take(count).fold(seal.previous, |head, it| line::link(&head, it)))
}

/// Where the ledger is not as it was sealed, at most `most` sentences. Reads in short
/// transactions, seal by seal.
pub(super) async fn verify(
    store: &Store,
    tenant: TenantId,
    most: usize,
) -> Result<Vec<String>, Fault> {
    let (mut problems, mut head, mut next) = (Vec::new(), START, 1_i64);
    let mut tx = store.report_tx(tenant).await?;
    let sealed_to = seals::sealed_to(&mut tx, tenant).await?;
    store::commit(tx).await?;
    while problems.len() < most {
        let mut tx = store.report_tx(tenant).await?;
        rollups::by_key(&mut tx).await?;
        let Some(seal) = seals::at_or_after(&mut tx, tenant, next).await? else { break };
        let span = (seal.first - 1, seal.last);
        let lines = seals::lines(&mut tx, tenant, span, false).await?;
        store::commit(tx).await?;
        if seal.first != next {
            let before = seal.first - 1;
            problems.push(format!("the seals of batches {next} to {before} are missing"));
        } else if seal.previous != head {
            let problem = "does not follow from the one before: a seal was changed";
            problems.push(format!("the seal of batches {} to {} {problem}", seal.first, seal.last));
        }
        compare(&seal, &batches(tenant, span, &lines), &mut problems);
        (head, next) = (seal.head, seal.last + 1);
    }
    if next <= sealed_to && problems.len() < most {
        let problem = "their seals are gone";
        problems.push(format!("batches {next} to {sealed_to} were sealed, but {problem}"));
    }
    problems.truncate(most);
    Ok(problems)
}

/// A seal beside what the entries come to.
fn compare(seal: &Seal, found: &[(Digest, i32)], problems: &mut Vec<String>) {
    let mut head = seal.previous;
    for (at, ((digest, count), sealed)) in found.iter().zip(&seal.digests).enumerate() {
        head = line::link(&head, sealed);
        if digest == sealed {
            continue;
        }
        let batch = seal.first.saturating_add(i64::try_from(at).unwrap_or(i64::MAX));
        let counted = seal.counts.get(at).copied().unwrap_or_default();
        let what = match count.cmp(&counted) {
            std::cmp::Ordering::Less => "entries are missing from it",
            std::cmp::Ordering::Greater => "entries were added to it",
            std::cmp::Ordering::Equal => "an entry of it was changed",
        };
        problems.push(format!(
            "batch {batch} is not as it was sealed, with {count} entries in place of {counted}: {what}"
        ));
    }
    if head != seal.head {
        let (first, last) = (seal.first, seal.last);
        problems
            .push(format!("the seal of batches {first} to {last} is not the head of its digests"));
    }
}
