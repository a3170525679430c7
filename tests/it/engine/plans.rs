//! The plans of the statements that every call goes through. A plan that reads more
//! than the rows it needs was ten times slower, and locked in another order.

use sqlx::{Connection, PgConnection};

use super::world::World;

const STATEMENTS: [(&str, &str, usize); 4] = [
    (
        "write",
        concat!(
            include_str!("../../../src/store/sql/write_moves.sql"),
            include_str!("../../../src/store/sql/write_ends.sql"),
            include_str!("../../../src/store/sql/write_holds.sql"),
            "select (select count(*) from moved), (select count(*) from booked), (select count(*) from taken)",
        ),
        49,
    ),
    ("lock", include_str!("../../../src/store/sql/lock_limits.sql"), 2),
    ("read", include_str!("../../../src/store/sql/read_limits.sql"), 2),
    ("open", include_str!("../../../src/store/sql/open_holds.sql"), 2),
];

/// As a lane's connection is set up.
const LANE: &str = "set role bursar_app; set plan_cache_mode = force_generic_plan;
    set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off;";

async fn plan(db: &mut PgConnection, (name, sql, parameters): (&str, &str, usize)) -> String {
    let prepare = format!("prepare {name} as {sql}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(prepare)).execute(&mut *db).await.unwrap();
    let nulls = vec!["null"; parameters].join(", ");
    let explain = format!("explain (costs off) execute {name} ({nulls})");
    let lines: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(explain))
        .persistent(false)
        .fetch_all(db)
        .await
        .unwrap();
    lines.join("\n")
}

#[tokio::test]
async fn calls_find_their_rows_by_key_whatever_the_statistics_say() {
    let world = World::new();
    for fill in [
        "select",
        "insert into limits (tenant_id, limit_id, width, envelope_id, kind, amount, enforcing, opens_at)
         select '00000000-0000-0000-0000-000000000001', gen_random_uuid(), 0, gen_random_uuid(),
            'money', 1, true, now() from generate_series(1, 20000)",
    ] {
        let mut owner = world.owner().await;
        sqlx::query(fill).execute(&mut owner).await.unwrap();
        sqlx::query("vacuum analyze").execute(&mut owner).await.unwrap();
        let mut lane = PgConnection::connect(&world.db.url).await.unwrap();
        sqlx::raw_sql(LANE).execute(&mut lane).await.unwrap();
        for statement in STATEMENTS {
            let plan = plan(&mut lane, statement).await;
            let lines: Vec<&str> = plan.lines().map(str::trim).collect();
            for (line, next) in lines.iter().zip(&lines[1..]) {
                let scanned = line.contains("Scan using limits_pkey") || line.contains("Scan using holds_pkey");
                let by_key = next.starts_with("Index Cond: ((tenant_id = ANY (ARRAY[") && next.contains("_id = ");
                assert!(!scanned || (by_key && next.contains(") AND (")), "{}\n{plan}", statement.0);
                assert!(!line.contains("Seq Scan"), "{}\n{plan}", statement.0);
            }
            assert!(plan.contains("_pkey"), "{plan}");
        }
    }
}
