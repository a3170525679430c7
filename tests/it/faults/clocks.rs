//! Clocks that jump: Postgres', whose time decides, and those of replicas, which may say
//! what they like.

use std::time::Duration;

use bursar::{
    budget::{Engine, Lanes, Verdict, command::Ended, reaper},
    clock::Clock,
    proto::Outcome,
};
use serde_json::json;

use super::{
    load::{Host, at_once, sum},
    proof::{self, execute, number, prove, prove_at_the_end, until, witness},
};
use crate::{
    call::world::{ask_in, limits},
    engine::world::{UNIT, World, settle, truth},
    support::{
        database,
        replicas::{Replica, seed},
    },
};

const HOLDS: &str = "select count(*) from holds";

/// Puts clocks of the test's own before Postgres' own ones, for connections to come.
async fn movable_clock(url: &str) {
    let mut sql = String::from(
        "create schema moved; create table moved.clock (ahead interval not null);
         insert into moved.clock values ('0'); grant usage on schema moved to public;",
    );
    for name in ["now", "clock_timestamp", "statement_timestamp", "transaction_timestamp"] {
        let kind = if name == "clock_timestamp" { "volatile" } else { "stable" };
        let function = format!(
            "create function moved.{name}() returns timestamptz language sql {kind} security definer
             as 'select pg_catalog.{name}() + (select ahead from moved.clock)';"
        );
        sql.push_str(&function);
    }
    sql.push_str(
        "do $$ begin execute format('alter database %I set search_path = moved, pg_catalog, public',
            current_database()); end $$",
    );
    execute(url, &sql).await;
}

async fn jump(url: &str, ahead: &str) {
    execute(url, &format!("update moved.clock set ahead = '{ahead}'")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_clock_that_jumps_ends_holds_early_and_the_truth_corrects_them() {
    let db = database();
    witness(&db.url).await;
    movable_clock(&db.url).await;
    let key = seed(&db.url).await.host_key.reveal().to_owned();
    let running = [Replica::serve(&db.url, &[]), Replica::serve(&db.url, &[])];
    let mut hosts = Vec::new();
    for it in &running {
        hosts.push(Host { channel: it.channel().await, key: key.clone() });
    }
    let envelope = hosts[0].open(limits(1_000, 600, 1_000_000_000)).await;
    let slow = ask_in(&envelope, &json!({ "text": "one two", "first_delay_ms": 4_000 }));
    let calls = at_once(&hosts, &vec![slow.clone(); 20]);
    until(&db.url, HOLDS, 20).await;
    jump(&db.url, "2 hours").await;
    // Their time is over, as the clock has it: each is booked at its full amount.
    let expired = "select count(*) from entries where kind = 'expire' and charged = held_money";
    until(&db.url, expired, 20).await;
    prove(&db.url).await;
    // The envelope's is, too.
    let over = hosts[1].call(ask_in(&envelope, &json!({ "text": "one" }))).await.unwrap();
    assert_eq!(over.outcome(), Outcome::Exhausted, "{over:?}");
    // The calls end well, and what they cost is known.
    let tally = sum(calls).await;
    assert_eq!(tally.complete, 20, "{tally:?}");
    until(&db.url, "select count(*) from entries where kind = 'late_settle'", 20).await;
    assert_eq!(number(&db.url, "select sum(charged)::bigint from entries").await, tally.charged);
    prove(&db.url).await;

    // Back, before all that is there was made.
    let there = hosts[0].open(limits(1_000, 600, 1_000_000_000)).await;
    let calls = at_once(&hosts, &vec![ask_in(&there, &json!({ "first_delay_ms": 1_500 })); 10]);
    until(&db.url, HOLDS, 10).await;
    jump(&db.url, "-1 hour").await;
    let tally = sum(calls).await;
    assert_eq!(tally.complete, 10, "{tally:?}");
    let back = hosts[1].open(limits(1_000, 600, 1_000_000_000)).await;
    let tally = sum(at_once(&hosts, &vec![ask_in(&back, &json!({})); 10])).await;
    assert_eq!(tally.complete, 10, "{tally:?}");
    jump(&db.url, "0").await;
    prove_at_the_end(&db.url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_are_a_day_off_hold_and_expire_by_the_database_alone() {
    let world = World::new();
    witness(&world.db.url).await;
    let day = 86_400_000;
    let mut engines = Vec::new();
    for ahead in [-day, 0, day] {
        let clock = Clock::default();
        clock.set_offset_ms(ahead);
        let (engine, lanes) = Engine::new(&world.store, &clock, Lanes::of(1));
        for lane in lanes {
            tokio::spawn(lane.run());
        }
        engines.push((engine, clock));
    }
    let limits = world.money(30 * UNIT).await;
    // Open for an hour, by Postgres.
    world.tamper("update limits set opens_at = now() - interval '1 hour', closes_at = now() + interval '1 hour'").await;
    let mut taken = Vec::new();
    for n in 0..30 {
        let (engine, _) = &engines[n % 3];
        let mut order = world.order(&limits, UNIT, 1);
        order.ttl = if n < 15 { Duration::from_hours(1) } else { Duration::ZERO };
        let Verdict::Held(it) = engine.hold(order).await.unwrap() else { panic!("hold {n}") };
        taken.push(*it);
    }
    // Whoever sweeps, ends those alone whose time is over.
    let mut ended = 0;
    for (engine, _) in &engines {
        ended += reaper::sweep(&world.store, engine).await.unwrap();
    }
    assert_eq!(ended, 15);
    for (n, it) in taken.drain(..15).enumerate() {
        let it = settle(&engines[(n + 1) % 3].0, it, truth(UNIT, 1)).await;
        assert!(matches!(it, Ended::Booked { .. }));
    }
    // One jumps while it works.
    engines[0].1.set_offset_ms(30 * day);
    assert!(matches!(engines[0].0.hold(world.order(&limits, 1, 1)).await, Ok(Verdict::Short(_))));
    assert_eq!(world.counters(limits[0]).await, [30 * UNIT, 30 * UNIT, 0, 0]);
    assert_eq!(proof::problems(&world.db.url).await, Vec::<String>::new());
}
