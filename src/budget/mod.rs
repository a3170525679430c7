//! The budget engine: holds, settlements and expiry. The sole writer of limits,
//! holds and entries.

mod answers;
pub mod command;
pub mod decide;
pub mod extension;
pub mod lane;
pub mod late;
pub mod months;
pub mod offer;
pub mod owed;
mod plan;
pub mod reaper;
pub mod reserve;
mod siding;
mod uncertain;
pub mod windows;

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{Semaphore, mpsc, oneshot};

use command::{Command, EndCommand, HoldCommand};
pub use command::{Ended, Error, Held, Order, Slot, Verdict};
pub use lane::Lane;
use siding::Siding;

use crate::{
    clock::Clock,
    config::LaneTenants,
    domain::{
        entry::{EntryKind, Truth},
        hold::Hold,
        ids::TenantId,
    },
    store::{Store, lane::LaneConnection},
};

/// Calls between hold and settlement, for each lane.
const LANE_CALLS_MAX: usize = 8_192;

/// Of these, how many one tenant may have.
const TENANT_CALLS_MAX: usize = 4_096;

/// Settlements of the reaper and of hosts that may wait in a lane besides.
const LANE_SPARE: usize = 1_024;

/// Tenants whose share is remembered before the idle ones are forgotten.
const TENANTS_REMEMBERED: usize = 10_000;

/// The lanes of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// How many, each with a connection of its own.
    pub count: usize,
    /// Whether one transaction may write for several tenants.
    pub tenants: LaneTenants,
}

/// The door to the lanes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    lanes: Arc<[Door]>,
    tenants: Arc<Mutex<HashMap<TenantId, Arc<Semaphore>>>>,
    owed: Arc<owed::Owed>,
}

#[derive(Debug)]
struct Door {
    holds: mpsc::Sender<Command>,
    ends: mpsc::Sender<Command>,
    calls: Arc<Semaphore>,
}

// === impl Lanes ===

impl Lanes {
    /// So many lanes that write for several tenants at once.
    pub const fn of(count: usize) -> Self {
        Self { count, tenants: LaneTenants::Many }
    }
}

// === impl Engine ===

impl Engine {
    /// The engine and its lanes, each with its siding, which somebody has to run. A tenant
    /// always has the same lane.
    pub fn new(store: &Store, clock: &Clock, lanes: Lanes) -> (Self, Vec<Lane>) {
        let owed = Arc::new(owed::Owed::default());
        let (doors, lanes): (Vec<_>, Vec<_>) =
            (0..lanes.count.max(1)).map(|_| lane(store, clock, (lanes.tenants, &owed))).unzip();
        let lanes = lanes.into_iter().flatten().collect();
        (Self { lanes: doors.into(), tenants: Arc::default(), owed }, lanes)
    }

    /// Takes a hold. It is durable when this returns; if the caller is gone by
    /// then it is given back.
    pub async fn hold(&self, order: Order) -> Result<Verdict, Error> {
        let tenant = order.parties.tenant;
        let door = self.door(tenant);
        let slot = self.slot(door, tenant)?;
        let (reply, answer) = oneshot::channel();
        let command = HoldCommand { order, slot: Some(slot), reply };
        door.holds.send(Command::Hold(Box::new(command))).await.map_err(|_| Error::Stopped)?;
        answer.await.map_err(|_| Error::Stopped)?
    }

    /// Ends a hold with what is known of its use. Repeating it is harmless.
    pub async fn end(
        &self,
        hold: Hold,
        kind: EntryKind,
        truth: Truth,
        slot: Option<Slot>,
    ) -> Result<Ended, Error> {
        let door = self.door(hold.parties.tenant);
        let (reply, answer) = oneshot::channel();
        let command = EndCommand { hold, kind, truth, reply: Some(reply), _slot: slot };
        door.ends.send(Command::End(Box::new(command))).await.map_err(|_| Error::Stopped)?;
        answer.await.map_err(|_| Error::Stopped)?
    }

    fn door(&self, tenant: TenantId) -> &Door {
        let mut hasher = DefaultHasher::new();
        tenant.hash(&mut hasher);
        let count = u64::try_from(self.lanes.len()).unwrap_or(1).max(1);
        let at = usize::try_from(hasher.finish() % count).unwrap_or(0);
        &self.lanes[at]
    }

    fn slot(&self, door: &Door, tenant: TenantId) -> Result<Slot, Error> {
        let share = {
            let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
            if tenants.len() > TENANTS_REMEMBERED {
                tenants.retain(|_, it| it.available_permits() < TENANT_CALLS_MAX);
            }
            let fresh = || Arc::new(Semaphore::new(TENANT_CALLS_MAX));
            Arc::clone(tenants.entry(tenant).or_insert_with(fresh))
        };
        let busy = |_| Error::Busy;
        let tenant = share.try_acquire_owned().map_err(busy)?;
        let lane = Arc::clone(&door.calls).try_acquire_owned().map_err(busy)?;
        Ok(Slot { _lane: lane, _tenant: tenant })
    }
}

fn lane(
    store: &Store,
    clock: &Clock,
    (tenants, owed): (LaneTenants, &Arc<owed::Owed>),
) -> (Door, [Lane; 2]) {
    let lane = |siding: Option<Siding>| {
        // Room for every slot, so that whoever has one never waits to send.
        let (holds, holds_queue) = mpsc::channel(LANE_CALLS_MAX);
        let (ends, ends_queue) = mpsc::channel(LANE_CALLS_MAX + LANE_SPARE);
        let connection = LaneConnection::new(store.clone());
        let (queues, rest) = ((ends_queue, holds_queue), (Arc::clone(owed), siding));
        (ends, holds, Lane::new(clock.clone(), connection, queues, tenants, rest))
    };
    let (ends, holds, siding) = lane(None);
    let (ends, holds, lane) = lane(Some(Siding::new(ends, holds)));
    let door = Door { holds, ends, calls: Arc::new(Semaphore::new(LANE_CALLS_MAX)) };
    (door, [lane, siding])
}
