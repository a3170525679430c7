//! A lane: one task with one connection that takes all that is waiting, decides it
//! in one go and commits once. While one batch commits the next gathers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::mpsc;

use super::{
    answers::{answer_end, answer_hold, fail},
    command::Command,
    decide::Book,
    owed::Owed,
    plan::{Plan, keys, plan},
    siding::Siding,
    uncertain::{Uncertain, hold_ids, orders, tenant, written},
};
use crate::{
    clock::Clock,
    config::LaneTenants,
    domain::{
        ids::TenantId,
        limit::{Limit, LimitKey},
    },
    store::{self, lane::LaneConnection},
};

/// Commands decided at once. Beyond this a batch costs more than it saves.
const BATCH_MAX: usize = 256;

/// Limits remembered for compare-and-set.
const KNOWN_MAX: usize = 65_536;

/// How often a batch is tried again before its commands fail. With the pauses
/// below that is about three seconds, where a failure comes at once.
const TRIES_MAX: u32 = 12;

/// How long it is tried where failures are slow: while one batch is tried, the lane's
/// tenants wait. What is known of it then is kept as [`Owed`].
const TRIED_FOR_MAX: Duration = Duration::from_secs(20);

/// See the module.
#[derive(Debug)]
pub struct Lane {
    pub(super) clock: Clock,
    pub(super) connection: LaneConnection,
    pub(super) ends: mpsc::Receiver<Command>,
    pub(super) holds: mpsc::Receiver<Command>,
    tenants: LaneTenants,
    /// Limits as last written or read, for compare-and-set. Never refused from.
    known: BTreeMap<LimitKey, Limit>,
    owed: Arc<Owed>,
    /// For tenants that somebody keeps waiting; none: this lane is one.
    siding: Option<Siding>,
}

impl Lane {
    pub(super) fn new(
        clock: Clock,
        connection: LaneConnection,
        (ends, holds): (mpsc::Receiver<Command>, mpsc::Receiver<Command>),
        tenants: LaneTenants,
        (owed, siding): (Arc<Owed>, Option<Siding>),
    ) -> Self {
        let known = BTreeMap::new();
        Self { clock, connection, ends, holds, tenants, known, owed, siding }
    }

    /// Works until nobody can send any more and all is answered.
    pub async fn run(mut self) {
        while let Some(commands) = self.gather().await {
            let mut waiting = match self.tenants {
                LaneTenants::Many => vec![commands],
                LaneTenants::One => of_one_tenant_each(commands),
            };
            while let Some(commands) = waiting.pop().filter(|it| !it.is_empty()) {
                waiting.extend(self.process(commands).await);
            }
            // Whoever was just answered may ask for more. Heard first, it comes into
            // the next batch: otherwise there would be two halves, taking turns.
            tokio::task::yield_now().await;
        }
    }

    /// All that waits, settlements first; waits for the first. Orders whose callers
    /// have gone meanwhile are dropped. None: nothing comes any more.
    async fn gather(&mut self) -> Option<Vec<Command>> {
        let mut commands = Vec::with_capacity(BATCH_MAX);
        tokio::select! {
            biased;
            Some(it) = self.ends.recv() => commands.push(it),
            Some(it) = self.holds.recv() => commands.push(it),
            else => return None,
        }
        for queue in [&mut self.ends, &mut self.holds] {
            while commands.len() < BATCH_MAX {
                let Ok(it) = queue.try_recv() else { break };
                commands.push(it);
            }
        }
        commands.retain(|it| !it.is_abandoned());
        let now = self.clock.monotonic();
        Some(match &mut self.siding {
            Some(it) => it.divert(commands, now),
            None => commands,
        })
    }

    /// Carries a batch out and answers it. Returns what has to follow: the parts
    /// of a batch that fails on some command's data or waits for somebody's lock, or the
    /// end of holds that nobody waits for any more.
    async fn process(&mut self, mut commands: Vec<Command>) -> Vec<Vec<Command>> {
        let begun = self.clock.monotonic();
        let mut uncertain = Vec::new();
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match self.attempt(&commands, &mut uncertain, tries).await {
                Ok((plan, at)) => return self.answer(commands, &plan, at),
                Err(it) => it,
            };
            for key in keys(&commands) {
                self.known.remove(&key);
            }
            let unreachable = matches!(error, store::Error::Unreachable(_));
            if unreachable {
                self.connection.reset();
            }
            if !unreachable && !error.is_retryable() && commands.len() > 1 {
                return halves(commands);
            }
            if error.is_blocked() {
                commands = match self.part(commands, uncertain.is_empty()) {
                    Ok(parts) => return parts,
                    Err(it) => it,
                };
            }
            let tried_for = self.clock.monotonic().saturating_duration_since(begun);
            let enough = tries >= TRIES_MAX || tried_for >= TRIED_FOR_MAX;
            let may_pass = unreachable || error.is_retryable();
            if enough || !may_pass {
                if may_pass {
                    self.owe(&commands, !uncertain.is_empty());
                }
                fail(commands, error);
                return Vec::new();
            }
            self.clock.sleep(pause(tries)).await;
        }
    }

    /// One try: by compare-and-set when nothing is refused, otherwise, and after any
    /// failure, under locks.
    async fn attempt(
        &mut self,
        commands: &[Command],
        uncertain: &mut Uncertain,
        tries: u32,
    ) -> Result<(Plan, Option<Timestamp>), store::Error> {
        let keys = keys(commands);
        let tenants: BTreeSet<TenantId> = commands.iter().map(tenant).collect();
        if tries == 1 {
            let plan = plan(self.remembered(&keys, &tenants).await?, commands, None);
            if plan.grants_all() {
                match self.connection.write(&tenants, &plan.batch(commands)).await {
                    Ok(at) => return Ok((plan, Some(at))),
                    Err(it @ store::Error::Unreachable(_)) => {
                        uncertain.push(plan);
                        return Err(it);
                    }
                    Err(it) if it.is_blocked() => return Err(it),
                    // Whatever it was, nothing took effect, and what was remembered
                    // may be to blame: that a hold is gone shows in many ways.
                    Err(_) => {}
                }
            }
        }
        self.attempt_locked(commands, uncertain, (&keys, &tenants)).await
    }

    /// The limits as remembered; those that are not are read. Nothing is refused on
    /// their account, so they may be of yesterday.
    async fn remembered(
        &mut self,
        keys: &[LimitKey],
        tenants: &BTreeSet<TenantId>,
    ) -> Result<Book, store::Error> {
        let missing: Vec<LimitKey> =
            keys.iter().filter(|it| !self.known.contains_key(it)).copied().collect();
        if !missing.is_empty() {
            let read = self.connection.read(tenants, &missing).await?;
            self.known.extend(read.into_iter().map(|it| (it.key, it)));
        }
        let known = |key: &LimitKey| Some((*key, self.known.get(key)?.clone()));
        Ok(keys.iter().filter_map(known).collect())
    }

    async fn attempt_locked(
        &mut self,
        commands: &[Command],
        uncertain: &mut Uncertain,
        (keys, tenants): (&[LimitKey], &BTreeSet<TenantId>),
    ) -> Result<(Plan, Option<Timestamp>), store::Error> {
        let mut locked = self.connection.lock(tenants, keys).await?;
        // First the locks, then a new statement: one that began before the unknown
        // commit would not see it.
        let ids = hold_ids(commands, !uncertain.is_empty());
        let mut open = locked.open_holds(&ids, &orders(commands)).await?;
        if let Some((earlier, at)) = written(&mut locked, uncertain, commands, &open).await? {
            // A failure to let go only costs the connection.
            locked.release().await.ok();
            return Ok((earlier, Some(at)));
        }
        if !uncertain.is_empty() {
            // A pause may have been so long that the hold came and went meanwhile.
            open.ended = locked.ended(&ids).await?;
        }
        let book: Book = locked.limits.iter().map(|it| (it.key, it.clone())).collect();
        self.known.extend(locked.limits.drain(..).map(|it| (it.key, it)));
        let plan = plan(book, commands, Some(&open));
        let batch = plan.batch(commands);
        if batch.holds.is_empty() && batch.ends.is_empty() {
            drop(batch);
            if uncertain.is_empty() {
                locked.release().await?;
            } else {
                // What is refused now must not be carried out by an earlier try.
                locked.fence(keys).await?;
                self.known.retain(|key, _| !keys.contains(key));
            }
            return Ok((plan, None));
        }
        match locked.write(&batch).await {
            Ok(at) => Ok((plan, Some(at))),
            Err(it) => {
                drop(batch);
                if matches!(it, store::Error::Unreachable(_)) {
                    uncertain.push(plan);
                }
                Err(it)
            }
        }
    }

    /// What to do with a batch that waited for a lock in vain: each tenant is tried alone,
    /// and who is still in the way goes aside. The commands again, if there is no way but
    /// to wait.
    fn part(
        &mut self,
        commands: Vec<Command>,
        is_certain: bool,
    ) -> Result<Vec<Vec<Command>>, Vec<Command>> {
        let first = commands.first().map(tenant);
        if commands.iter().any(|it| Some(tenant(it)) != first) {
            return Ok(of_one_tenant_each(commands));
        }
        let now = self.clock.monotonic();
        let Some(siding) = self.siding.as_mut().filter(|_| is_certain) else {
            return Err(commands);
        };
        let left = siding.put(commands, now);
        if left.is_empty() { Ok(Vec::new()) } else { Err(left) }
    }

    /// Keeps what is known of a batch that could not be written: the truth of calls, and
    /// which holds nobody will use, should they turn out to be taken.
    fn owe(&self, commands: &[Command], may_be_taken: bool) {
        let now = self.clock.monotonic();
        for command in commands {
            match command {
                Command::End(it) => self.owed.end(&it.hold, it.kind, it.truth),
                Command::Hold(it) if may_be_taken => {
                    self.owed.unwanted(it.order.parties.tenant, it.order.id, now);
                }
                Command::Hold(_) => {}
            }
        }
    }

    /// Answers every command, and remembers the limits.
    fn answer(
        &mut self,
        commands: Vec<Command>,
        plan: &Plan,
        at: Option<Timestamp>,
    ) -> Vec<Vec<Command>> {
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
        if at.is_some() {
            let written = plan.written(&commands);
            self.known.extend(written.into_iter().map(|it| (it.key, it)));
        }
        let mut orphans = Vec::new();
        for (command, decided) in commands.into_iter().zip(&plan.decided) {
            match command {
                Command::End(it) => answer_end(*it, decided, plan, at),
                Command::Hold(it) => orphans.extend(answer_hold(*it, decided, plan, at)),
            }
        }
        if orphans.is_empty() { Vec::new() } else { vec![orphans] }
    }
}

fn halves(mut commands: Vec<Command>) -> Vec<Vec<Command>> {
    let second = commands.split_off(commands.len() / 2);
    // Taken from the end: the first half goes first.
    vec![second, commands]
}

/// The same commands, a batch for each tenant, to be taken from the end: first come
/// first.
fn of_one_tenant_each(commands: Vec<Command>) -> Vec<Vec<Command>> {
    let mut batches: Vec<Vec<Command>> = Vec::new();
    let mut at = BTreeMap::new();
    for command in commands {
        let index = *at.entry(tenant(&command)).or_insert_with(|| {
            batches.push(Vec::new());
            batches.len().saturating_sub(1)
        });
        if let Some(batch) = batches.get_mut(index) {
            batch.push(command);
        }
    }
    batches.reverse();
    batches
}

/// From 5 ms, doubled up to half a second.
fn pause(tries: u32) -> Duration {
    Duration::from_millis(5_u64.saturating_mul(1 << tries.min(7)).min(500))
}
