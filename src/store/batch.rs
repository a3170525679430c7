//! A lane's write: one statement for a whole batch.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use sqlx::{PgConnection, Postgres, Row, postgres::PgArguments, query::Query};
use uuid::Uuid;

use super::{Error, instant::Instant};
use crate::domain::{
    entry::{Certainty, EntryKind, Resolution},
    hold::Hold,
    ids::{BackendId, ModelId, PriceVersionId, RootId, TenantId},
    limit::LimitKey,
    outcome::Cut,
};

/// How far a limit moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Move {
    /// Which.
    pub(crate) key: LimitKey,
    /// The revision it was decided on.
    pub(crate) revision: i64,
    /// Added to what is charged.
    pub(crate) settled: i64,
    /// Added to what is overrun.
    pub(crate) overrun: i64,
    /// Added to what is held.
    pub(crate) held: i64,
    /// Whether a new hold stands on it, so that its window must be open.
    pub(crate) holding: bool,
}

/// A hold to be taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewHold<'a> {
    pub(crate) hold: &'a Hold,
    /// How long it stands.
    pub(crate) ttl: Duration,
    /// When it is too late for it.
    pub(crate) not_after: Option<Timestamp>,
}

/// All that a batch changes.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    /// Limits that move, each once.
    pub(crate) moves: Vec<Move>,
    /// New holds.
    pub(crate) holds: Vec<NewHold<'a>>,
    /// Holds that end.
    pub(crate) ends: Vec<(&'a Hold, Resolution)>,
}

/// Lets a connection see these tenants and no other.
pub(crate) async fn see(
    connection: &mut PgConnection,
    tenants: &BTreeSet<TenantId>,
) -> Result<(), Error> {
    sqlx::query("select set_config('bursar.tenants', $1, false)")
        .bind(list(tenants))
        .execute(connection)
        .await?;
    Ok(())
}

fn list(tenants: &BTreeSet<TenantId>) -> String {
    let words: Vec<String> = tenants.iter().map(|it| it.uuid().to_string()).collect();
    words.join(",")
}

macro_rules! statement {
    ($($part:literal),* where $($count:literal),*) => {
        concat!(
            $(include_str!($part),)*
            "select clock.at, 1 / (case when true",
            $(" and ", $count,)*
            " then 1 else 0 end) as whole from clock"
        )
    };
}

// A statement that need not end or take holds is not made to start doing so. All
// are given the same parameters.
const HOLDS_ONLY: &str = statement!(
    "sql/write_moves.sql", "sql/write_holds.sql" where
    "(select count(*) from moved) = cardinality($1::uuid[])",
    "(select count(*) from taken) = cardinality($8::uuid[])"
);
const ENDS_ONLY: &str = statement!(
    "sql/write_moves.sql", "sql/write_ends.sql" where
    "(select count(*) from moved) = cardinality($1::uuid[])",
    "(select count(*) from gone) = cardinality($28::uuid[])",
    "(select count(*) from booked) = cardinality($28::uuid[])"
);
const BOTH: &str = statement!(
    "sql/write_moves.sql", "sql/write_ends.sql", "sql/write_holds.sql" where
    "(select count(*) from moved) = cardinality($1::uuid[])",
    "(select count(*) from gone) = cardinality($28::uuid[])",
    "(select count(*) from booked) = cardinality($28::uuid[])",
    "(select count(*) from taken) = cardinality($8::uuid[])"
);

/// Writes the batch whole or not at all and returns Postgres' time, which is also
/// that of the new holds. [`Error::Stale`] when a revision, a window or a hold was
/// not as expected. Afterwards the connection sees `tenants` and no other, where they
/// are given.
pub(crate) async fn write(
    connection: &mut PgConnection,
    batch: &Batch<'_>,
    tenants: Option<&BTreeSet<TenantId>>,
) -> Result<Timestamp, Error> {
    let query = sqlx::query(match (batch.ends.is_empty(), batch.holds.is_empty()) {
        (true, _) => HOLDS_ONLY,
        (false, true) => ENDS_ONLY,
        (false, false) => BOTH,
    });
    let sets = LimitSets::of(&batch.holds);
    let query = bind_holds(bind_moves(query, &batch.moves), &batch.holds, &sets);
    let roots = column(&batch.holds, |it| it.hold.parties.root.map(RootId::uuid));
    let routes = column(&batch.holds, |it| it.hold.route.as_deref().map(str::to_owned));
    let query = bind_ends(query, &batch.ends)
        .bind(sets.to)
        .bind(sets.ids)
        .bind(roots)
        .bind(tenants.map(list))
        .bind(routes)
        .bind(column(&batch.holds, |it| it.not_after.map(Timestamp::as_microsecond)));
    let row = query.fetch_one(connection).await?;
    Ok(row.try_get::<Instant, _>("at")?.0)
}

type Statement = Query<'static, Postgres, PgArguments>;

/// One array of a column.
fn column<T, U>(rows: &[T], of: impl Fn(&T) -> U) -> Vec<U> {
    rows.iter().map(of).collect()
}

fn bind_moves(query: Statement, moves: &[Move]) -> Statement {
    query
        .bind(column(moves, |it| it.key.tenant.uuid()))
        .bind(column(moves, |it| it.key.id.uuid()))
        .bind(column(moves, |it| it.revision))
        .bind(column(moves, |it| it.settled))
        .bind(column(moves, |it| it.overrun))
        .bind(column(moves, |it| it.held))
        .bind(column(moves, |it| it.holding))
}

/// The limits of holds in one flat array, since arrays of arrays must be
/// rectangular. Calls of one envelope name the same limits, which are sent once.
#[derive(Default)]
struct LimitSets {
    ids: Vec<Uuid>,
    /// The first and the last of each hold's, counted from 1.
    from: Vec<i32>,
    to: Vec<i32>,
}

impl LimitSets {
    fn of(holds: &[NewHold<'_>]) -> Self {
        let mut sets = Self::default();
        let mut seen = BTreeMap::new();
        for NewHold { hold, .. } in holds {
            let (from, to) = *seen.entry(hold.limits.as_slice()).or_insert_with(|| {
                let from = sets.ids.len().saturating_add(1);
                sets.ids.extend(hold.limits.iter().map(|it| it.id.uuid()));
                (from, sets.ids.len())
            });
            sets.from.push(i32::try_from(from).unwrap_or(i32::MAX));
            sets.to.push(i32::try_from(to).unwrap_or_default());
        }
        sets
    }
}

fn bind_holds(query: Statement, holds: &[NewHold<'_>], sets: &LimitSets) -> Statement {
    query
        .bind(column(holds, |it| it.hold.parties.tenant.uuid()))
        .bind(column(holds, |it| it.hold.id.uuid()))
        .bind(column(holds, |it| it.hold.call.uuid()))
        .bind(column(holds, |it| it.hold.attempt))
        .bind(column(holds, |it| it.hold.parties.host.uuid()))
        .bind(column(holds, |it| it.hold.parties.user.uuid()))
        .bind(column(holds, |it| it.hold.parties.server.uuid()))
        .bind(column(holds, |it| it.hold.parties.envelope.uuid()))
        .bind(column(holds, |it| it.hold.terms.model.map(ModelId::uuid)))
        .bind(column(holds, |it| it.hold.terms.backend.map(BackendId::uuid)))
        .bind(column(holds, |it| it.hold.terms.price_version.map(PriceVersionId::uuid)))
        .bind(column(holds, |it| it.hold.terms.fx.rate.uuid()))
        .bind(column(holds, |it| signed(it.hold.terms.fx.usd_nanos_per_unit)))
        .bind(column(holds, |it| it.hold.terms.fx.buffer_basis_points.cast_signed()))
        .bind(column(holds, |it| it.hold.need.calls))
        .bind(column(holds, |it| it.hold.need.money.nanos()))
        .bind(column(holds, |it| it.hold.need.tokens))
        .bind(sets.from.clone())
        .bind(column(holds, |it| it.hold.reserved_by_host))
        .bind(column(holds, |it| i64::try_from(it.ttl.as_millis()).unwrap_or(i64::MAX)))
}

fn bind_ends(query: Statement, ends: &[(&Hold, Resolution)]) -> Statement {
    query
        .bind(column(ends, |(hold, _)| hold.parties.tenant.uuid()))
        .bind(column(ends, |(hold, _)| hold.id.uuid()))
        .bind(column(ends, |(_, it)| entry_kind_word(it.kind)))
        .bind(column(ends, |(_, it)| signed(it.truth.usage.input)))
        .bind(column(ends, |(_, it)| signed(it.truth.usage.cache_read)))
        .bind(column(ends, |(_, it)| signed(it.truth.usage.cache_write)))
        .bind(column(ends, |(_, it)| signed(it.truth.usage.output)))
        .bind(column(ends, |(_, it)| signed(it.truth.usage.reasoning)))
        .bind(column(ends, |(_, it)| it.truth.pico_usd.to_string()))
        .bind(column(ends, |(_, it)| it.booking.calls))
        .bind(column(ends, |(_, it)| it.booking.tokens.charge))
        .bind(column(ends, |(_, it)| it.booking.tokens.overrun))
        .bind(column(ends, |(_, it)| it.booking.money.charge))
        .bind(column(ends, |(_, it)| it.booking.money.overrun))
        .bind(column(ends, |(_, it)| it.truth.cost.provider.nanos()))
        .bind(column(ends, |(_, it)| it.truth.cost.buffer.nanos()))
        .bind(column(ends, |(_, it)| certainty_word(&it.truth.certainty)))
        .bind(column(ends, |(_, it)| claim(&it.truth.certainty)))
        .bind(column(ends, |(_, it)| it.truth.cut.map(cut_word)))
}

/// Counts never come near the type's end; one that did would be booked as its end.
pub(crate) fn signed(it: u64) -> i64 {
    i64::try_from(it).unwrap_or(i64::MAX)
}

pub(crate) const fn entry_kind_word(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Settle => "settle",
        EntryKind::Void => "void",
        EntryKind::Expire => "expire",
        EntryKind::LateSettle => "late_settle",
        EntryKind::Correction => "correction",
    }
}

pub(crate) const fn certainty_word(certainty: &Certainty) -> &'static str {
    match certainty {
        Certainty::Exact => "exact",
        Certainty::Estimated => "estimated",
        Certainty::Disputed(_) => "disputed",
    }
}

/// The provider's claim, kept as it was made, in the order of the classes.
pub(crate) fn claim(certainty: &Certainty) -> Option<String> {
    let Certainty::Disputed(it) = certainty else { return None };
    let classes = [it.input, it.cache_read, it.cache_write, it.output, it.reasoning];
    let words = classes.map(|it| it.map_or_else(|| "NULL".to_owned(), |n| n.to_string()));
    Some(format!("{{{}}}", words.join(",")))
}

pub(crate) const fn cut_word(cut: Cut) -> &'static str {
    match cut {
        Cut::ClientGone => "client_gone",
        Cut::Deadline => "deadline",
        Cut::Idle => "idle",
        Cut::Budget => "budget",
        Cut::Backend => "backend",
        Cut::Cancelled => "cancelled",
        Cut::Shutdown => "shutdown",
    }
}
