//! What the ledger's proof reads. Each check is one set-based statement whose cost
//! grows with the rows of one tenant, and whose rows are what is wrong.

use sqlx::{PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use super::Error;
use crate::domain::ids::TenantId;

/// Something that must hold of a tenant's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// The sides of each entry are equal.
    Balance,
    /// All postings together sum to zero.
    Postings,
    /// Each counter is the fold of the entries and holds that name its limit.
    Counters,
    /// An envelope, and a budget that enforces, is charged no more than it allows, or than
    /// was spent when it was lowered.
    Within,
    /// An envelope allows what it was opened with and what a person has added.
    Extended,
    /// A hold is open or booked, never both.
    OpenAndBooked,
    /// One entry alone resolves a hold.
    ResolvedOnce,
    /// A correction names the entry that it corrects, and that exists.
    Corrected,
    /// No entry is of a batch beyond the last.
    LastBatch,
    /// No batch is without entries.
    NoGap,
    /// Every limit that is named exists.
    LimitsExist,
    /// No hold is open for more than a minute after its time.
    InTime,
    /// What is kept as sums is what the entries add up to.
    Rollups,
    /// A closed month has not changed.
    Closed,
}

/// One breach of a check.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// What the check is about: an entry, a limit, a hold or the tenant itself.
    pub(crate) id: Uuid,
    /// What it stands in relation to.
    pub(crate) other: Option<Uuid>,
    /// A word that tells apart what one check looks at.
    pub(crate) what: Option<String>,
    /// The number that is kept, in whole numbers.
    pub(crate) kept: Option<String>,
    /// The number that follows from the rest.
    pub(crate) proven: Option<String>,
}

impl Check {
    /// Every check, those that say most first.
    pub(crate) const ALL: [Self; 14] = [
        Self::Balance,
        Self::Postings,
        Self::Counters,
        Self::Within,
        Self::Extended,
        Self::OpenAndBooked,
        Self::ResolvedOnce,
        Self::Corrected,
        Self::LastBatch,
        Self::NoGap,
        Self::LimitsExist,
        Self::InTime,
        Self::Rollups,
        Self::Closed,
    ];

    const fn statement(self) -> &'static str {
        match self {
            Self::Balance => {
                "select entry_id as id, null::uuid as other, null::text as what,
                     (charged::numeric + overrun)::text as kept,
                     (provider_payable::numeric + fx_buffer)::text as proven
                 from entries
                 where tenant_id = $1
                     and charged::numeric + overrun <> provider_payable::numeric + fx_buffer
                 order by entry_id limit $2"
            }
            Self::Postings => {
                "select $1 as id, null::uuid as other, null::text as what, sum(amount)::text as kept,
                     '0' as proven
                 from postings where tenant_id = $1 having coalesce(sum(amount), 0) <> 0 limit $2"
            }
            Self::Counters => include_str!("sql/verify_counters.sql"),
            Self::Within => {
                "select limit_id as id, coalesce(envelope_id, budget_id) as other,
                     kind || case when envelope_id is null then ' budget' else ' envelope' end as what,
                     settled::text as kept, amount::text as proven
                 from limits
                 where tenant_id = $1 and enforcing and settled > greatest(amount, spent_before)
                 order by limit_id limit $2"
            }
            Self::Extended => include_str!("sql/verify_extended.sql"),
            Self::OpenAndBooked => {
                "select h.hold_id as id, e.entry_id as other, e.kind as what, null::text as kept,
                     null::text as proven
                 from holds h
                 join entries e on e.tenant_id = h.tenant_id and e.hold_id = h.hold_id
                 where h.tenant_id = $1 order by h.hold_id, e.entry_id limit $2"
            }
            Self::ResolvedOnce => {
                "select hold_id as id, null::uuid as other, null::text as what,
                     count(*)::text as kept, '1' as proven
                 from entries
                 where tenant_id = $1 and kind in ('settle', 'void', 'expire')
                 group by hold_id having count(*) > 1
                 order by hold_id limit $2"
            }
            Self::Corrected => {
                "select e.entry_id as id, e.corrects as other, null::text as what,
                     null::text as kept, null::text as proven
                 from entries e
                 where e.tenant_id = $1 and not exists (
                         select from entries c where c.tenant_id = $1 and c.entry_id = e.corrects)
                     and (e.corrects is not null or e.kind in ('late_settle', 'correction'))
                 order by e.entry_id limit $2"
            }
            Self::LastBatch => {
                "select e.entry_id as id, null::uuid as other, null::text as what,
                     e.batch_no::text as kept, coalesce(b.last_no, 0)::text as proven
                 from entries e
                 left join batches b on b.tenant_id = e.tenant_id
                 where e.tenant_id = $1 and e.batch_no > coalesce(b.last_no, 0)
                 order by e.entry_id limit $2"
            }
            Self::NoGap => include_str!("sql/verify_batches.sql"),
            Self::LimitsExist => include_str!("sql/verify_missing_limits.sql"),
            Self::InTime => {
                "select hold_id as id, null::uuid as other, null::text as what,
                     extract(epoch from now() - expires_at)::bigint::text as kept, '60' as proven
                 from holds
                 where tenant_id = $1 and expires_at < now() - interval '1 minute'
                 order by hold_id limit $2"
            }
            // Asked in `rollups`, which knows how far the sums have come.
            Self::Rollups => "",
            Self::Closed => include_str!("sql/verify_closed.sql"),
        }
    }
}

/// At most `most` breaches of a check.
pub(crate) async fn find(
    connection: &mut PgConnection,
    tenant: TenantId,
    check: Check,
    most: i64,
) -> Result<Vec<Found>, Error> {
    if check == Check::Rollups {
        return super::rollups::differences(connection, tenant, most).await;
    }
    let rows =
        sqlx::query(check.statement()).bind(tenant.uuid()).bind(most).fetch_all(connection).await?;
    rows.iter().map(found).collect()
}

/// How many entries a tenant has.
pub(crate) async fn count(connection: &mut PgConnection, tenant: TenantId) -> Result<i64, Error> {
    Ok(sqlx::query_scalar("select count(*) from entries where tenant_id = $1")
        .bind(tenant.uuid())
        .fetch_one(connection)
        .await?)
}

pub(super) fn found(row: &PgRow) -> Result<Found, Error> {
    Ok(Found {
        id: row.try_get("id")?,
        other: row.try_get("other")?,
        what: row.try_get("what")?,
        kept: row.try_get("kept")?,
        proven: row.try_get("proven")?,
    })
}
