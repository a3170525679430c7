//! Rows and SQL: the only module that names sqlx. Functions take a connection, so
//! the caller owns the transaction.

pub mod audit;
pub mod batch;
pub mod books;
pub mod bounds;
pub mod budgets;
pub mod catalogue;
pub mod entries;
pub mod envelopes;
pub mod error;
pub mod explain;
pub mod extensions;
pub mod focus;
pub mod grants;
pub mod holds;
pub mod identity;
pub mod instant;
pub mod lane;
pub mod ledger;
pub mod limits;
pub mod listings;
pub mod migrate;
pub(crate) mod months;
pub mod periods;
pub mod prices;
pub mod reports;
pub mod requests;
pub mod rollups;
pub mod roots;
pub mod seals;
pub mod stops;
pub mod tokens;
pub mod verify;

use std::time::Duration;

use sqlx::{
    AssertSqlSafe, ConnectOptions, PgConnection, PgPool, Postgres, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
};

pub use error::Error;
pub use migrate::migrate;

use crate::domain::ids::TenantId;

/// A transaction that sees one tenant.
pub type Tx = Transaction<'static, Postgres>;

/// How to reach Postgres, and how much of it to use.
#[derive(Debug, Clone)]
pub struct Settings {
    /// A `postgresql://` URL of a login role that is granted `bursar_app` and `bursar_duty`.
    pub url: String,
    /// Connections for calls, besides one for each lane.
    pub call_connections: u32,
    /// Connections for reports and administration.
    pub report_connections: u32,
}

/// Separate pools, so that no kind of work starves another.
#[derive(Debug, Clone)]
pub struct Store {
    calls: PgPool,
    reports: PgPool,
    duties: PgPool,
    lane: PgConnectOptions,
}

/// The role of the service: sees its tenants' rows, owns nothing.
const APP: &str = "bursar_app";

/// The role of the duties: sees which holds expired, in any tenant.
const DUTY: &str = "bursar_duty";

/// How long a request waits for a connection before it is told to come back.
const ACQUIRE: Duration = Duration::from_secs(2);

/// How long one statement of a proof may take: millions of rows a minute.
const PROOF: &str = "120s";

/// How long all statements of a proof may take.
const PROOFS: &str = "1h";

/// How long any other transaction may take, where Postgres can tell.
const TRANSACTION: &str = "20s";

// === impl Store ===

impl Store {
    /// Prepares the pools. Connects when first used.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        let options: PgConnectOptions = settings.url.parse().map_err(Error::from)?;
        let options = options.application_name("bursar").disable_statement_logging();
        let pool = |options: PgConnectOptions, most: u32, longest: &'static str| {
            PgPoolOptions::new()
                .max_connections(most)
                .acquire_timeout(ACQUIRE)
                .idle_timeout(Duration::from_mins(5))
                .after_connect(|connection, _| Box::pin(bound(connection, longest)))
                .connect_lazy_with(options)
        };
        let of = |role: &str| timed(as_role(options.clone(), role));
        Ok(Self {
            calls: pool(by_key(of(APP)), settings.call_connections, TRANSACTION),
            reports: pool(of(APP), settings.report_connections, PROOFS),
            duties: pool(by_key(of(DUTY)), 2, TRANSACTION),
            lane: planned(of(APP)),
        })
    }

    /// A transaction on the path of a call that sees `tenant` alone.
    pub async fn call_tx(&self, tenant: TenantId) -> Result<Tx, Error> {
        begin(&self.calls, tenant).await
    }

    /// A transaction for reports and administration that sees `tenant` alone.
    pub async fn report_tx(&self, tenant: TenantId) -> Result<Tx, Error> {
        begin(&self.reports, tenant).await
    }

    /// A transaction that sees `tenant` alone, as it stood at one instant, and that
    /// may take long: for proofs.
    pub async fn snapshot_tx(&self, tenant: TenantId) -> Result<Tx, Error> {
        let tenant = tenant.uuid();
        let statement = format!(
            "begin isolation level repeatable read read only; \
             set local bursar.tenants = '{tenant}'; set local statement_timeout = '{PROOF}'"
        );
        Ok(self.reports.begin_with(AssertSqlSafe(statement)).await?)
    }

    /// The pool of the duties.
    pub(crate) const fn duties(&self) -> &PgPool {
        &self.duties
    }

    /// A lane's own connection.
    pub(crate) async fn lane_connection(&self) -> Result<PgConnection, Error> {
        let mut connection = self.lane.connect().await?;
        bound(&mut connection, TRANSACTION).await?;
        Ok(connection)
    }

    /// Connects once past the pools, which only say that they waited in vain.
    pub async fn reach(&self) -> Result<(), Error> {
        let connected = tokio::time::timeout(ACQUIRE, self.lane_connection()).await;
        connected.unwrap_or_else(|_| Err(Error::Unreachable(sqlx::Error::PoolTimedOut))).map(drop)
    }

    /// Whether Postgres answers, and by how many milliseconds its clock is ahead
    /// of `unix_ms`.
    pub async fn clock_ahead_ms(&self, unix_ms: i64) -> Result<i64, Error> {
        let theirs: i64 =
            sqlx::query_scalar("select (extract(epoch from clock_timestamp()) * 1000)::bigint")
                .fetch_one(&self.calls)
                .await?;
        Ok(theirs.saturating_sub(unix_ms))
    }

    /// Whether a connection of the service is bound by row-level security.
    pub async fn is_bound_by_row_security(&self) -> Result<bool, Error> {
        let bound = sqlx::query_scalar("select row_security_active('limits')");
        Ok(bound.fetch_one(&self.calls).await?)
    }

    /// Lets go of every connection.
    pub async fn close(&self) {
        self.calls.close().await;
        self.reports.close().await;
        self.duties.close().await;
    }
}

/// Makes a transaction's writes durable.
pub async fn commit(tx: Tx) -> Result<(), Error> {
    Ok(tx.commit().await?)
}

/// Takes a transaction's writes back.
pub async fn forget(tx: Tx) -> Result<(), Error> {
    Ok(tx.rollback().await?)
}

/// Postgres' time at which the transaction began.
pub(crate) async fn now(tx: &mut Tx) -> Result<jiff::Timestamp, Error> {
    let now: instant::Instant = sqlx::query_scalar("select now()").fetch_one(&mut **tx).await?;
    Ok(now.0)
}

/// The tenant is set with the `begin` itself: one round trip, and no way to forget it.
async fn begin(pool: &PgPool, tenant: TenantId) -> Result<Tx, Error> {
    let tenant = tenant.uuid();
    let statement = format!("begin; set local bursar.tenants = '{tenant}'");
    Ok(pool.begin_with(AssertSqlSafe(statement)).await?)
}

fn as_role(options: PgConnectOptions, role: &str) -> PgConnectOptions {
    options.options([("role", role)])
}

/// Without these one paused replica would freeze a tenant, and one whose machine is
/// gone would do so until the network notices.
fn timed(options: PgConnectOptions) -> PgConnectOptions {
    options.options([
        ("statement_timeout", "10s"),
        ("lock_timeout", "3s"),
        ("idle_in_transaction_session_timeout", "5s"),
        ("tcp_keepalives_idle", "10"),
        ("tcp_keepalives_interval", "5"),
        ("tcp_keepalives_count", "3"),
    ])
}

/// Where Postgres has it (from 17 on), a bound on whole transactions: between two parts
/// of one flight of messages none of the other timeouts runs.
async fn bound(connection: &mut PgConnection, longest: &str) -> Result<(), sqlx::Error> {
    let set = "select set_config(name, $1, false) from pg_settings
        where name = 'transaction_timeout'";
    sqlx::query(set).bind(longest).execute(connection).await.map(drop)
}

/// What a call asks is found by key. A plan made while a table was small would read all
/// of it, and would be kept.
fn by_key(options: PgConnectOptions) -> PgConnectOptions {
    options.options([
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
        ("enable_seqscan", "off"),
        ("jit", "off"),
    ])
}

/// A lane's statements join arrays with tables by primary key. Planned once and for
/// that alone, they cost the same whatever the statistics say.
fn planned(options: PgConnectOptions) -> PgConnectOptions {
    by_key(options).options([("plan_cache_mode", "force_generic_plan")])
}
