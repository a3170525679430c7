//! Callers that leave, connections that break, rows that cannot be, time that ends.

use std::time::Duration;

use bursar::{
    budget::{Engine, Error, Lanes, Verdict, command::Ended, late, reaper},
    domain::{
        charge::Split,
        entry::EntryKind,
        ids::LimitId,
        limit::{LimitKey, LimitKind, Width},
    },
};
use sqlx::{Connection, PgConnection};
use tokio::task::JoinSet;

use super::world::{UNIT, World, held, settle, settle_again, truth};

/// A transaction of somebody else that keeps the limits locked.
async fn blocker(world: &World) -> PgConnection {
    let mut owner = world.owner().await;
    sqlx::raw_sql("begin; select * from limits for update").execute(&mut owner).await.unwrap();
    owner
}

async fn until(world: &World, sql: &'static str, number: i64) {
    for _ in 0..500 {
        if world.number(sql).await == number {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{sql}: {} in place of {number}", world.number(sql).await);
}

const WAITING: &str = "select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'";

#[tokio::test]
async fn a_caller_that_left_gives_its_hold_back() {
    let world = World::new();
    let engine = world.engine();
    let limits = world.money(UNIT).await;
    let other = world.money(UNIT).await;
    let blocker = blocker(&world).await;
    let mut calls = JoinSet::new();
    for limits in [&limits, &other] {
        let (engine, order) = (engine.clone(), world.order(limits, UNIT, 1));
        calls.spawn(async move { engine.hold(order).await });
        // The first is on its way to Postgres, the second waits behind it.
        until(&world, WAITING, 1).await;
    }
    calls.shutdown().await;
    blocker.close().await.unwrap();
    until(&world, "select count(*) from entries where kind = 'void' and charged = 0", 1).await;
    assert_eq!(world.number("select count(*) from holds").await, 0);
    assert_eq!(world.problems().await, Vec::<String>::new());
    held(engine.hold(world.order(&limits, UNIT, 1)).await.unwrap());
    held(engine.hold(world.order(&other, UNIT, 1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_reapers_book_an_expired_hold_once_at_its_full_amount() {
    let world = World::new();
    let engines = [world.engine(), world.engine()];
    let limits = world.money(100 * UNIT).await;
    for _ in 0..40 {
        let mut order = world.order(&limits, UNIT, 7);
        order.ttl = Duration::ZERO;
        held(engines[0].hold(order).await.unwrap());
    }
    let standing = held(engines[0].hold(world.order(&limits, UNIT, 7)).await.unwrap());
    let (one, two) = tokio::join!(
        reaper::sweep(&world.store, &engines[0]),
        reaper::sweep(&world.store, &engines[1])
    );
    assert_eq!(one.unwrap() + two.unwrap(), 40);
    let booked = "select count(*) from entries where kind = 'expire' and certainty = 'estimated'
        and charged = 1000000000 and tokens_charged = 7";
    assert_eq!(world.number(booked).await, 40);
    assert_eq!(world.counters(limits[0]).await, [100 * UNIT, 40 * UNIT, 0, UNIT]);
    settle(&engines[1], standing, truth(UNIT, 1)).await;
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_hold_that_cannot_be_ended_does_not_stop_the_sweep() {
    let world = World::new();
    let engine = world.engine();
    let broken = world.money(UNIT).await;
    let sound = world.money(UNIT).await;
    for limits in [&broken, &sound] {
        let mut order = world.order(limits, UNIT, 1);
        order.ttl = Duration::ZERO;
        held(engine.hold(order).await.unwrap());
    }
    world.tamper("update limits set held = 0 where limit_id = (select limit_ids[1] from holds order by expires_at limit 1)").await;
    assert_eq!(reaper::sweep(&world.store, &engine).await.unwrap(), 1);
    assert_eq!(world.counters(sound[0]).await, [UNIT, UNIT, 0, 0]);
}

#[tokio::test]
async fn late_truth_after_expiry_corrects_up_and_down() {
    let world = World::new();
    let engine = world.engine();
    for (late_truth, booked) in [
        (UNIT / 4, Split { charge: UNIT / 4, overrun: 0 }),
        (UNIT, Split { charge: UNIT, overrun: 0 }),
        (5 * UNIT, Split { charge: 3 * UNIT, overrun: 2 * UNIT }),
    ] {
        let limits = world.money(3 * UNIT).await;
        let mut order = world.order(&limits, UNIT, 9);
        order.ttl = Duration::ZERO;
        let taken = held(engine.hold(order).await.unwrap());
        assert_eq!(reaper::sweep(&world.store, &engine).await.unwrap(), 1);
        let again = settle_again(&engine, &taken.hold, truth(late_truth, 4)).await;
        assert!(matches!(again, Ended::AlreadyResolved));
        let id = (world.parties.tenant, taken.hold.id);
        let it = late::settle(&world.store, &world.clock, id, &truth(late_truth, 4)).await.unwrap();
        let late::Late::Booked { booking, .. } = it else { panic!("{it:?}") };
        assert_eq!(booking.money, booked);
        assert_eq!(booking.tokens, Split { charge: 4, overrun: 0 });
        let after = [3 * UNIT, booked.charge, booked.overrun, 0];
        assert_eq!(world.counters(limits[0]).await, after);
        // Truth comes once.
        let it = late::settle(&world.store, &world.clock, id, &truth(9 * UNIT, 4)).await.unwrap();
        assert!(matches!(it, late::Late::Settled(it) if it.money == booked));
        assert_eq!(world.counters(limits[0]).await, after);
        // The lane that remembers the limit notices.
        let left = 3 * UNIT - booked.charge - booked.overrun;
        let next = engine.hold(world.order(&limits, UNIT, 1)).await.unwrap();
        assert_eq!(matches!(next, Verdict::Held(_)), left >= UNIT);
    }
    let unknown = (world.parties.tenant, world.clock.id());
    let it = late::settle(&world.store, &world.clock, unknown, &truth(1, 1)).await.unwrap();
    assert!(matches!(it, late::Late::Unknown));
    let foreign = (world.clock.id(), world.clock.id());
    let it = late::settle(&world.store, &world.clock, foreign, &truth(1, 1)).await.unwrap();
    assert!(matches!(it, late::Late::Unknown));
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn nothing_is_held_on_a_closed_limit_or_after_its_window() {
    let world = World::new();
    let engine = world.engine();
    for end in ["closed_at = now()", "closes_at = now()", "opens_at = now() + interval '1 hour'"] {
        let limits = world.money(9 * UNIT).await;
        let before = held(engine.hold(world.order(&limits, UNIT, 1)).await.unwrap());
        let sql = format!("update limits set {end} where limit_id = $1");
        let sql = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(limits[0].id.uuid());
        // The lane does not know yet, and asks Postgres by its write.
        sql.execute(&mut world.owner().await).await.unwrap();
        for engine in [&engine, &engine, &world.engine()] {
            let verdict = engine.hold(world.order(&limits, UNIT, 1)).await.unwrap();
            assert!(matches!(verdict, Verdict::Closed(it) if it == limits[0]), "{end}");
        }
        // What was held before is settled all the same.
        assert!(matches!(settle(&engine, before, truth(UNIT, 1)).await, Ended::Booked { .. }));
    }
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_command_that_cannot_be_written_fails_alone() {
    let world = World::new();
    let engine = world.engine();
    let limits = world.money(100 * UNIT).await;
    let broken = world.money(UNIT).await;
    let known = world.order(&limits, UNIT, 1);
    let known_too = known.clone();
    held(engine.hold(known).await.unwrap());
    let unsound = held(engine.hold(world.order(&broken, UNIT, 1)).await.unwrap());
    // As no program of ours writes it: less held than there are holds.
    let tamper = sqlx::query("update limits set held = 0 where limit_id = $1");
    tamper.bind(broken[0].id.uuid()).execute(&mut world.owner().await).await.unwrap();
    let blocker = blocker(&world).await;
    let mut calls = JoinSet::new();
    let first = (engine.clone(), world.order(&limits, UNIT, 1));
    calls.spawn(async move { first.0.hold(first.1).await.is_ok() });
    until(&world, WAITING, 1).await;
    // All of these make one batch, behind the first.
    let missing = LimitKey { id: world.clock.id::<LimitId>(), ..limits[0] };
    let mut orders: Vec<_> = (0..20).map(|_| world.order(&limits, UNIT, 1)).collect();
    orders.insert(7, known_too);
    orders.insert(13, world.order(&[missing], UNIT, 1));
    for order in orders {
        let engine = engine.clone();
        calls.spawn(async move { engine.hold(order).await.is_ok() });
    }
    let engine_too = engine.clone();
    calls.spawn(async move {
        engine_too.end(unsound.hold, EntryKind::Settle, truth(1, 1), None).await.is_ok()
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    blocker.close().await.unwrap();
    let answers = calls.join_all().await;
    assert_eq!(answers.iter().filter(|it| **it).count(), 21, "{answers:?}");
    assert_eq!(answers.len(), 24);
}

#[tokio::test]
async fn a_full_queue_says_so_at_once() {
    let world = World::new();
    // Nobody works the lanes.
    let (engine, _lanes) = Engine::new(&world.store, &world.clock, Lanes::of(1));
    let limits = world.money(UNIT).await;
    let mut calls = JoinSet::new();
    for _ in 0..5_000 {
        let (engine, order) = (engine.clone(), world.order(&limits, 1, 1));
        calls.spawn(async move { engine.hold(order).await });
    }
    for _ in 4_096..5_000 {
        let answer = calls.join_next().await.unwrap().unwrap();
        assert!(matches!(answer, Err(Error::Busy)));
    }
    assert!(calls.try_join_next().is_none());
    // Another tenant has its own share.
    let foreign = LimitKey { tenant: world.clock.id(), ..limits[0] };
    let order = world.order(&[foreign], 1, 1);
    let answer = tokio::time::timeout(Duration::from_millis(100), engine.hold(order)).await;
    assert!(answer.is_err(), "{answer:?}");
}

/// Ends the lanes' connections every few milliseconds.
async fn kill_for(world: &World, time: Duration) -> i64 {
    let mut owner = world.owner().await;
    let end = world.clock.monotonic() + time;
    let mut killed = 0;
    while world.clock.monotonic() < end {
        tokio::time::sleep(Duration::from_millis(
            3 + u64::from(bursar::clock::random::<1>()[0] % 20),
        ))
        .await;
        killed += sqlx::query_scalar::<_, i64>(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid() and application_name = 'bursar'",
        )
        .fetch_one(&mut owner)
        .await
        .unwrap();
    }
    killed
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_connections_lose_nothing_and_double_nothing() {
    let world = World::new();
    let engines = [world.engine(), world.engine()];
    let own = world.limit(Width::Envelope, LimitKind::Money, 120 * UNIT).await;
    let calls = world.limit(Width::Envelope, LimitKind::Calls, 10_000).await;
    let wide = world.limit(Width::Tenant, LimitKind::Money, 100_000 * UNIT).await;
    let end = world.clock.monotonic() + Duration::from_secs(4);
    let mut set = JoinSet::new();
    for n in 0..32 {
        let engine = engines[n % 2].clone();
        let clock = world.clock.clone();
        let orders: Vec<_> = (0..400).map(|_| world.order(&[own, calls, wide], UNIT, 1)).collect();
        set.spawn(async move {
            let mut booked = 0_i64;
            for order in orders {
                if clock.monotonic() > end {
                    break;
                }
                match engine.hold(order).await {
                    Ok(Verdict::Held(it)) => {
                        let ended = engine.end(
                            it.hold,
                            EntryKind::Settle,
                            truth(UNIT / 20, 1),
                            Some(it.slot),
                        );
                        match ended.await {
                            Ok(Ended::Booked { .. }) => booked += 1,
                            Ok(Ended::AlreadyResolved) => panic!("somebody else resolved it"),
                            Err(_) => {}
                        }
                    }
                    Ok(Verdict::Short(_)) | Err(_) => {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    Ok(Verdict::Closed(_) | Verdict::Late | Verdict::Stopped) => panic!("closed"),
                }
            }
            booked
        });
    }
    let killed = kill_for(&world, Duration::from_secs(4)).await;
    let booked: i64 = set.join_all().await.into_iter().sum();
    assert!(killed > 10 && booked > 10, "{killed} killed, {booked} booked");
    assert_eq!(world.problems().await, Vec::<String>::new());
    // What no answer came for is found by the sweep.
    world.tamper("update holds set expires_at = now()").await;
    reaper::sweep(&world.store, &engines[0]).await.unwrap();
    assert_eq!(world.number("select count(*) from holds").await, 0);
    assert_eq!(world.problems().await, Vec::<String>::new());
    let settled = world.number("select count(*) from entries where kind = 'settle'").await;
    assert!(settled >= booked, "{settled} entries, {booked} answers");
}
