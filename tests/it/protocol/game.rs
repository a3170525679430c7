//! Two replicas of the real engine on Postgres, and the reference beside them.

use std::{collections::BTreeMap, time::Duration};

use bursar::{
    budget::{Engine, Lanes, Order, Verdict, command::Ended, late, reaper},
    domain::{
        charge::Split,
        entry::{Certainty, EntryKind, Truth},
        hold::{Hold, Need},
        limit::{LimitKey, LimitKind, Width},
        money::Amount,
    },
};
use jiff::Timestamp;
use sqlx::{PgConnection, Row};
use tokio::task::{JoinHandle, JoinSet};
use uuid::Uuid;

use super::{
    reference::{Answer, Granted, Reference, State},
    steps::{Step, WINDOW, WINDOWS},
};
use crate::engine::world::{World, truth};

const TTL: u64 = 300;

/// The limits of each envelope, the wide one's present window apart.
const ENVELOPES: [&[usize]; 2] = [&[0, 1, 3], &[2, 3]];

/// Where the windows begin among the limits.
const FIRST_WINDOW: usize = 4;

struct Replica {
    engine: Engine,
    lanes: Vec<JoinHandle<()>>,
}

pub(super) struct Game {
    world: World,
    owner: PgConnection,
    replicas: Vec<Replica>,
    keys: Vec<LimitKey>,
    reference: Reference,
    /// Of each call of the reference.
    holds: Vec<Hold>,
    /// How often a replica died, and how often what it was at had happened all the same.
    pub(super) crashes: u32,
    pub(super) landed: u32,
}

fn small(it: i128) -> i64 {
    i64::try_from(it).unwrap()
}

fn at(seconds: i128) -> Timestamp {
    // Across the end of a month, which is another partition of the ledger.
    let begin: Timestamp = "2026-11-30T23:30:00Z".parse().unwrap();
    begin.checked_add(jiff::SignedDuration::from_secs(small(seconds))).unwrap()
}

fn check(fine: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if fine { Ok(()) } else { Err(problem()) }
}

fn replica(world: &World) -> Replica {
    let (engine, lanes) = Engine::new(&world.store, &world.clock, Lanes::of(1));
    Replica { engine, lanes: lanes.into_iter().map(|it| tokio::spawn(it.run())).collect() }
}

impl Game {
    pub(super) async fn new() -> Self {
        let world = World::of_standing_time().await;
        let whole = (-1_000_000, 1_000_000);
        let wide = |n: u64| (i128::from(n * WINDOW), i128::from((n + 1) * WINDOW));
        let money = |amount, window| Granted { amount, calls: false, enforcing: true, window };
        let mut limits = vec![
            (Width::Envelope, Granted { calls: true, ..money(25, whole) }),
            (Width::Envelope, money(900, whole)),
            (Width::Envelope, money(700, whole)),
            (Width::UserServer, Granted { enforcing: false, ..money(200, whole) }),
        ];
        limits.extend((0..WINDOWS).map(|n| (Width::Tenant, money(500, wide(n)))));
        let mut keys = Vec::new();
        for (width, it) in &limits {
            let kind = if it.calls { LimitKind::Calls } else { LimitKind::Money };
            let key = world.limit(*width, kind, small(it.amount)).await;
            let (opens, closes) = (at(it.window.0).to_string(), at(it.window.1).to_string());
            world.set_window(key, (&opens, &closes)).await;
            keys.push(key);
        }
        world.tamper("update limits set enforcing = false where width = 1").await;
        let limits = limits.into_iter().map(|(_, it)| it).collect();
        let owner = world.owner().await;
        let replicas = vec![replica(&world), replica(&world)];
        let reference = Reference { limits, ..Reference::default() };
        world.set_time(at(0)).await;
        Self { world, owner, replicas, keys, reference, holds: Vec::new(), crashes: 0, landed: 0 }
    }

    fn on(&self, envelope: usize, window: Option<u64>) -> Vec<usize> {
        let present =
            usize::try_from(self.reference.now).unwrap() / usize::try_from(WINDOW).unwrap();
        let window = window.map_or(present, |it| usize::try_from(it).unwrap());
        let last = usize::try_from(WINDOWS).unwrap() - 1;
        let wide = FIRST_WINDOW + window.min(last);
        ENVELOPES[envelope].iter().copied().chain([wide]).collect()
    }

    fn order(&self, on: &[usize], need: u64) -> Order {
        let limits: Vec<LimitKey> = on.iter().map(|it| self.keys[*it]).collect();
        let order = self.world.order(&limits, i64::try_from(need).unwrap(), 1);
        Order { ttl: Duration::from_secs(TTL), ..order }
    }

    /// The hold that an order makes, so that it can be ended by whoever knows the order.
    fn remember(&mut self, order: &Order, need: u64) {
        let mut limits = order.ask.limits.clone();
        limits.sort_unstable();
        let money = Amount::from_nanos(i64::try_from(need).unwrap());
        self.holds.push(Hold {
            id: order.id,
            call: order.call,
            attempt: 1,
            parties: order.parties,
            terms: order.ask.offers[0].terms,
            need: Need { calls: 1, money, tokens: 1 },
            route: None,
            limits,
            reserved_by_host: false,
            incurred_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH,
        });
    }

    pub(super) async fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Hold { at, envelope, need, window } => {
                let on = self.on(envelope, window);
                let order = self.order(&on, need);
                let verdict = self.replicas[at].engine.hold(order.clone()).await;
                let due = self.reference.hold(need.into(), &on, TTL.into());
                if due == Answer::Held {
                    self.remember(&order, need);
                }
                let answer = answer(&verdict.map_err(|it| it.to_string())?);
                check(answer == due, || format!("{answer:?} in place of {due:?}"))
            }
            Step::Rush { envelope, need, callers } => self.rush(envelope, need, callers).await,
            Step::Settle { at, call, truth, exact } => {
                let Some(call) = self.pick(call) else { return Ok(()) };
                let was_held = self.reference.is_held(call);
                let certainty = if exact { Certainty::Exact } else { Certainty::Estimated };
                let due = i64::try_from(truth).unwrap();
                let cost = Truth { certainty, ..self::truth(due, 1) };
                self.end(at, call, (EntryKind::Settle, cost), was_held).await?;
                if was_held {
                    self.reference.settle(call, truth.into(), exact);
                }
                Ok(())
            }
            Step::Void { at, call } => {
                let Some(call) = self.pick(call) else { return Ok(()) };
                let was_held = self.reference.is_held(call);
                self.end(at, call, (EntryKind::Void, Truth::nothing(None)), was_held).await?;
                if was_held {
                    self.reference.void(call);
                }
                Ok(())
            }
            Step::Late { call, truth } => self.late(call, truth).await,
            Step::Sweep { both } => self.sweep(both).await,
            Step::Crash { at, ends, need, after } => self.crash(at, (ends, need), after).await,
            Step::Wait { seconds } => {
                self.reference.now += i128::from(seconds);
                self.world.set_time(at(self.reference.now)).await;
                Ok(())
            }
        }
    }

    fn pick(&self, call: usize) -> Option<usize> {
        call.checked_rem(self.holds.len())
    }

    async fn end(
        &mut self,
        at: usize,
        call: usize,
        (kind, truth): (EntryKind, Truth),
        was_held: bool,
    ) -> Result<(), String> {
        let hold = self.holds[call].clone();
        let ended = self.replicas[at].engine.end(hold, kind, truth, None).await;
        match ended.map_err(|it| it.to_string())? {
            // A repeated end that heard no answer at first cannot be told from its first,
            // when that is what stands in the ledger.
            Ended::Booked { booking, .. } if !was_held => {
                let word = if kind == EntryKind::Void { "void" } else { "settle" };
                let Split { charge, overrun } = booking.money;
                let what = format!(
                    "entries where kind = '{word}' and charged = {charge} and overrun = {overrun}
                     and entry_id"
                );
                let id = self.holds[call].id.uuid();
                check(self.exists(&what, id).await, || format!("{booking:?} was not booked"))
            }
            Ended::Booked { .. } => Ok(()),
            Ended::AlreadyResolved => check(!was_held, || "it was held".to_owned()),
        }
    }

    async fn rush(&mut self, envelope: usize, need: u64, callers: usize) -> Result<(), String> {
        let on = self.on(envelope, None);
        let mut set = JoinSet::new();
        for n in 0..callers {
            let (order, engine) = (self.order(&on, need), self.replicas[n % 2].engine.clone());
            set.spawn(async move { (order.clone(), engine.hold(order).await) });
        }
        let mut granted = 0;
        for (order, verdict) in set.join_all().await {
            if answer(&verdict.map_err(|it| it.to_string())?) == Answer::Held {
                granted += 1;
                self.remember(&order, need);
            }
        }
        let hold = |_| self.reference.hold(need.into(), &on, TTL.into()) == Answer::Held;
        let due = (0..callers).map(hold).filter(|it| *it).count();
        check(granted == due, || format!("{granted} granted in place of {due}"))
    }

    async fn late(&mut self, call: usize, truth: u64) -> Result<(), String> {
        let Some(call) = self.pick(call) else { return Ok(()) };
        let id = (self.holds[call].parties.tenant, self.holds[call].id);
        let cost = self::truth(i64::try_from(truth).unwrap(), 1);
        let it = late::settle(&self.world.store, &self.world.clock, id, &cost).await;
        let it = it.map_err(|it| it.to_string())?;
        let (gives_way, open) = match self.reference.calls[call].state {
            State::Booked { exact, .. } => (!exact, false),
            State::Held { .. } => (false, true),
            State::Void => (false, false),
        };
        self.reference.late(call, truth.into());
        let fine = match it {
            late::Late::Booked { .. } => gives_way,
            late::Late::Settled(_) => !gives_way && !open,
            late::Late::Unknown => open,
        };
        check(fine, || {
            format!("the late truth of an open {open}, yielding {gives_way} call: {it:?}")
        })
    }

    async fn sweep(&mut self, both: bool) -> Result<(), String> {
        let one = reaper::sweep(&self.world.store, &self.replicas[0].engine);
        let two = reaper::sweep(&self.world.store, &self.replicas[1].engine);
        let ended = if both {
            let (one, two) = tokio::join!(one, two);
            one.and_then(|one| Ok(one + two?))
        } else {
            one.await
        };
        let (ended, due) = (ended.map_err(|it| it.to_string())?, self.reference.sweep());
        // A reaper that heard no answer, and finds what the other one booked, cannot tell it
        // from its own.
        let most = if both { 2 * due } else { due };
        check((due..=most).contains(&ended), || format!("{ended} expired in place of {due}"))
    }

    /// What was on its way has happened or not; the tables say which, and it is as if it
    /// had happened before the crash.
    async fn crash(
        &mut self,
        at: usize,
        (ends, need): (Option<usize>, u64),
        after: u64,
    ) -> Result<(), String> {
        self.crashes += 1;
        let dying = std::mem::replace(&mut self.replicas[at], replica(&self.world));
        let engine = dying.engine;
        let ends = ends.and_then(|it| self.pick(it)).filter(|it| self.reference.is_held(*it));
        let on = self.on(0, None);
        let order = self.order(&on, need);
        let id = ends.map_or(order.id, |it| self.holds[it].id);
        let hold = ends.map(|it| self.holds[it].clone());
        let (sent, cost) = (order.clone(), truth(i64::try_from(need).unwrap(), 1));
        let call = tokio::spawn(async move {
            match hold {
                Some(hold) => drop(engine.end(hold, EntryKind::Settle, cost, None).await),
                // A hold that was answered is kept.
                None => std::mem::forget(engine.hold(sent).await),
            }
        });
        tokio::time::sleep(Duration::from_micros(after)).await;
        dying.lanes.iter().for_each(JoinHandle::abort);
        for lane in dying.lanes {
            // Cancelled, which is the point.
            lane.await.ok();
        }
        call.await.map_err(|it| it.to_string())?;
        self.settle_down().await;
        match ends {
            Some(call) if self.exists("entries where entry_id", id.uuid()).await => {
                self.landed += 1;
                self.reference.settle(call, need.into(), true);
                Ok(())
            }
            None if self.exists("holds where hold_id", id.uuid()).await => {
                self.landed += 1;
                self.remember(&order, need);
                let due = self.reference.hold(need.into(), &on, TTL.into());
                check(due == Answer::Held, || format!("held in place of {due:?}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Ends every connection, so that nothing that a dead replica sent is still at work in
    /// Postgres. The living one finds its own broken, and tries again.
    async fn settle_down(&mut self) {
        let end = "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity
            where datname = current_database() and application_name = 'bursar'";
        sqlx::query(end).execute(&mut self.owner).await.unwrap();
    }

    async fn exists(&mut self, what: &str, id: Uuid) -> bool {
        let sql = sqlx::AssertSqlSafe(format!("select count(*) from {what} = $1"));
        let count: i64 = sqlx::query_scalar(sql).bind(id).fetch_one(&mut self.owner).await.unwrap();
        count > 0
    }

    /// Every counter of every limit.
    pub(super) async fn compare(&mut self) -> Result<(), String> {
        let rows = sqlx::query("select limit_id, settled, overrun, held from limits");
        let rows = rows.fetch_all(&mut self.owner).await.unwrap();
        let of = |it: &sqlx::postgres::PgRow| {
            let numbers = [1, 2, 3].map(|n| i128::from(it.get::<i64, _>(n)));
            (it.get::<Uuid, _>(0), numbers)
        };
        let found: BTreeMap<Uuid, [i128; 3]> = rows.iter().map(of).collect();
        for (n, key) in self.keys.iter().enumerate() {
            let (real, due) = (found[&key.id.uuid()], self.reference.counters(n, None));
            check(real == due, || format!("limit {n}: {real:?} in place of {due:?}"))?;
            let it = &self.reference.limits[n];
            let within = !it.enforcing || due[0] + due[2] <= it.amount;
            check(within, || format!("limit {n}: {due:?} of {}", it.amount))?;
        }
        Ok(())
    }

    /// Once all time is over nothing is held, and the ledger agrees with itself.
    pub(super) async fn close(&mut self) -> Result<(), String> {
        self.take(Step::Wait { seconds: TTL }).await?;
        self.sweep(true).await?;
        self.compare().await?;
        let left: i64 = sqlx::query_scalar("select count(*) from holds")
            .fetch_one(&mut self.owner)
            .await
            .unwrap();
        check(left == 0, || format!("{left} holds are left"))?;
        let problems = self.world.problems().await;
        check(problems.is_empty(), || format!("{problems:?}"))
    }
}

const fn answer(verdict: &Verdict) -> Answer {
    match verdict {
        Verdict::Held(_) => Answer::Held,
        Verdict::Short(_) => Answer::Short,
        Verdict::Closed(_) | Verdict::Late | Verdict::Stopped => Answer::Closed,
    }
}
