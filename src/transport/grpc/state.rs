//! What every service of this door works with.

use crate::{
    admin::Desk,
    budget::Engine,
    catalogue::{Catalogue, Connections},
    clock::Clock,
    identity::shed::Shed,
    store::Store,
};

/// Shared by all services. Cheap to clone.
#[derive(Clone)]
pub struct Services {
    /// The tables.
    pub store: Store,
    /// Time and fresh ids.
    pub clock: Clock,
    /// Holds and settlements.
    pub engine: Engine,
    /// Models, backends and rates, remembered.
    pub catalogue: Catalogue,
    /// Live backends.
    pub connections: Connections,
    /// Sheds what comes too fast.
    pub shed: Shed,
}

impl Services {
    /// What an operator's write needs.
    pub const fn desk(&self) -> Desk<'_> {
        Desk { store: &self.store, clock: &self.clock, catalogue: &self.catalogue }
    }
}
