//! The audit: each change is written down in the transaction that makes it, with who, from
//! where, and what it was before and after. What changes nothing leaves nothing.

use super::{Desk, Slice};
use crate::{
    domain::{
        audit::{AuditEntry, AuditFilter, Subject},
        fault::Fault,
        ids::TenantId,
    },
    identity::{Actor, OperatorCaller},
    store::{self, Tx, audit as rows},
};

/// A change under way.
#[derive(Debug)]
pub(super) struct Trail {
    tenant: TenantId,
    actor: Actor,
    method: &'static str,
    subject: Subject,
    old: Option<String>,
}

impl Trail {
    /// Of something that is there, or not; before it is changed.
    pub(super) async fn of(
        tx: &mut Tx,
        right: &OperatorCaller,
        method: &'static str,
        subject: Subject,
    ) -> Result<Self, store::Error> {
        let old = rows::look(tx, right.tenant.id, subject).await?;
        Ok(Self { old, ..Self::fresh((right.tenant.id, right.actor), method, subject) })
    }

    /// Of something that is made now.
    pub(super) const fn fresh(
        (tenant, actor): (TenantId, Actor),
        method: &'static str,
        subject: Subject,
    ) -> Self {
        Self { tenant, actor, method, subject, old: None }
    }

    /// Writes it down, once it is changed and before it is committed.
    pub(super) async fn end(self, tx: &mut Tx, desk: Desk<'_>) -> Result<(), store::Error> {
        let Self { tenant, actor, method, subject, old } = self;
        let new = rows::look(tx, tenant, subject).await?;
        if old == new {
            return Ok(());
        }
        let change = rows::Change {
            id: desk.clock.id(),
            by: actor.credential,
            from: actor.peer,
            method,
            subject,
            old: old.as_deref(),
            new: new.as_deref(),
        };
        rows::add(tx, tenant, &change).await
    }
}

/// Writes down what an operator has made just now.
pub(super) async fn made(
    tx: &mut Tx,
    desk: Desk<'_>,
    right: &OperatorCaller,
    (method, subject): (&'static str, Subject),
) -> Result<(), store::Error> {
    Trail::fresh((right.tenant.id, right.actor), method, subject).end(tx, desk).await
}

/// The changes, newest first.
pub async fn audit_entries(
    desk: Desk<'_>,
    right: &OperatorCaller,
    filter: &AuditFilter,
    slice: Slice,
) -> Result<Vec<AuditEntry>, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = rows::list(&mut tx, tenant, filter, slice).await?;
    store::commit(tx).await?;
    Ok(found)
}
