//! Operators' writes, one file a resource. Each is one transaction of the tenant.

mod access;
mod audit;
mod budgets;
mod catalogue;
pub mod demo;
mod directory;
mod grants;
pub mod prices;
mod stops;
mod tenants;

use uuid::Uuid;

pub use access::{NewCredential, create_credential, credentials, revoke_credential};
pub use audit::audit_entries;
pub use budgets::{Standing, budgets, create_budget, delete_budget};
pub use catalogue::{
    Offered, backends, create_backend, create_model, models, resume_model, set_fx_rate, set_price,
};
pub use directory::{Named, create_server, create_user, servers, users};
pub use grants::{Listed, create_grant, grants, revoke_grant};
pub use stops::{NewStop, resume_sampling, stop_sampling, stops};
pub use tenants::{create_tenant, platform_key};

use crate::{
    catalogue::Catalogue,
    clock::Clock,
    domain::{
        fault::Fault,
        ids::{HostId, ServerId, TenantId, UserId},
    },
    store::{self, Store, Tx, identity},
};

/// What an operator's write needs besides its data.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a> {
    /// The tables.
    pub store: &'a Store,
    /// Time and fresh ids.
    pub clock: &'a Clock,
    /// What has to be forgotten once it has changed.
    pub catalogue: &'a Catalogue,
}

/// A keyset position, none for the start, and how many rows at most.
pub type Slice = (Option<Uuid>, i64);

/// What is said of a row that is there already.
fn exists(what: &'static str) -> impl Fn(store::Error) -> Fault {
    move |it| match it {
        store::Error::Duplicate(_) => Fault::Exists { what },
        it @ (store::Error::Unreachable(_)
        | store::Error::Retry(_)
        | store::Error::Stale
        | store::Error::Refused { .. }
        | store::Error::Unreadable(_)) => it.into(),
    }
}

/// The user that `field` names; one that does not exist is the field's fault.
async fn known_user(
    tx: &mut Tx,
    tenant: TenantId,
    (field, external): (&str, &str),
) -> Result<UserId, Fault> {
    let found = identity::user(tx, tenant, external).await?;
    found.ok_or_else(|| Fault::invalid(field, "there is no such user; create it first"))
}

/// The server that `field` names; one that does not exist is the field's fault.
async fn known_server(
    tx: &mut Tx,
    tenant: TenantId,
    (field, external): (&str, &str),
) -> Result<ServerId, Fault> {
    let found = identity::server(tx, tenant, external).await?;
    found.ok_or_else(|| Fault::invalid(field, "there is no such server; create it first"))
}

/// The host that `field` names; one that does not exist is the field's fault.
async fn known_host(
    tx: &mut Tx,
    tenant: TenantId,
    (field, name): (&str, &str),
) -> Result<HostId, Fault> {
    let found = identity::host(tx, tenant, name).await?;
    found.ok_or_else(|| Fault::invalid(field, "there is no such host; a key of its makes it"))
}
