//! Organisations.

use super::{ids::TenantId, money::Currency};

/// An organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its id.
    pub id: TenantId,
    /// What people call it.
    pub display_name: String,
    /// What it pays in; fixed for good.
    pub currency: Currency,
}
