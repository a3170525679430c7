//! A lane's own connection: compare-and-set first, locks when that is not enough.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    time::Duration,
};

use jiff::Timestamp;
use sqlx::{Connection, PgConnection, Postgres, Transaction};

use super::{
    Error, Store,
    batch::{Batch, see, write},
    entries,
    holds::{self, OpenHold},
    limits,
};
use crate::domain::{
    entry::{Booking, EntryKind},
    hold::{Hold, Parties},
    ids::{HoldId, TenantId},
    limit::{Limit, LimitKey},
};

/// Longer than the server's own timeouts, so that only a dead peer meets it.
const SILENCE: Duration = Duration::from_secs(12);

/// Connects when needed and again after it broke.
#[derive(Debug)]
pub struct LaneConnection {
    store: Store,
    inner: Option<PgConnection>,
    seen: BTreeSet<TenantId>,
}

/// Limits under lock, until commit or drop.
#[derive(Debug)]
pub struct Locked<'c> {
    tx: Transaction<'c, Postgres>,
    /// The limits that exist, as they stand.
    pub limits: Vec<Limit>,
}

/// Holds that are open, as seen under locks.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) holds: BTreeMap<HoldId, OpenHold>,
    /// Orders that were carried out by a try of unknown outcome, and have ended since.
    pub(crate) ended: BTreeSet<HoldId>,
    /// Orders of those whom somebody has stopped.
    pub(crate) stopped: BTreeSet<HoldId>,
    /// Postgres' time once all was locked.
    pub(crate) now: Timestamp,
}

impl LaneConnection {
    /// Not connected yet.
    pub const fn new(store: Store) -> Self {
        Self { store, inner: None, seen: BTreeSet::new() }
    }

    /// Writes a batch by compare-and-set, in one statement of its own.
    pub(crate) async fn write(
        &mut self,
        tenants: &BTreeSet<TenantId>,
        batch: &Batch<'_>,
    ) -> Result<Timestamp, Error> {
        self.connect().await?;
        // After a failure it is not known what the connection sees.
        self.seen.clear();
        let connection = self.inner.as_mut().ok_or(Error::Unreadable("connection"))?;
        let result = in_time(write(connection, batch, Some(tenants))).await;
        if result.is_ok() {
            self.seen.clone_from(tenants);
        }
        self.keep_if_sound(result)
    }

    /// The limits as they stand, unlocked. Those that do not exist are left out.
    pub(crate) async fn read(
        &mut self,
        tenants: &BTreeSet<TenantId>,
        keys: &[LimitKey],
    ) -> Result<Vec<Limit>, Error> {
        let connection = self.open_to(tenants).await?;
        in_time(limits::read(connection, keys)).await
    }

    /// Opens a transaction and locks the limits in order.
    pub(crate) async fn lock(
        &mut self,
        tenants: &BTreeSet<TenantId>,
        keys: &[LimitKey],
    ) -> Result<Locked<'_>, Error> {
        let connection = self.open_to(tenants).await?;
        in_time(async {
            let mut tx = connection.begin().await?;
            let limits = limits::lock(&mut tx, keys).await?;
            Ok(Locked { tx, limits })
        })
        .await
    }

    /// Forgets the connection, whatever state it is in.
    pub fn reset(&mut self) {
        self.inner = None;
        self.seen.clear();
    }

    async fn connect(&mut self) -> Result<(), Error> {
        if self.inner.is_none() {
            self.seen.clear();
            self.inner = Some(in_time(self.store.lane_connection()).await?);
        }
        Ok(())
    }

    async fn open_to(&mut self, tenants: &BTreeSet<TenantId>) -> Result<&mut PgConnection, Error> {
        self.connect().await?;
        let connection = self.inner.as_mut().ok_or(Error::Unreadable("connection"))?;
        if !tenants.is_subset(&self.seen) {
            // Cleared first: after a failure it is not known what the connection sees.
            self.seen.clear();
            in_time(see(connection, tenants)).await?;
            self.seen.clone_from(tenants);
        }
        Ok(connection)
    }

    fn keep_if_sound<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if matches!(result, Err(Error::Unreachable(_))) {
            self.reset();
        }
        result
    }
}

impl Locked<'_> {
    /// The holds among these that are still open, which cannot end while their
    /// limits are locked; and which of these orders somebody has stopped.
    pub(crate) async fn open_holds(
        &mut self,
        ids: &[(TenantId, HoldId)],
        orders: &[(HoldId, Parties)],
    ) -> Result<Open, Error> {
        let found = in_time(holds::open(&mut self.tx, ids, orders)).await?;
        let holds::Found { open: holds, stopped, now } = found;
        Ok(Open { holds, ended: BTreeSet::new(), stopped, now })
    }

    /// The holds among these that have ended.
    pub(crate) async fn ended(
        &mut self,
        ids: &[(TenantId, HoldId)],
    ) -> Result<BTreeSet<HoldId>, Error> {
        in_time(entries::ended(&mut self.tx, ids)).await
    }

    /// Whether the entry that resolved this hold is of this kind and booking.
    pub(crate) async fn is_booked(
        &mut self,
        hold: &Hold,
        kind: EntryKind,
        booking: &Booking,
    ) -> Result<bool, Error> {
        let found = entries::resolution(&mut self.tx, hold.parties.tenant, hold.id).await?;
        Ok(found.is_some_and(|it| it.kind == kind && it.money == booking.money))
    }

    /// Lets the limits go unchanged, at once: a dropped transaction would hold them
    /// until the connection is used again.
    pub(crate) async fn release(self) -> Result<(), Error> {
        in_time(async { Ok(self.tx.rollback().await?) }).await
    }

    /// Lets the limits go with their revisions moved on, so that nothing that was decided
    /// on the old ones, and may still be on its way, can take effect any more.
    pub(crate) async fn fence(mut self, keys: &[LimitKey]) -> Result<(), Error> {
        in_time(async {
            limits::move_revisions(&mut self.tx, keys).await?;
            Ok(self.tx.commit().await?)
        })
        .await
    }

    /// Writes the batch and commits.
    pub(crate) async fn write(mut self, batch: &Batch<'_>) -> Result<Timestamp, Error> {
        in_time(async {
            let at = write(&mut self.tx, batch, None).await?;
            self.tx.commit().await?;
            Ok(at)
        })
        .await
    }
}

/// A peer that says nothing for so long is gone.
async fn in_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let silent = |_| Error::Unreachable(sqlx::Error::PoolTimedOut);
    tokio::time::timeout(SILENCE, work).await.map_err(silent)?
}
