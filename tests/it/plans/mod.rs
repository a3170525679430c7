//! The plans of all statements that calls make, as Postgres itself logs them while real
//! calls run. A plan that reads more than the rows it needs was ten times slower, and
//! locked in another order.

mod drive;
mod log;
mod rule;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::call::world::World;

use self::{
    drive::{budgets, drive},
    log::{Logged, Plans},
    rule::problems,
};

/// Parts of statements that must have been seen, or the test proves less than it says.
const SEEN: &[&str] = &[
    "from credentials c join tenants",
    "from users u",
    "from envelope_tokens t\n         join tenants",
    "insert into envelope_tokens",
    "from backends",
    "from models m",
    "from fx_rates",
    "from envelope_scopes s",
    "insert into envelope_scopes",
    "insert into envelopes",
    "left join budgets b",
    "insert into limits",
    "from limits l where l.tenant_id = $1 and l.envelope_id",
    "insert into requests",
    "from requests where",
    "update requests set ended",
    "hold_id between",
    "select root_id from roots",
    "insert into roots",
    "update limits l",
    "insert into holds",
    "delete from holds",
    "insert into batches",
    "insert into entries",
    "for no key update of l",
    "select clock.at, h.hold_id",
    "where expires_at <= now()",
    "select e.*, array(",
    "-- All that is booked of a hold",
    "-- A later truth",
    "and envelope_id = $2 for no key update",
    "insert into extensions",
    "update envelopes set extended_times",
    "update limits set amount",
    "-- Which of these calls' parties",
];

/// How a statement of the test's own begins.
const OURS: &str = "/* of the test */";

const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// Logs the plan of every statement in a database from the next connection on.
async fn explain_all(url: &str) {
    let mut owner = PgConnection::connect(url).await.unwrap();
    if let Err(it) = sqlx::query("load 'auto_explain'").execute(&mut owner).await {
        panic!(
            "this test needs the module auto_explain beside the Postgres binaries, which \
             Debian's postgresql-15 brings and a package of contributed modules elsewhere: {it}"
        );
    }
    let name: String =
        sqlx::query_scalar("select current_database()").fetch_one(&mut owner).await.unwrap();
    for setting in [
        "session_preload_libraries = 'auto_explain'",
        "auto_explain.log_min_duration = 0",
        "auto_explain.log_format = json",
        "auto_explain.log_nested_statements = on",
    ] {
        let sql = format!("alter database {name} set {setting}");
        sqlx::query(AssertSqlSafe(sql)).execute(&mut owner).await.unwrap();
    }
}

async fn world() -> World {
    World::with(|config| {
        config.vault_key = Some(KEY.to_owned().into());
        let url = config.database_url.clone();
        // Before the service connects, and off this thread, which is inside a runtime.
        let explain = move || {
            tokio::runtime::Runtime::new().unwrap().block_on(explain_all(&url));
        };
        std::thread::spawn(explain).join().unwrap();
    })
    .await
}

/// How much the tables have, and what may be asked of plans then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tables {
    /// Next to nothing: one way is as good as another, and Postgres plans anew once there
    /// is more. But a lane keeps its plans for good.
    Empty,
    Full,
}

#[track_caller]
fn check(plans: &[Logged], tables: Tables) {
    let of_lane = |it: &Logged| it.query.contains("any(array[");
    let strict = |it: &Logged| tables == Tables::Full || of_lane(it);
    let bad: Vec<String> = plans
        .iter()
        .filter(|it| !it.query.starts_with(OURS))
        .flat_map(|it| problems(&it.plan, strict(it)).into_iter().map(move |why| (it, why)))
        .map(|(it, why)| format!("{why}\n{}\n{:#}", it.query, it.plan))
        .collect();
    assert!(bad.is_empty(), "{tables:?}: {} bad plans\n\n{}", bad.len(), bad.join("\n\n"));
    for part in SEEN {
        assert!(plans.iter().any(|it| it.query.contains(part)), "{tables:?}: never seen: {part}");
    }
}

#[tokio::test]
async fn calls_find_their_rows_by_key_whatever_the_statistics_say() {
    let mut world = world().await;
    let mut plans = Plans::of(&world.db.url).await;
    for (tables, fill) in [(Tables::Empty, "select"), (Tables::Full, include_str!("fill.sql"))] {
        let when = format!("{tables:?}");
        let mut owner = plans.unlogged().await;
        budgets(&world, &when).await;
        sqlx::raw_sql(fill).execute(&mut owner).await.unwrap();
        sqlx::query("vacuum analyze").execute(&mut owner).await.unwrap();
        plans.skip();
        drive(&world, &when).await;
        let logged = plans.read(&when).await;
        check(&logged, tables);
    }
    // What was filled in is no ledger, so there is nothing to prove.
    world.stop().await;
}
