//! What finance waits for, on a ledger of ten million entries over ten months:
//! `BURSAR_BENCH_ENTRIES` takes another number.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::float_arithmetic,
    reason = "a benchmark measures, prints and may stop"
)]

use std::{
    env, fs,
    time::{Duration, Instant},
};

use bursar::{
    app::postgres::{Cluster, Options},
    domain::{
        ids::TenantId,
        report::{Dimension, Filter},
        tenant::Tenant,
    },
    ledger::{
        self, Reader, Wanted,
        export::{Export, Format, Month, Piece},
        report::{self, month_of, report},
    },
    store::{self, Settings, Store},
};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

const MONTHS: i64 = 10;
const ENTRIES_OF_BATCH: i64 = 20;
const TENANT: Uuid = Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001);
/// The month that is reported and exported, and a day of it.
const MONTH: &str = "2026-06";
const DAY: [&str; 2] = ["2026-06-10T00:00:00Z", "2026-06-11T00:00:00Z"];

fn entries_wanted() -> i64 {
    let quick = env::var_os("BURSAR_BENCH_QUICK").is_some_and(|it| it == "1");
    let given = env::var("BURSAR_BENCH_ENTRIES").ok().map(|it| it.parse().unwrap());
    given.unwrap_or(if quick { 100_000 } else { 10_000_000 })
}

fn main() {
    let dir = env::temp_dir().join(format!("bursar-bench-ledger-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let settings = [("max_wal_size", "4GB"), ("shared_buffers", "1GB"), ("autovacuum", "off")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = Options { durable: false, settings: settings.into(), ..Options::new(&dir) };
    let cluster = Cluster::start(&options).unwrap();
    cluster.create_database("bench", None).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let result = runtime.block_on(Box::pin(run(&cluster.url("bench"))));
    drop(cluster);
    fs::remove_dir_all(&dir).unwrap();
    println!("{result}");
}

async fn run(url: &str) -> serde_json::Value {
    store::migrate(url).await.unwrap();
    let entries = fill(url, entries_wanted()).await;
    let settings = Settings { url: url.to_owned(), call_connections: 2, report_connections: 4 };
    let store = Store::open(&settings).unwrap();
    let tenant = Tenant {
        id: TENANT.into(),
        display_name: "Bench".to_owned(),
        currency: "EUR".parse().unwrap(),
    };
    let (rolled, ()) = timed(catch_up(&store, tenant.id, entries)).await;
    let (sealed, _) = timed(Box::pin(export(&store, &tenant, (Format::Journal, "2026-01")))).await;
    analyze(url).await;
    let month = Month::parse("month", MONTH).unwrap();
    let (start, end) = month_of(month.start).unwrap();
    let by = vec![Dimension::User, Dimension::Server];
    let month = wanted(by.clone(), (start, end));
    let day = wanted(by, (DAY[0].parse().unwrap(), DAY[1].parse().unwrap()));
    let month_ms = median_ms(5, || report(&store, tenant.id, &month, (None, 501))).await;
    let top20_ms = median_ms(5, || report(&store, tenant.id, &day, (None, 20))).await;
    let page_ms = pages(&store, &tenant).await;
    // The peak from here on alone.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let (exported, rows) = timed(Box::pin(export(&store, &tenant, (Format::Focus12, MONTH)))).await;
    let rss = peak_rss_mb();
    let (journal, _) = timed(Box::pin(export(&store, &tenant, (Format::Journal, MONTH)))).await;
    let (verified, proof) = timed(Box::pin(ledger::verify(&store, tenant.id))).await;
    let proof = proof.unwrap();
    assert!(proof.is_ok(), "{:#?}", proof.problems);
    assert_eq!(proof.entries, entries);
    store.close().await;
    json!({
        "entries": entries,
        "month_by_user_ms": month_ms,
        "top20_ms": top20_ms,
        "page_ms": page_ms,
        "export_s": seconds(exported),
        "export_rows": rows,
        "export_rss_mb": rss,
        "journal_s": seconds(journal),
        "verify_s": seconds(verified),
        "rollup_s": seconds(rolled),
        "seal_s": seconds(sealed),
    })
}

fn wanted(by: Vec<Dimension>, (start, end): (jiff::Timestamp, jiff::Timestamp)) -> report::Wanted {
    report::Wanted { by, grain: None, start, end, compare: false, filter: Filter::default() }
}

async fn timed<T>(work: impl Future<Output = T>) -> (Duration, T) {
    let before = Instant::now();
    let done = work.await;
    (before.elapsed(), done)
}

async fn median_ms<T, F: Future<Output = T>>(rounds: usize, work: impl Fn() -> F) -> f64 {
    let mut all = Vec::new();
    for _ in 0..rounds {
        all.push(timed(work()).await.0);
    }
    all.sort_unstable();
    (all[rounds / 2].as_secs_f64() * 10_000.0).round() / 10.0
}

fn seconds(it: Duration) -> f64 {
    (it.as_secs_f64() * 100.0).round() / 100.0
}

/// Pages of fifty, from the newest on.
async fn pages(store: &Store, tenant: &Tenant) -> f64 {
    let reader = Reader { tenant: tenant.id, currency: tenant.currency, host: None };
    let (mut before, mut all) = (None, Vec::new());
    for _ in 0..21 {
        let (took, page) =
            timed(ledger::entries(store, &reader, &Wanted::default(), (before, 50))).await;
        before = page.unwrap().last().map(|it| it.id.uuid());
        all.push(took);
    }
    all.sort_unstable();
    (all[all.len() / 2].as_secs_f64() * 10_000.0).round() / 10.0
}

/// Until every entry is in the sums.
async fn catch_up(store: &Store, tenant: TenantId, entries: i64) {
    let all = ("2026-01-01T00:00:00Z".parse().unwrap(), "2027-01-01T00:00:00Z".parse().unwrap());
    let all = wanted(Vec::new(), all);
    loop {
        let found = report(store, tenant, &all, (None, 1)).await.unwrap();
        if found.total.entries == entries {
            return;
        }
        eprintln!("{} of {entries} in the sums", found.total.entries);
    }
}

async fn export(store: &Store, tenant: &Tenant, (format, month): (Format, &str)) -> i64 {
    let month = Month::parse("month", month).unwrap();
    let mut export = Export::begin(store, tenant, (format, month)).await.unwrap();
    while let Some(piece) = export.next().await.unwrap() {
        if let Piece::Lines(lines) = piece {
            std::hint::black_box(lines);
        }
    }
    export.totals().rows
}

fn peak_rss_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    line.trim().split(' ').next().unwrap().parse::<u64>().unwrap() / 1024
}

async fn analyze(url: &str) {
    let mut owner = PgConnection::connect(url).await.unwrap();
    sqlx::query("vacuum analyze").execute(&mut owner).await.unwrap();
}

/// Fills the ledger and returns how many entries it has.
async fn fill(url: &str, entries: i64) -> i64 {
    let mut owner = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(include_str!("catalogue.sql")).execute(&mut owner).await.unwrap();
    let batches = (entries / MONTHS / ENTRIES_OF_BATCH).max(1);
    for month in 0..MONTHS {
        let first = format!("2026-{:02}-01", month + 1);
        let make = sqlx::query("select bursar_ensure_month($1::text::date)").bind(&first);
        make.execute(&mut owner).await.unwrap();
        let fill = sqlx::query(include_str!("month.sql")).bind(format!("{first} 00:00:00Z"));
        fill.bind(month * batches).bind(batches).execute(&mut owner).await.unwrap();
        eprintln!("month {} of {MONTHS} is filled", month + 1);
    }
    sqlx::raw_sql(include_str!("limits.sql")).execute(&mut owner).await.unwrap();
    sqlx::query("insert into batches (tenant_id, last_no) values ($1, $2)")
        .bind(TENANT)
        .bind(batches * MONTHS)
        .execute(&mut owner)
        .await
        .unwrap();
    sqlx::query("vacuum analyze").execute(&mut owner).await.unwrap();
    batches * MONTHS * ENTRIES_OF_BATCH
}
