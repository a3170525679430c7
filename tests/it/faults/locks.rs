//! Limits in any order, many at once, few connections: nobody waits for ever.

use std::sync::Arc;

use bursar::{
    budget::{Engine, Lanes, Verdict, command::Ended, late},
    domain::{
        entry::{EntryKind, Truth},
        limit::{LimitKey, LimitKind, Width},
    },
    store::{Settings, Store},
};
use sqlx::Connection as _;
use tokio::task::JoinSet;

use super::proof;
use crate::engine::world::{UNIT, World, parties, settle, truth};

/// Deadlocks that Postgres has broken in the test's database.
const DEADLOCKS: &str = "select deadlocks from pg_stat_database where datname = current_database()";

/// Engines of three replicas, with ten connections for calls together.
fn engines(world: &World) -> Vec<Engine> {
    let replica = |connections| {
        let url = world.db.url.clone();
        let settings = Settings { url, call_connections: connections, report_connections: 1 };
        let store = Store::open(&settings).unwrap();
        let (engine, lanes) = Engine::new(&store, &world.clock, Lanes::of(2));
        for lane in lanes {
            tokio::spawn(lane.run());
        }
        engine
    };
    [4, 3, 3].map(replica).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_workers_that_name_limits_in_both_orders_never_deadlock() {
    let world = World::new();
    proof::witness(&world.db.url).await;
    let mut keys = Vec::new();
    for width in [Width::Tenant, Width::User, Width::User, Width::Envelope, Width::Envelope] {
        keys.push(world.limit(width, LimitKind::Money, 150 * UNIT).await);
    }
    let mut backwards = keys.clone();
    backwards.reverse();
    let orders: Arc<[Vec<LimitKey>]> = Arc::new([keys, backwards]);
    let engines = engines(&world);
    let world = Arc::new(world);
    let mut workers = JoinSet::new();
    for n in 0..200 {
        let (engine, orders, world) =
            (engines[n % engines.len()].clone(), orders.clone(), world.clone());
        workers.spawn(async move {
            let mut charged = 0;
            for _ in 0..4 {
                let order = world.order(&orders[n % 2], UNIT, 1);
                if let Verdict::Held(it) = engine.hold(order).await.unwrap() {
                    let cost = truth(UNIT / 2, 1);
                    assert!(matches!(settle(&engine, *it, cost).await, Ended::Booked { .. }));
                    charged += UNIT / 2;
                }
            }
            charged
        });
    }
    let charged: i64 = workers.join_all().await.into_iter().sum();
    assert!(charged > 100 * UNIT);
    for key in &orders[0] {
        assert_eq!(world.counters(*key).await, [150 * UNIT, charged, 0, 0]);
    }
    assert_eq!(world.number(DEADLOCKS).await, 0);
    assert_eq!(proof::problems(&world.db.url).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_lock_of_somebody_else_keeps_no_other_tenant_waiting() {
    let mut world = World::new();
    proof::witness(&world.db.url).await;
    let stuck = world.money(9 * UNIT).await;
    world.parties = parties(&world.clock);
    let free = world.money(90 * UNIT).await;
    // One lane for both.
    let engine = world.engine();
    let mut owner = world.owner().await;
    let mut locked = owner.begin().await.unwrap();
    sqlx::query("select from limits where limit_id = $1 for update")
        .bind(stuck[0].id.uuid())
        .execute(&mut *locked)
        .await
        .unwrap();
    let hold = |limits: &[LimitKey]| {
        let (engine, order) = (engine.clone(), world.order(limits, UNIT, 1));
        tokio::spawn(async move { engine.hold(order).await })
    };
    let waiting = [hold(&stuck), hold(&stuck)];
    for _ in 0..60 {
        assert!(matches!(hold(&free).await.unwrap(), Ok(Verdict::Held(_))));
    }
    // More of the same tenant's, now that it is known to be stuck.
    let more = hold(&stuck);
    assert!(matches!(hold(&free).await.unwrap(), Ok(Verdict::Held(_))));
    assert!(waiting.iter().chain([&more]).all(|it| !it.is_finished()));
    locked.rollback().await.unwrap();
    for it in waiting.into_iter().chain([more]) {
        assert!(matches!(it.await.unwrap(), Ok(Verdict::Held(_))));
    }
    assert_eq!(world.counters(stuck[0]).await, [9 * UNIT, 0, 0, 3 * UNIT]);
    assert_eq!(world.counters(free[0]).await, [90 * UNIT, 0, 0, 61 * UNIT]);
    assert_eq!(proof::problems(&world.db.url).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn late_truths_in_the_middle_of_it_deadlock_with_nobody() {
    let world = Arc::new(World::new());
    proof::witness(&world.db.url).await;
    let engines = engines(&world);
    for _ in 0..12 {
        // Made in an order of their own, since rows are found in the order of making.
        let mut keys = Vec::new();
        for kind in [LimitKind::Tokens, LimitKind::Money, LimitKind::Calls, LimitKind::Money] {
            keys.push(world.limit(Width::Envelope, kind, 1_000 * UNIT).await);
        }
        keys.reverse();
        let mut holds = Vec::new();
        for _ in 0..4 {
            let order = world.order(&keys, UNIT, 1);
            let Verdict::Held(it) = engines[0].hold(order).await.unwrap() else { panic!("full") };
            let hold = it.hold.clone();
            let guess = Truth::whole_hold(&it.hold, None).unwrap();
            let ended = engines[0].end(it.hold, EntryKind::Expire, guess, Some(it.slot));
            assert!(matches!(ended.await.unwrap(), Ended::Booked { .. }));
            holds.push(hold);
        }
        let mut work = JoinSet::new();
        for n in 0..24 {
            let (engine, world) = (engines[n % engines.len()].clone(), world.clone());
            let keys = keys.clone();
            work.spawn(async move {
                match engine.hold(world.order(&keys, UNIT, 1)).await.unwrap() {
                    Verdict::Held(it) => drop(settle(&engine, *it, truth(UNIT, 1)).await),
                    Verdict::Closed(_) | Verdict::Late | Verdict::Stopped => {}
                    Verdict::Short(it) => panic!("{it:?}"),
                }
            });
        }
        for hold in holds {
            let world = world.clone();
            work.spawn(async move {
                let id = (hold.parties.tenant, hold.id);
                let it = late::settle(&world.store, &world.clock, id, &truth(UNIT / 3, 1)).await;
                assert!(matches!(it, Ok(late::Late::Booked { .. })), "{it:?}");
            });
        }
        work.join_all().await;
    }
    assert_eq!(world.number(DEADLOCKS).await, 0);
    assert_eq!(proof::problems(&world.db.url).await, Vec::<String>::new());
}
