//! Years of use before anything is measured: entries of three years of months, of the
//! tenants under test, and the limits that they moved.

use std::env;

use jiff::{Span, Timestamp, Unit, tz::TimeZone};

use crate::setup::Setup;

const MONTHS: i64 = 36;
const CALLS_OF_ENVELOPE: i64 = 20;

/// How many rows the ledger is to have before anything is measured.
pub(crate) fn wanted() -> Option<i64> {
    env::var("BURSAR_BENCH_HISTORY").ok().map(|it| it.parse().unwrap())
}

pub(crate) async fn load(setup: &Setup, rows: i64) {
    let mut owner = setup.owner().await;
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let this = now.first_of_month().unwrap().start_of_day().unwrap();
    let envelopes = (rows / CALLS_OF_ENVELOPE / MONTHS).max(1);
    sqlx::query("set synchronous_commit = off").execute(&mut owner).await.unwrap();
    // Months that are over: what is measured comes after.
    for ago in 1..=MONTHS {
        let month = this.checked_sub(Span::new().months(ago)).unwrap().round(Unit::Second).unwrap();
        let month = month.timestamp().to_string();
        sqlx::query("select bursar_ensure_month($1::text::date)")
            .bind(&month[..10])
            .execute(&mut owner)
            .await
            .unwrap();
        let first = (MONTHS - ago) * envelopes + 1;
        for sql in [include_str!("history_limits.sql"), include_str!("history_entries.sql")] {
            sqlx::query(sql)
                .bind(&month)
                .bind(first)
                .bind(first + envelopes - 1)
                .execute(&mut owner)
                .await
                .unwrap();
        }
    }
    for sql in [
        "insert into batches (tenant_id, last_no) select tenant_id, max(batch_no) from entries group by 1",
        "vacuum analyze",
    ] {
        sqlx::query(sql).execute(&mut owner).await.unwrap();
    }
}
