//! Rights as arguments: a handler cannot be written without naming the role it needs.

use super::require;
use crate::domain::{
    credential::{Credential, Role},
    fault::Fault,
    ids::{CredentialId, HostId, TenantId},
    money::Currency,
    tenant::Tenant,
};

/// Somebody with a valid key.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whose key.
    pub tenant: Tenant,
    /// Which key.
    pub credential: Credential,
}

/// A host: may sample in users' names.
#[derive(Debug, Clone)]
pub struct HostCaller {
    /// The organisation.
    pub tenant: TenantId,
    /// What it pays in.
    pub currency: Currency,
    /// The client application.
    pub host: HostId,
    /// The key that it came with.
    pub credential: CredentialId,
}

/// An operator: may set budgets, grants, models and keys.
#[derive(Debug, Clone)]
pub struct OperatorCaller {
    /// The organisation.
    pub tenant: Tenant,
}

/// Somebody who may read the ledger: finance, or an operator.
#[derive(Debug, Clone)]
pub struct FinanceCaller {
    /// The organisation.
    pub tenant: Tenant,
}

/// The platform: may make tenants.
#[derive(Debug, Clone, Copy)]
pub struct PlatformCaller(());

impl TryFrom<Caller> for HostCaller {
    type Error = Fault;

    fn try_from(it: Caller) -> Result<Self, Fault> {
        require(&it, Role::Host)?;
        let (host, _) = it.credential.host.ok_or(Fault::Internal)?;
        let credential = it.credential.id;
        Ok(Self { tenant: it.tenant.id, currency: it.tenant.currency, host, credential })
    }
}

impl TryFrom<Caller> for OperatorCaller {
    type Error = Fault;

    fn try_from(it: Caller) -> Result<Self, Fault> {
        require(&it, Role::Operator)?;
        Ok(Self { tenant: it.tenant })
    }
}

impl TryFrom<Caller> for FinanceCaller {
    type Error = Fault;

    fn try_from(it: Caller) -> Result<Self, Fault> {
        if it.credential.role != Role::Operator {
            require(&it, Role::Finance)?;
        }
        Ok(Self { tenant: it.tenant })
    }
}

impl TryFrom<Caller> for PlatformCaller {
    type Error = Fault;

    fn try_from(it: Caller) -> Result<Self, Fault> {
        require(&it, Role::Platform)?;
        Ok(Self(()))
    }
}
