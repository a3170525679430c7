//! Pages of entries, newest first.

use uuid::Uuid;

use crate::{
    domain::{
        fault::Fault,
        ids::{CallId, EnvelopeId, HostId, TenantId},
        money::Currency,
    },
    identity::{Caller, FinanceCaller, HostCaller},
    store::{self, Store, identity, ledger},
};

pub use ledger::Entry;

/// Somebody who may read entries: finance and operators all of them, a host those
/// of its own calls.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// The organisation.
    pub tenant: TenantId,
    /// What it pays in.
    pub currency: Currency,
    /// The host whose entries alone may be seen.
    pub host: Option<HostId>,
}

/// Which entries are wanted; each part may be left out.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The person, as hosts know them.
    pub user: Option<String>,
    /// The server, as hosts know it.
    pub server: Option<String>,
    /// The sub-agent's allowance.
    pub envelope: Option<EnvelopeId>,
    /// The call.
    pub call: Option<CallId>,
}

impl TryFrom<Caller> for Reader {
    type Error = Fault;

    fn try_from(it: Caller) -> Result<Self, Fault> {
        if let Ok(HostCaller { tenant, currency, host, .. }) = HostCaller::try_from(it.clone()) {
            return Ok(Self { tenant, currency, host: Some(host) });
        }
        let FinanceCaller { tenant } = it.try_into()?;
        Ok(Self { tenant: tenant.id, currency: tenant.currency, host: None })
    }
}

/// At most `most` entries before `before`. Nothing is found of a user or a server
/// that does not exist, as of one without entries.
pub async fn entries(
    store: &Store,
    reader: &Reader,
    wanted: &Wanted,
    (before, most): (Option<Uuid>, i64),
) -> Result<Vec<Entry>, Fault> {
    let tenant = reader.tenant;
    let mut tx = store.report_tx(tenant).await?;
    let user = match &wanted.user {
        Some(it) => identity::user(&mut tx, tenant, it).await?,
        None => None,
    };
    let server = match &wanted.server {
        Some(it) => identity::server(&mut tx, tenant, it).await?,
        None => None,
    };
    let unknown =
        (wanted.user.is_some() && user.is_none()) || (wanted.server.is_some() && server.is_none());
    let found = if unknown {
        Vec::new()
    } else {
        let Wanted { envelope, call, .. } = *wanted;
        let filter = ledger::Filter { host: reader.host, user, server, envelope, call };
        ledger::page(&mut tx, tenant, &filter, (before, most)).await?
    };
    store::commit(tx).await?;
    Ok(found)
}
