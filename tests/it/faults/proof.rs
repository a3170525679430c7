//! What must hold after every fault, whatever it was.

use std::{process::Command, time::Duration};

use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// A connection of the owner, whom no policy binds.
pub(super) async fn owner(url: &str) -> PgConnection {
    PgConnection::connect(url).await.unwrap()
}

/// Changes the database behind everybody's back.
pub(super) async fn execute(url: &str, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut owner(url).await).await.unwrap();
}

/// One number of a query by the owner.
pub(super) async fn number(url: &str, sql: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut owner(url).await).await.unwrap()
}

/// Waits until a query has this number, at most a minute.
pub(super) async fn until(url: &str, sql: &str, wanted: i64) {
    let mut owner = owner(url).await;
    let mut seen = 0;
    for _ in 0..3_000 {
        seen = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut owner).await.unwrap();
        if seen == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{sql}: {seen} in place of {wanted}");
}

/// Has the database write down every hold and every breach from now on.
pub(super) async fn witness(url: &str) {
    execute(url, include_str!("witness.sql")).await;
}

/// Every way in which the tables contradict themselves or the witness.
pub(super) async fn problems(url: &str) -> Vec<String> {
    let mut owner = owner(url).await;
    let sql = concat!(
        include_str!("../engine/problems.sql"),
        "\nunion all\n",
        include_str!("broken.sql")
    );
    sqlx::query_scalar(sql).fetch_all(&mut owner).await.unwrap()
}

/// Once the sweep has run: no hold is left beyond its time, none ended but once, no limit
/// was ever passed, what is not known exactly says so, and the program's own proof passes.
pub(super) async fn prove(url: &str) {
    until(url, "select count(*) from holds where expires_at < now()", 0).await;
    assert_eq!(problems(url).await, Vec::<String>::new());
    verify(url);
}

/// The same once every hold is over, as if their time had passed: somebody must sweep.
pub(super) async fn prove_at_the_end(url: &str) {
    execute(url, "update holds set expires_at = now() - interval '1 second'").await;
    until(url, "select count(*) from holds", 0).await;
    prove(url).await;
}

/// `bursar ledger verify` passes.
pub(super) fn verify(url: &str) {
    let said = Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(["ledger", "verify", "--json", "--database-url", url])
        .output()
        .unwrap();
    assert_eq!(said.status.code(), Some(0), "{said:?}");
}
