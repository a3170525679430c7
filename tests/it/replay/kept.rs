//! What is kept of an answered request: sealed, for a while, then gone.

use bursar::{
    admin::demo,
    call::replay::{PURGE_MAX, sweep},
    store::{Settings, Store},
};
use futures_util::future::join_all;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{ENTRIES, REQUESTS, aborted, execute, named, world};
use crate::{
    call::world::{World, ask, text},
    support::database,
};

#[tokio::test]
async fn what_is_kept_says_nothing_and_fits_its_own_request_alone() {
    let world = world().await;
    let request = named("canary-id", ask(&json!({ "text": "canary-answer" })));
    world.sample(request.clone()).await.unwrap();
    world.sample(named("r-2", ask(&json!({ "text": "other" })))).await.unwrap();
    let with = |word: &str| {
        format!(
            "select count(*) from requests where requests::text like '%{word}%'
                or position('{word}'::bytea in request || body || reply) > 0"
        )
    };
    assert_eq!(world.number(&with("kept")).await, 2);
    for word in ["canary", "other", demo::USER, demo::SERVER, "scripted", "env_"] {
        assert_eq!(world.number(&with(word)).await, 0, "{word}");
    }
    // Replies put under each other's requests are not shown.
    let swap = "update requests r set reply = o.reply from requests o where o.request <> r.request";
    execute(&world, swap).await;
    aborted(world.sample(request).await, "REQUEST_REPLY_NOT_KEPT");
    assert_eq!(world.number(ENTRIES).await, 2);
    world.close().await;
}

#[tokio::test]
async fn without_a_key_nothing_is_kept_and_nothing_is_made_twice() {
    let world = World::start().await;
    let request = named("r-1", ask(&json!({ "text": "slow", "first_delay_ms": 300 })));
    // Those who ask while it runs share the reply all the same.
    let replies = join_all((0..3).map(|_| world.sample(request.clone()))).await;
    assert!(replies.iter().all(|it| text(it.as_ref().unwrap()) == "slow"));
    aborted(world.sample(request).await, "REQUEST_REPLY_NOT_KEPT");
    assert_eq!(world.number("select count(*) from requests where reply is not null").await, 0);
    assert_eq!(world.number(ENTRIES).await, 1);
    world.close().await;
}

#[tokio::test]
async fn after_the_purge_an_id_is_as_new() {
    let world = world().await;
    let request = named("r-1", ask(&json!({ "text": "hi" })));
    let first = world.sample(request.clone()).await.unwrap();
    let minutes = "select (extract(epoch from purge_at - now()) / 60)::bigint from requests";
    assert_eq!(world.number(minutes).await, 10);
    // Due, whether the purge came by or not.
    execute(&world, "update requests set purge_at = now()").await;
    let second = world.sample(request.clone()).await.unwrap();
    assert_ne!(second.call, first.call);
    assert_eq!(world.sample(request).await.unwrap(), second);
    assert_eq!(world.number(ENTRIES).await, 2);
    world.close().await;
}

#[tokio::test]
async fn the_purge_sees_only_what_is_due_and_takes_it_in_bounded_portions() {
    let db = database();
    let settings = Settings { url: db.url.clone(), call_connections: 1, report_connections: 1 };
    let store = Store::open(&settings).unwrap();
    let mut owner = PgConnection::connect(&db.url).await.unwrap();
    for sql in [
        "insert into tenants select gen_random_uuid(), 'T', 'EUR' from generate_series(1, 2)",
        "insert into hosts select tenant_id, gen_random_uuid(), 'H' from tenants",
        "insert into requests (tenant_id, host_id, request, body, call_id, ended, reply,
            expires_at, purge_at)
         select tenant_id, host_id, sha256(n::text::bytea), sha256(''), gen_random_uuid(), 'kept',
            'sealed', now(), now() + case when n % 7 = 0 then interval '1 hour' else '-1 s' end
         from hosts, generate_series(1, 700) n",
    ] {
        sqlx::query(sql).execute(&mut owner).await.unwrap();
    }
    let mut duty = PgConnection::connect(&db.url).await.unwrap();
    sqlx::query("set role bursar_duty").execute(&mut duty).await.unwrap();
    let seen = "select count(request) from requests";
    let seen: i64 = sqlx::query_scalar(seen).fetch_one(&mut duty).await.unwrap();
    assert_eq!(seen, 1_200);
    for column in ["reply", "body", "call_id", "ended", "*"] {
        let sql = format!("select {column} from requests");
        let denied = sqlx::query(AssertSqlSafe(sql)).execute(&mut duty).await;
        assert!(denied.is_err(), "{column}");
    }
    let touch = "update requests set purge_at = now()";
    assert!(sqlx::query(touch).execute(&mut duty).await.is_err());
    for wanted in [PURGE_MAX, PURGE_MAX, 200, 0] {
        assert_eq!(sweep(&store).await.unwrap(), wanted);
    }
    sqlx::query("delete from requests").execute(&mut duty).await.unwrap();
    let left: i64 = sqlx::query_scalar(REQUESTS).fetch_one(&mut owner).await.unwrap();
    assert_eq!(left, 200);
    store.close().await;
}
