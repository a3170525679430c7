//! Sums of the ledger, kept as it grows.

use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::{Error, Store, verify::Found};
use crate::domain::ids::TenantId;

/// Entries that one step adds, about.
const STEP_ENTRIES: i64 = 20_000;

const ADD: &str =
    concat!("with ", include_str!("sql/rollup_source.sql"), include_str!("sql/rollup_add.sql"));

const COMPARE: &str =
    concat!("with ", include_str!("sql/rollup_source.sql"), include_str!("sql/verify_rollups.sql"));

/// How far the sums of a tenant's ledger have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The last batch that they count.
    pub(crate) rolled_to: i64,
    /// The ledger's last batch.
    pub(crate) last: i64,
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is more to do.
    More,
    /// Nothing is left.
    Done,
    /// Somebody else is at it.
    Taken,
}

/// Tenants whose ledger has grown since, at most `most` of those after `after`.
pub(crate) async fn behind(
    store: &Store,
    (after, most): (Option<TenantId>, i64),
) -> Result<Vec<TenantId>, Error> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "select b.tenant_id from batches b
         left join ledger_progress p on p.tenant_id = any(array[b.tenant_id])
         where b.tenant_id > $1 and (b.last_no > coalesce(p.rolled_to, 0)
             or b.last_no > p.sealed_to
                 and (b.last_no - p.sealed_to >= 500 or p.sealed_at < now() - interval '10 seconds'))
         order by b.tenant_id
         limit $2",
    )
    .bind(after.map_or(Uuid::nil(), TenantId::uuid))
    .bind(most)
    .fetch_all(store.duties())
    .await?;
    Ok(ids.into_iter().map(Into::into).collect())
}

/// How far the sums have come, and the ledger itself.
pub(crate) async fn progress(
    connection: &mut PgConnection,
    tenant: TenantId,
) -> Result<Progress, Error> {
    let row = sqlx::query(
        "select coalesce((select rolled_to from ledger_progress where tenant_id = $1), 0) as rolled_to,
            coalesce((select last_no from batches where tenant_id = $1), 0) as last",
    )
    .bind(tenant.uuid())
    .fetch_one(connection)
    .await?;
    Ok(Progress { rolled_to: row.try_get("rolled_to")?, last: row.try_get("last")? })
}

/// Adds the next batches to the sums. The caller commits.
pub(crate) async fn advance(
    connection: &mut PgConnection,
    tenant: TenantId,
) -> Result<Step, Error> {
    by_key(connection).await?;
    let taken: Option<i64> = lock(connection, tenant).await?;
    let Some(from) = taken else { return Ok(Step::Taken) };
    let last = progress(connection, tenant).await?.last;
    if from >= last {
        return Ok(Step::Done);
    }
    let to = step_end(connection, tenant, (from, last)).await?;
    sqlx::query(ADD).bind(tenant.uuid()).bind(from).bind(to).execute(connection).await?;
    Ok(if to < last { Step::More } else { Step::Done })
}

/// Has the transaction find rows by key, whatever a plan made while the table was small
/// would rather do.
pub(crate) async fn by_key(connection: &mut PgConnection) -> Result<(), Error> {
    sqlx::query(
        "select set_config(name, 'off', true)
         from unnest(array['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) as name",
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The last batch of a step that begins after `from`: whole batches of at most so many
/// entries, or one.
pub(crate) async fn step_end(
    connection: &mut PgConnection,
    tenant: TenantId,
    (from, last): (i64, i64),
) -> Result<i64, Error> {
    let to = sqlx::query_scalar(
        "select least($3, greatest($2 + 1, coalesce((
             select batch_no from entries where tenant_id = $1 and batch_no > $2
             order by batch_no offset $4 limit 1), $3 + 1) - 1))",
    )
    .bind(tenant.uuid())
    .bind(from)
    .bind(last)
    .bind(STEP_ENTRIES)
    .fetch_one(connection)
    .await?;
    Ok(to)
}

/// The last batch that the sums count, with the row's lock; none: somebody else has it.
async fn lock(connection: &mut PgConnection, tenant: TenantId) -> Result<Option<i64>, Error> {
    sqlx::query(
        "insert into ledger_progress (tenant_id)
         select $1 where not exists (select from ledger_progress where tenant_id = $1)
         on conflict do nothing",
    )
    .bind(tenant.uuid())
    .execute(&mut *connection)
    .await?;
    let locked = sqlx::query_scalar(
        "select rolled_to from ledger_progress where tenant_id = $1 for update skip locked",
    );
    Ok(locked.bind(tenant.uuid()).fetch_optional(connection).await?)
}

/// Where the sums are not those of the entries that they count.
pub(crate) async fn differences(
    connection: &mut PgConnection,
    tenant: TenantId,
    most: i64,
) -> Result<Vec<Found>, Error> {
    let to = progress(connection, tenant).await?.rolled_to;
    let rows = sqlx::query(COMPARE)
        .bind(tenant.uuid())
        .bind(0_i64)
        .bind(to)
        .bind(most)
        .fetch_all(connection)
        .await?;
    rows.iter().map(super::verify::found).collect()
}
