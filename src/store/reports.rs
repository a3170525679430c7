//! Sums of the ledger by what finance asks for.

use std::fmt::Write;

use jiff::Timestamp;
use sqlx::{AssertSqlSafe, PgConnection, Row as _, postgres::PgRow};
use uuid::Uuid;

use super::{Error, instant::Instant};
use crate::domain::{
    ids::{EnvelopeId, TenantId},
    report::{Dimension, Filter, Grain, Labels, Position, Row, Sums},
};

const SOURCE: &str = include_str!("sql/rollup_source.sql");
const ENTRIES: &str = include_str!("sql/report_entries.sql");
const ROLLUPS: &str = include_str!("sql/report_rollups.sql");
const SUMS: &str = include_str!("sql/report_sums.sql");

/// The batches in which a stretch of time was booked, and how many entries they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batches {
    /// The first.
    pub(crate) first: i64,
    /// The last.
    pub(crate) last: i64,
    /// Entries of the hours that the stretch touches.
    pub(crate) entries: i64,
}

/// What is asked, once it was checked.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    pub(crate) by: &'a [Dimension],
    pub(crate) grain: Option<Grain>,
    /// From the entries themselves, which are of these batches; none: from the sums.
    pub(crate) batches: Option<Batches>,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// Where what it is compared with begins; `start` when with nothing.
    pub(crate) before: Timestamp,
    pub(crate) filter: &'a Filter,
}

/// The batches of the hours from one instant to another.
pub(crate) async fn batches(
    connection: &mut PgConnection,
    tenant: TenantId,
    (start, end): (Timestamp, Timestamp),
) -> Result<Batches, Error> {
    let row = sqlx::query(
        "select coalesce(min(first_batch), 0) as first, coalesce(max(last_batch), -1) as last,
            coalesce(sum(entries), 0)::bigint as entries
         from booked_hours
         where tenant_id = $1 and hour >= date_trunc('hour', $2, 'UTC') and hour < $3",
    )
    .bind(tenant.uuid())
    .bind(Instant(start))
    .bind(Instant(end))
    .fetch_one(connection)
    .await?;
    Ok(Batches {
        first: row.try_get("first")?,
        last: row.try_get("last")?,
        entries: row.try_get("entries")?,
    })
}

/// At most `most` rows after a position, by time where there is a grain, then the
/// dearest first.
pub(crate) async fn sums(
    connection: &mut PgConnection,
    tenant: TenantId,
    query: &Query<'_>,
    (after, most): (Option<Position>, i64),
) -> Result<Vec<Row>, Error> {
    let Filter { user, server, host, model, backend, root, envelope, kind } = query.filter;
    let (first, last) = query.batches.map_or((0, 0), |it| (it.first, it.last));
    let rows = sqlx::query(AssertSqlSafe(statement(query)))
        .bind(tenant.uuid())
        .bind(first.saturating_sub(1))
        .bind(last)
        .bind(Instant(query.start))
        .bind(Instant(query.end))
        .bind(Instant(query.before))
        .bind(user)
        .bind(server)
        .bind(host)
        .bind(model)
        .bind(backend)
        .bind(root)
        .bind(envelope.map(EnvelopeId::uuid))
        .bind(kind.map(super::batch::entry_kind_word))
        .bind(after.map(|it| it.bucket))
        .bind(after.map(|it| it.rank))
        .bind(after.map(|it| Uuid::from_u128(it.key)))
        .bind(most)
        .fetch_all(connection)
        .await?;
    rows.iter().map(row).collect()
}

/// The statement, put together of parts that are all written here.
fn statement(query: &Query<'_>) -> String {
    let mut sql = match query.batches {
        Some(_) => format!("with {SOURCE}{ENTRIES}"),
        None => ROLLUPS.to_owned(),
    };
    sql.push_str(", part as (\n    select ");
    for (dimension, column) in COLUMNS {
        let from = if query.by.contains(&dimension) { "b." } else { "" };
        let none = if dimension == Dimension::Kind { "null::text as " } else { "null::uuid as " };
        let none = if from.is_empty() { none } else { "" };
        let _infallible = write!(sql, "{from}{none}{column}, ");
    }
    let bucket = match query.grain {
        None => "s.start",
        Some(Grain::Hour) => "date_trunc('hour', b.at)",
        Some(Grain::Day) => "date_trunc('day', b.at)",
        Some(Grain::Week) => "date_trunc('week', b.at)",
        Some(Grain::Month) => "date_trunc('month', b.at)",
    };
    let _infallible = writeln!(sql, "(extract(epoch from {bucket}) * 1000000)::bigint as bucket,");
    sql.push_str(SUMS);
    sql
}

const COLUMNS: [(Dimension, &str); 8] = [
    (Dimension::User, "user_id"),
    (Dimension::Server, "server_id"),
    (Dimension::Host, "host_id"),
    (Dimension::Model, "model_id"),
    (Dimension::Backend, "backend_id"),
    (Dimension::Root, "root_id"),
    (Dimension::Envelope, "envelope_id"),
    (Dimension::Kind, "kind"),
];

fn row(row: &PgRow) -> Result<Row, Error> {
    let text = |name: &str| row.try_get::<Option<String>, _>(name);
    let number = |name: &str| row.try_get::<i64, _>(name);
    let pico: &str = row.try_get("pico_usd")?;
    let kind = row.try_get::<Option<&str>, _>("kind")?;
    let bucket = number("bucket")?;
    let at = Timestamp::from_microsecond(bucket);
    Ok(Row {
        at: at.map_err(|_| Error::Unreadable("entries.booked_at"))?,
        labels: Labels {
            user: text("user_name")?,
            server: text("server_name")?,
            host: text("host_name")?,
            model: text("model_name")?,
            backend: text("backend_name")?,
            root: text("root_name")?,
            envelope: row.try_get::<Option<Uuid>, _>("envelope_id")?.map(Into::into),
            kind: kind.map(super::entries::entry_kind).transpose()?,
        },
        sums: Sums {
            entries: number("entries")?,
            estimated: number("estimated")?,
            calls: number("calls")?,
            input: number("input")?,
            cache_read: number("cache_read")?,
            cache_write: number("cache_write")?,
            output: number("output")?,
            reasoning: number("reasoning")?,
            charged: number("charged")?,
            overrun: number("overrun")?,
            pico_usd: pico.parse().map_err(|_| Error::Unreadable("entries.pico_usd"))?,
        },
        before: number("before")?,
        position: Position {
            bucket,
            rank: number("rank")?,
            key: row.try_get::<Uuid, _>("key")?.as_u128(),
        },
    })
}
