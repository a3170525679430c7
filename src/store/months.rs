//! The tables that the ledger's months have to themselves.

use sqlx::{AssertSqlSafe, Connection as _};

use super::{Error, Store};

/// How long the ledger may be kept waiting for a new table: whoever reads all of it is in
/// the way, and the writers of every tenant would queue up behind.
const LOCK: &str = "set local lock_timeout = '200ms'";

/// Makes the tables of this month and of the next `ahead`, by Postgres' time, where they
/// are missing.
pub(crate) async fn make(store: &Store, ahead: u32) -> Result<(), Error> {
    let mut connection = store.duties().acquire().await?;
    let mut tx = connection.begin().await?;
    sqlx::query(AssertSqlSafe(LOCK)).execute(&mut *tx).await?;
    sqlx::query(
        "select bursar_ensure_month((date_trunc('month', now()) + n * interval '1 month')::date)
         from generate_series(0, $1) as n",
    )
    .bind(i32::try_from(ahead).unwrap_or(i32::MAX))
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}
