//! Rights as arguments: a handler cannot be written without naming the role it needs.

use std::net::IpAddr;

use super::require;
use crate::domain::{
    credential::{Credential, Role},
    fault::Fault,
    ids::{CredentialId, HostId, TenantId},
    money::Currency,
    tenant::Tenant,
};

/// Who changes something, and from where: what the audit says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    /// The key.
    pub credential: CredentialId,
    /// The address at the other end of the connection; none: from inside.
    pub peer: Option<IpAddr>,
}

/// Somebody with a valid key.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whose key.
    pub tenant: Tenant,
    /// Which key.
    pub credential: Credential,
    /// The address at the other end of the connection, where there is one.
    pub peer: Option<IpAddr>,
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
    /// Who it is.
    pub actor: Actor,
}

/// Somebody who may read the ledger: finance, or an operator.
#[derive(Debug, Clone)]
pub struct FinanceCaller {
    /// The organisation.
    pub tenant: Tenant,
}

/// The platform: may make tenants.
#[derive(Debug, Clone, Copy)]
pub struct PlatformCaller {
    /// Who it is.
    pub actor: Actor,
    _right: (),
}

impl Caller {
    const fn actor(&self) -> Actor {
        Actor { credential: self.credential.id, peer: self.peer }
    }
}

/// Whoever keeps a price book: the platform the common one, an operator the tenant's own.
#[derive(Debug, Clone, Copy)]
pub struct BookKeeper {
    /// Whose book.
    pub owner: TenantId,
    /// With which key.
    pub by: CredentialId,
}

/// Whoever may read price books: their keepers, and finance.
#[derive(Debug, Clone, Copy)]
pub struct BookReader {
    /// Whose own book it reads beside the platform's.
    pub tenant: TenantId,
}

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
        let actor = it.actor();
        Ok(Self { tenant: it.tenant, actor })
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
        Ok(Self { actor: it.actor(), _right: () })
    }
}

impl TryFrom<Caller> for BookKeeper {
    type Error = Fault;

    fn try_from(it: Caller) -> Result<Self, Fault> {
        let by = it.credential.id;
        if it.credential.role == Role::Platform {
            return Ok(Self { owner: TenantId::PLATFORM, by });
        }
        require(&it, Role::Operator)?;
        Ok(Self { owner: it.tenant.id, by })
    }
}

impl TryFrom<Caller> for BookReader {
    type Error = Fault;

    fn try_from(it: Caller) -> Result<Self, Fault> {
        if ![Role::Platform, Role::Operator].contains(&it.credential.role) {
            require(&it, Role::Finance)?;
        }
        Ok(Self { tenant: it.tenant.id })
    }
}
