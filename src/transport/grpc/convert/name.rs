//! Resource names: `tenants/{tenant}/{collection}/{id}`, or the bare id.

use std::{fmt::Display, str::FromStr};

use crate::domain::{
    fault::Fault,
    ids::{
        AuditId, BackendId, BookId, BudgetId, CredentialId, EntryId, EnvelopeId, FxRateId, GrantId,
        HostId, ModelId, ServerId, StopId, TenantId, TokenId, UserId,
    },
};

/// An id that has a resource name.
pub trait Resource: Display + FromStr {
    /// The collection's segment of the name.
    const COLLECTION: &'static str;
}

macro_rules! collections {
    ($($id:ident = $collection:literal;)*) => {$(
        impl Resource for $id {
            const COLLECTION: &'static str = $collection;
        }
    )*};
}

collections! {
    AuditId = "auditEntries";
    BackendId = "backends";
    BookId = "priceBooks";
    BudgetId = "budgets";
    CredentialId = "credentials";
    EntryId = "entries";
    EnvelopeId = "envelopes";
    FxRateId = "fxRates";
    GrantId = "grants";
    HostId = "hosts";
    ModelId = "models";
    ServerId = "servers";
    StopId = "stops";
    TokenId = "tokens";
    UserId = "users";
}

/// A resource name once it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<I> {
    /// The tenant; none for a bare id.
    pub tenant: Option<TenantId>,
    /// The id.
    pub id: I,
}

impl<I> Name<I> {
    /// The id, if it may be the tenant's; else `what` is not found, as if it were missing.
    pub fn of(self, tenant: TenantId, what: &'static str) -> Result<I, Fault> {
        if self.tenant.is_some_and(|it| it != tenant) {
            return Err(Fault::NotFound { what });
        }
        Ok(self.id)
    }
}

/// Reads a full name or a bare id.
pub fn parse<I: Resource>(field: &str, text: &str) -> Result<Name<I>, Fault> {
    let malformed = || {
        let collection = I::COLLECTION;
        Fault::invalid(field, format!("must be tenants/TENANT/{collection}/ID or the id alone"))
    };
    if text.is_empty() {
        return Err(Fault::invalid(field, "is required"));
    }
    let (tenant, id) = match text.split('/').collect::<Vec<_>>().as_slice() {
        [id] => (None, *id),
        ["tenants", tenant, collection, id] if *collection == I::COLLECTION => {
            (Some(tenant.parse().map_err(|_| malformed())?), *id)
        }
        _ => return Err(malformed()),
    };
    Ok(Name { tenant, id: id.parse().map_err(|_| malformed())? })
}

/// The full name of a tenant's resource.
pub fn format<I: Resource>(tenant: TenantId, id: &I) -> String {
    format!("tenants/{tenant}/{}/{id}", I::COLLECTION)
}

/// The name of a tenant itself.
pub fn of_tenant(tenant: TenantId) -> String {
    format!("tenants/{tenant}")
}
