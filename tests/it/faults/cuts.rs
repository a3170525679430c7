//! The connection to Postgres, broken at every message of a hold and its settlement, and
//! also after the commit but before its answer.

use std::time::Duration;

use bursar::{
    budget::{Engine, Held, Lanes, command::Ended},
    domain::limit::{LimitKey, LimitKind, Width},
    store::{Settings, Store},
};
use futures_util::future::join_all;
use serde_json::json;
use tokio::task::JoinSet;

use super::{load::Host, proof};
use crate::{
    call::world::ask,
    engine::world::{UNIT, World, held, settle, truth},
    support::{
        database, long,
        proxy::{Act, Proxy, Way},
        replicas::{Replica, seed},
    },
};

/// What a lane has to do for a hold and its settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    /// Connect first, and read the limits.
    Fresh,
    /// Compare and set.
    Known,
    /// Compare, find the limits changed by another replica, and lock.
    Changed,
    /// Many commands at once, settlements and holds.
    Many,
}

/// A tenant, an engine whose connection may be broken, and another one's.
struct Ground {
    world: World,
    proxy: Proxy,
    through: Store,
    near: Engine,
    far: Engine,
    limits: Vec<LimitKey>,
}

fn engine(world: &World, store: &Store) -> Engine {
    let (engine, lanes) = Engine::new(store, &world.clock, Lanes::of(1));
    for lane in lanes {
        tokio::spawn(lane.run());
    }
    engine
}

impl Ground {
    async fn new() -> Self {
        let world = World::new();
        proof::witness(&world.db.url).await;
        let (proxy, url) = world.db.behind_proxy().await;
        let settings = Settings { url, call_connections: 2, report_connections: 1 };
        let through = Store::open(&settings).unwrap();
        let mut limits = Vec::new();
        for (width, kind) in [
            (Width::Envelope, LimitKind::Money),
            (Width::Envelope, LimitKind::Calls),
            (Width::Tenant, LimitKind::Money),
        ] {
            limits.push(world.limit(width, kind, 1_000_000 * UNIT).await);
        }
        let (near, far) = (engine(&world, &through), world.engine());
        Self { world, proxy, through, near, far, limits }
    }

    async fn hold(&self, engine: &Engine) -> Held {
        held(engine.hold(self.world.order(&self.limits, UNIT, 1)).await.unwrap())
    }

    async fn end(&self, engine: &Engine, held: Held) {
        let ended = settle(engine, held, truth(UNIT / 2, 1)).await;
        assert!(matches!(ended, Ended::Booked { .. }), "{ended:?}");
    }

    /// A whole call.
    async fn call(&self, engine: &Engine) {
        let held = self.hold(engine).await;
        self.end(engine, held).await;
    }

    /// One hold and one settlement with a fault on the way, which nobody must notice.
    /// Whether it came to the fault.
    async fn round(&self, path: Path, (way, after, act): (Way, usize, Act)) -> bool {
        let fresh = engine(&self.world, &self.through);
        let near = if path == Path::Fresh { &fresh } else { &self.near };
        if path != Path::Fresh {
            self.call(near).await;
        }
        let mut running = Vec::new();
        if path == Path::Many {
            for _ in 0..3 {
                running.push(self.hold(near).await);
            }
        }
        if path == Path::Changed {
            self.call(&self.far).await;
        }
        self.proxy.arm(way, after, act);
        if path == Path::Many {
            let ends = join_all(running.into_iter().map(|it| self.end(near, it)));
            let (_, more) = tokio::join!(ends, join_all((0..3).map(|_| self.hold(near))));
            join_all(more.into_iter().map(|it| self.end(near, it))).await;
        } else {
            let held = self.hold(near).await;
            if path == Path::Changed {
                self.call(&self.far).await;
            }
            self.end(near, held).await;
        }
        let acted = self.proxy.disarm();
        let problems = proof::problems(&self.world.db.url).await;
        assert_eq!(problems, Vec::<String>::new(), "{path:?} {way:?} {after} {act:?}");
        assert_eq!(self.world.number("select count(*) from holds").await, 0);
        acted
    }

    /// Rounds with the fault at every `step`th message, until the whole passes.
    async fn at_every_message(&self, path: Path, way: Way, act: Act, step: usize) -> usize {
        let mut after = 0;
        while self.round(path, (way, after, act)).await {
            after += step;
            assert!(after < 2_000, "there is no end of messages");
        }
        after
    }
}

async fn sweep(path: Path) {
    let ground = Ground::new().await;
    let step = if long() { 1 } else { 5 };
    let mut points = 0;
    for way in [Way::ToServer, Way::ToClient] {
        points += ground.at_every_message(path, way, Act::Cut, 1).await;
        points += ground.at_every_message(path, way, Act::HalfClose, step).await;
        let late = Act::Delay(Duration::from_millis(30));
        points += ground.at_every_message(path, way, late, step).await;
    }
    assert!(points > 20, "{points} messages are too few to be a hold and its settlement");
    // All of it was settled by its exact cost, and nothing else was written.
    let else_ = "select count(*) from entries
        where kind <> 'settle' or certainty <> 'exact' or charged <> 500000000";
    assert_eq!(ground.world.number(else_).await, 0);
    let taken = ground.world.number("select count(*) from witness_holds").await;
    assert_eq!(ground.world.number("select count(*) from entries").await, taken);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_at_any_message_of_a_first_call_is_not_noticed() {
    sweep(Path::Fresh).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_at_any_message_of_a_compare_and_set_is_not_noticed() {
    sweep(Path::Known).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_at_any_message_under_locks_is_not_noticed() {
    sweep(Path::Changed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_at_any_message_of_a_batch_is_not_noticed() {
    sweep(Path::Many).await;
}

/// A replica stands still after so many messages. Whether it came to that.
async fn stands_still(way: Way, after: usize) -> bool {
    let ground = Ground::new().await;
    ground.call(&ground.near).await;
    ground.call(&ground.far).await;
    ground.proxy.arm(way, after, Act::Freeze);
    let near = ground.hold(&ground.near);
    let others = async {
        while !ground.proxy.has_acted() {
            if ground.world.number("select count(*) from holds").await > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let began = ground.world.clock.monotonic();
        for _ in 0..3 {
            ground.call(&ground.far).await;
        }
        let took = ground.world.clock.monotonic().duration_since(began);
        // Idle for five seconds, locked out for three, and some noise.
        assert!(took < Duration::from_secs(14), "{way:?} {after}: {took:?}");
        ground.proxy.thaw();
    };
    let (held, ()) = tokio::join!(near, others);
    let acted = ground.proxy.disarm();
    ground.proxy.thaw();
    ground.end(&ground.near, held).await;
    assert_eq!(proof::problems(&ground.world.db.url).await, Vec::<String>::new());
    assert_eq!(ground.world.number("select count(*) from holds").await, 0);
    acted
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_stands_still_under_locks_keeps_nobody_waiting_for_long() {
    let step = if long() { 1 } else { 4 };
    let mut points = JoinSet::new();
    for (way, most) in [(Way::ToServer, 20), (Way::ToClient, 32)] {
        for after in (0..most).step_by(step) {
            points.spawn(stands_still(way, after));
        }
    }
    let acted = points.join_all().await.into_iter().filter(|acted| *acted).count();
    assert!(acted >= 6, "it stood still at {acted} points");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_at_any_message_of_a_request_costs_at_most_that_request() {
    let db = database();
    proof::witness(&db.url).await;
    let key = seed(&db.url).await.host_key.reveal().to_owned();
    let (proxy, through) = db.behind_proxy().await;
    let replica = Replica::serve(&through, &[]);
    let host = Host { channel: replica.channel().await, key };
    let step = if long() { 1 } else { 3 };
    let request = || ask(&json!({ "text": "one two" }));
    let mut refused = 0;
    for way in [Way::ToServer, Way::ToClient] {
        // The duties of the replica talk as well, so there is no last message.
        for after in (0..60).step_by(step) {
            proxy.arm(way, after, Act::Cut);
            match host.call(request()).await {
                Ok(it) => assert_ne!(it.outcome(), bursar::proto::Outcome::Unspecified),
                Err(it) => {
                    assert_eq!(it.code(), tonic::Code::Unavailable, "{way:?} {after}: {it}");
                    refused += 1;
                }
            }
            proxy.disarm();
        }
    }
    assert!(refused > 0, "no cut was ever met");
    host.call(request()).await.unwrap();
    proof::until(&db.url, "select count(*) from holds", 0).await;
    let guessed = "select count(*) from entries where certainty <> 'exact'";
    assert_eq!(proof::number(&db.url, guessed).await, 0);
    proof::prove(&db.url).await;
}
