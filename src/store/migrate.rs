//! The schema's history, embedded. Forward only.

use std::borrow::Cow;

use sqlx::{
    ConnectOptions, Connection, SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
    postgres::PgConnectOptions,
};

use super::Error;

macro_rules! migrations {
    ($($version:literal $name:literal,)*) => {
        [$((
            $version,
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/", $name, ".sql")),
        ),)*]
    };
}

/// Every migration, in order.
const MIGRATIONS: &[(i64, &str, &str)] = &migrations![
    1 "0001_roles",
    2 "0002_tenants",
    3 "0003_catalogue",
    4 "0004_grants",
    5 "0005_allowances",
    6 "0006_limits",
    7 "0007_ledger",
    8 "0008_row_security",
    9 "0009_requests",
    10 "0010_plans",
    11 "0011_scopes",
    12 "0012_nesting",
    13 "0013_anthropic",
    14 "0014_price_book",
    15 "0015_bounds",
    16 "0016_routes",
    17 "0017_extensions",
    25 "0025_tokens",
    26 "0026_rollups",
    27 "0027_seals",
    28 "0028_periods",
    30 "0030_stops",
    31 "0031_audit",
    37 "0037_tariffs",
];

/// Brings the schema up to date. Needs the owner's role and a direct connection,
/// since it takes an advisory lock; a pooler in between would lose it.
pub async fn migrate(url: &str) -> Result<(), Error> {
    let options: PgConnectOptions = url.parse()?;
    let mut connection = options.disable_statement_logging().connect().await?;
    migrator().run_direct(None, &mut connection, false).await.map_err(sqlx::Error::from)?;
    connection.close().await?;
    Ok(())
}

/// How many migrations this program knows and the database has.
pub async fn versions(url: &str) -> Result<(usize, i64), Error> {
    let options: PgConnectOptions = url.parse()?;
    let mut connection = options.disable_statement_logging().connect().await?;
    let applied: i64 = sqlx::query_scalar("select count(*) from _sqlx_migrations where success")
        .fetch_one(&mut connection)
        .await?;
    Ok((MIGRATIONS.len(), applied))
}

fn migrator() -> Migrator {
    let migrations = MIGRATIONS.iter().map(|&(version, name, sql)| {
        let kind = MigrationType::Simple;
        Migration::new(version, Cow::Borrowed(name), kind, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
}
