//! Where a lane puts the commands of a tenant whose rows somebody else keeps locked, so
//! that the lane's other tenants do not wait for him. It is a lane like any other, of
//! those commands alone.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

use super::{command::Command, uncertain::tenant};
use crate::domain::ids::TenantId;

/// How long a tenant's commands go aside after a lock was waited for in vain.
const ASIDE: Duration = Duration::from_secs(10);

/// Tenants that are remembered as stuck.
const STUCK_MAX: usize = 10_000;

/// The way to the siding, and who has to take it.
#[derive(Debug)]
pub(super) struct Siding {
    pub(super) ends: mpsc::Sender<Command>,
    pub(super) holds: mpsc::Sender<Command>,
    /// Until when.
    stuck: BTreeMap<TenantId, Instant>,
}

impl Siding {
    pub(super) const fn new(ends: mpsc::Sender<Command>, holds: mpsc::Sender<Command>) -> Self {
        Self { ends, holds, stuck: BTreeMap::new() }
    }

    /// Puts aside what is of stuck tenants, and returns the rest.
    pub(super) fn divert(&mut self, commands: Vec<Command>, now: Instant) -> Vec<Command> {
        self.stuck.retain(|_, until| *until > now);
        if self.stuck.is_empty() {
            return commands;
        }
        let mut rest = Vec::with_capacity(commands.len());
        for command in commands {
            if self.stuck.contains_key(&tenant(&command)) {
                rest.extend(self.send(command));
            } else {
                rest.push(command);
            }
        }
        rest
    }

    /// Puts all of these aside, and whatever comes of the same tenant for a while.
    /// Returns what does not fit there.
    pub(super) fn put(&mut self, commands: Vec<Command>, now: Instant) -> Vec<Command> {
        let until = now.checked_add(ASIDE).unwrap_or(now);
        if let Some(command) = commands.first().filter(|_| self.stuck.len() < STUCK_MAX) {
            self.stuck.insert(tenant(command), until);
        }
        commands.into_iter().filter_map(|it| self.send(it)).collect()
    }

    /// Returns the command if there is no room for it. There is, as long as each has a
    /// slot of its lane.
    fn send(&self, command: Command) -> Option<Command> {
        let queue = match command {
            Command::End(_) => &self.ends,
            Command::Hold(_) => &self.holds,
        };
        queue.try_send(command).err().map(mpsc::error::TrySendError::into_inner)
    }
}
