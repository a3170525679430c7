//! The proof that the ledger adds up, from the tables alone: what nobody could have
//! written by way of the budget engine is named.

use uuid::Uuid;

use super::chain;
use crate::{
    domain::{
        fault::Fault,
        ids::{BudgetId, EntryId, EnvelopeId, HoldId, LimitId, TenantId},
        money::Amount,
    },
    store::{
        self, Store, identity,
        verify::{self, Check, Found},
    },
};

/// Problems named at most.
pub const PROBLEMS_MAX: usize = 1_000;

/// What a proof came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verification {
    /// How many entries there are.
    pub entries: i64,
    /// What is wrong, a sentence each, at most [`PROBLEMS_MAX`]. Empty: all adds up.
    pub problems: Vec<String>,
}

impl Verification {
    /// Whether all adds up.
    pub const fn is_ok(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Proves a tenant's ledger as it stands at one instant.
pub async fn verify(store: &Store, tenant: TenantId) -> Result<Verification, Fault> {
    let mut tx = store.snapshot_tx(tenant).await?;
    let entries = verify::count(&mut tx, tenant).await?;
    let mut problems = Vec::new();
    for check in Check::ALL {
        let most = PROBLEMS_MAX.saturating_sub(problems.len());
        if most == 0 {
            break;
        }
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let found = verify::find(&mut tx, tenant, check, most).await?;
        problems.extend(found.iter().map(|it| sentence(check, it)));
    }
    store::commit(tx).await?;
    let most = PROBLEMS_MAX.saturating_sub(problems.len());
    problems.extend(chain::verify(store, tenant, most).await?);
    Ok(Verification { entries, problems })
}

/// Proves every tenant's, one after another; each problem begins with its tenant.
/// For whoever runs the service: a tenant's own people ask [`verify()`].
pub async fn verify_all(store: &Store) -> Result<Verification, Fault> {
    let mut all = Verification::default();
    for tenant in identity::all_tenants(store).await? {
        let one = verify(store, tenant).await?;
        all.entries = all.entries.saturating_add(one.entries);
        let room = PROBLEMS_MAX.saturating_sub(all.problems.len());
        all.problems.extend(one.problems.iter().take(room).map(|it| format!("{tenant}: {it}")));
    }
    Ok(all)
}

/// A breach in words, with the ids and both numbers.
fn sentence(check: Check, it: &Found) -> String {
    let Found { id, other, what, kept, proven } = it;
    let (entry, hold, limit) = (EntryId::from(*id), HoldId::from(*id), LimitId::from(*id));
    let other = other.unwrap_or(Uuid::nil());
    let what = what.as_deref().unwrap_or_default();
    let (kind, counter) = what.split_once(' ').unwrap_or((what, ""));
    let shown = |number: &Option<String>, kind: &str| shown(number.as_deref(), kind);
    let (kept_money, proven_money) = (shown(kept, MONEY), shown(proven, MONEY));
    let (kept, proven) = (shown(kept, kind), shown(proven, kind));
    match check {
        Check::Balance => format!(
            "entry {entry} does not balance: {kept_money} is charged and overrun, \
             {proven_money} is owed and buffer"
        ),
        Check::Postings => format!("all postings sum to {kept_money} instead of {proven_money}"),
        Check::Counters => {
            let source = if counter == "held" { "open holds" } else { "entries" };
            format!("limit {limit} ({kind}): {counter} is {kept}, but its {source} sum to {proven}")
        }
        Check::Within => {
            let of = if counter == "budget" {
                BudgetId::from(other).to_string()
            } else {
                EnvelopeId::from(other).to_string()
            };
            format!(
                "limit {limit} ({kind}) of {counter} {of}: settled is {kept}, above its {proven}"
            )
        }
        Check::Extended => {
            let envelope = EnvelopeId::from(other);
            format!(
                "limit {limit} ({kind}) of envelope {envelope}: {counter} is {kept}, but what it \
                 was opened with and its extensions come to {proven}"
            )
        }
        Check::OpenAndBooked => {
            let entry = EntryId::from(other);
            format!("hold {hold} is still open, but entry {entry} ({kind}) has booked it")
        }
        Check::ResolvedOnce => {
            format!("hold {hold} was resolved by {kept} entries instead of {proven}")
        }
        Check::Corrected if other.is_nil() => {
            format!("entry {entry} is a correction and does not name the entry that it corrects")
        }
        Check::Corrected => {
            let corrected = EntryId::from(other);
            format!("entry {entry} corrects entry {corrected}, which does not exist")
        }
        Check::LastBatch => {
            format!("entry {entry} is of batch {kept}, but the last batch is {proven}")
        }
        Check::NoGap => format!("batches {kept} to {proven} have no entries: entries are missing"),
        Check::LimitsExist => {
            let missing = LimitId::from(other);
            let named_by = if kind == "hold" { hold.to_string() } else { entry.to_string() };
            format!("{kind} {named_by} names limit {missing}, which does not exist")
        }
        Check::Closed => {
            let (kept, proven) = (it.kept.as_deref(), it.proven.as_deref());
            let (kept, proven) = (kept.unwrap_or_default(), proven.unwrap_or_default());
            let month = it.what.as_deref().unwrap_or_default();
            format!("{month} was closed with {kept}, but comes to {proven} now")
        }
        Check::Rollups => {
            let what = it.what.as_deref().unwrap_or_default();
            let (kept, proven) = (it.kept.as_deref(), it.proven.as_deref());
            let (kept, proven) = (kept.unwrap_or_default(), proven.unwrap_or_default());
            format!("a sum of {what} is kept as {kept}, but its entries add up to {proven}")
        }
        Check::InTime => format!(
            "hold {hold} is open {kept} seconds after its time, more than the {proven} allowed: \
             the sweep is not running"
        ),
    }
}

const MONEY: &str = "money";

/// A number of a kind of limit, as people read it. Money beyond the type stays in
/// nano-units.
fn shown(number: Option<&str>, kind: &str) -> String {
    let number = number.unwrap_or("0");
    let nanos = number.parse().ok().filter(|_| kind == MONEY);
    nanos.map_or_else(|| number.to_owned(), |it| Amount::from_nanos(it).to_string())
}
