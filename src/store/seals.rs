//! Seals of the ledger's batches, and entries as the chain reads them.

use sqlx::{PgConnection, Row, postgres::PgRow};

use super::{Error, rollups};
use crate::domain::ids::TenantId;

/// A digest of the chain.
pub type Digest = [u8; 32];

const LINES: &str = concat!(
    "with ",
    include_str!("sql/lines.sql"),
    "select batch_no, line, '' as names from lines order by batch_no, entry_id"
);
const NAMED: &str =
    concat!("with ", include_str!("sql/lines.sql"), include_str!("sql/lines_named.sql"));

/// Pending batches from which on a ledger is sealed at once.
const PENDING_MAX: i64 = 500;

/// An entry as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) batch: i64,
    /// Its columns, parted by U+001F.
    pub(crate) text: String,
    /// Names of user, server, host, model, backend and root, parted alike; empty where
    /// they were not asked for.
    pub(crate) names: String,
}

/// The seal of some batches in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seal {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) previous: Digest,
    /// One for each batch.
    pub(crate) digests: Vec<Digest>,
    /// Entries of each batch.
    pub(crate) counts: Vec<i32>,
    pub(crate) head: Digest,
}

/// What is to be sealed next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The last batch that is sealed.
    pub(crate) sealed_to: i64,
    /// The last batch of the next seal.
    pub(crate) to: i64,
    /// The ledger's last batch.
    pub(crate) last: i64,
}

/// Entries of the batches above `from` and up to `to`, in order.
pub(crate) async fn lines(
    connection: &mut PgConnection,
    tenant: TenantId,
    (from, to): (i64, i64),
    with_names: bool,
) -> Result<Vec<Line>, Error> {
    let rows = sqlx::query(if with_names { NAMED } else { LINES })
        .bind(tenant.uuid())
        .bind(from)
        .bind(to)
        .fetch_all(connection)
        .await?;
    let line = |row: &PgRow| -> Result<Line, Error> {
        Ok(Line {
            batch: row.try_get("batch_no")?,
            text: row.try_get("line")?,
            names: row.try_get("names")?,
        })
    };
    rows.iter().map(line).collect()
}

/// Takes the lease on a tenant's chain and says what is to be sealed; none: nothing, or
/// not yet, or somebody else is at it. `now`: however little it is.
pub(crate) async fn pending(
    connection: &mut PgConnection,
    tenant: TenantId,
    now: bool,
) -> Result<Option<Pending>, Error> {
    rollups::by_key(connection).await?;
    let last = rollups::progress(connection, tenant).await?.last;
    let sealed_to: Option<i64> = sqlx::query_scalar(
        "select sealed_to from ledger_progress
         where tenant_id = $1 and sealed_to < $2
             and ($3 or $2 - sealed_to >= $4 or sealed_at < now() - interval '10 seconds')
         for update skip locked",
    )
    .bind(tenant.uuid())
    .bind(last)
    .bind(now)
    .bind(PENDING_MAX)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(sealed_to) = sealed_to else { return Ok(None) };
    let to = rollups::step_end(connection, tenant, (sealed_to, last)).await?;
    Ok(Some(Pending { sealed_to, to, last }))
}

/// How far the chain is sealed.
pub(crate) async fn sealed_to(
    connection: &mut PgConnection,
    tenant: TenantId,
) -> Result<i64, Error> {
    let query = "select coalesce(max(sealed_to), 0) from ledger_progress where tenant_id = $1";
    Ok(sqlx::query_scalar(query).bind(tenant.uuid()).fetch_one(connection).await?)
}

/// Writes a seal. The caller has the lease, and commits.
pub(crate) async fn add(
    connection: &mut PgConnection,
    tenant: TenantId,
    seal: &Seal,
) -> Result<(), Error> {
    let Seal { first, last, previous, digests, counts, head } = seal;
    sqlx::query(
        "insert into seals (tenant_id, first_batch, last_batch, previous, digests, counts, head)
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(tenant.uuid())
    .bind(first)
    .bind(last)
    .bind(previous.as_slice())
    .bind(digests.concat())
    .bind(counts)
    .bind(head.as_slice())
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "update ledger_progress set sealed_to = $2, sealed_at = now() where tenant_id = $1",
    )
    .bind(tenant.uuid())
    .bind(last)
    .execute(connection)
    .await?;
    Ok(())
}

/// The seal that has this batch, or the first after it.
pub(crate) async fn at_or_after(
    connection: &mut PgConnection,
    tenant: TenantId,
    batch: i64,
) -> Result<Option<Seal>, Error> {
    let row = sqlx::query(
        "select * from seals
         where tenant_id = $1 and first_batch >= coalesce((
             select max(first_batch) from seals
             where tenant_id = $1 and first_batch <= $2), 0) and last_batch >= $2
         order by first_batch limit 1",
    )
    .bind(tenant.uuid())
    .bind(batch)
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(seal).transpose()
}

fn seal(row: &PgRow) -> Result<Seal, Error> {
    let digest =
        |bytes: &[u8], column| Digest::try_from(bytes).map_err(|_| Error::Unreadable(column));
    let all: &[u8] = row.try_get("digests")?;
    Ok(Seal {
        first: row.try_get("first_batch")?,
        last: row.try_get("last_batch")?,
        previous: digest(row.try_get("previous")?, "seals.previous")?,
        digests: all
            .chunks(size_of::<Digest>())
            .map(|it| digest(it, "seals.digests"))
            .collect::<Result<_, _>>()?,
        counts: row.try_get("counts")?,
        head: digest(row.try_get("head")?, "seals.head")?,
    })
}
