//! Keys. One that is revoked or has expired stops at once: it is looked up on
//! every request.

use jiff::Timestamp;

use super::{
    Desk, Slice,
    audit::{Trail, made},
};
use crate::{
    clock::Clock,
    domain::{
        audit::Subject,
        credential::{Credential, Role},
        fault::Fault,
        ids::CredentialId,
    },
    identity::{Key, OperatorCaller, ensure_host, issue},
    store::{self, identity},
};

/// A key to be made.
#[derive(Debug, Clone)]
pub struct NewCredential {
    /// What people call it.
    pub display_name: String,
    /// What it may do; never [`Role::Platform`], which no tenant gives.
    pub role: Role,
    /// The host it speaks for, made when there is none; with [`Role::Host`] alone.
    pub host: Option<String>,
    /// From when on it is no longer accepted.
    pub expires_at: Option<Timestamp>,
}

/// Makes a key, which is returned this once.
pub async fn create_credential(
    desk: Desk<'_>,
    right: &OperatorCaller,
    wanted: NewCredential,
) -> Result<(Credential, Key), Fault> {
    let tenant = right.tenant.id;
    let NewCredential { display_name, role, host, expires_at } = wanted;
    if expires_at.is_some_and(|it| it <= desk.clock.now()) {
        return Err(Fault::invalid("expire_time", "must be in the future"));
    }
    let mut tx = desk.store.report_tx(tenant).await?;
    let host = match (role, host) {
        (Role::Platform, _) => return Err(Fault::WrongRole { needed: Role::Platform.word() }),
        (Role::Host, Some(name)) => {
            Some((ensure_host(&mut tx, tenant, (desk.clock.id(), &name)).await?, name))
        }
        (Role::Host, None) => return Err(Fault::invalid("host", "is required for this role")),
        (Role::Operator | Role::Finance, Some(_)) => {
            return Err(Fault::invalid("host", "must be empty for this role"));
        }
        (Role::Operator | Role::Finance, None) => None,
    };
    let credential = Credential { host, expires_at, ..fresh(desk.clock, role, &display_name) };
    let key = issue(&mut tx, tenant, &credential).await?;
    let found = identity::credential_by_id(&mut tx, tenant, credential.id.uuid()).await?;
    let subject = Subject::Credential(credential.id);
    made(&mut tx, desk, right, ("CreateCredential", subject)).await?;
    store::commit(tx).await?;
    Ok((found.ok_or(Fault::Internal)?, key))
}

/// The keys without their secrets, revoked ones too.
pub async fn credentials(
    desk: Desk<'_>,
    right: &OperatorCaller,
    (after, most): Slice,
) -> Result<Vec<Credential>, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = identity::credentials(&mut tx, tenant, after, most).await?;
    store::commit(tx).await?;
    Ok(found)
}

/// Revokes a key. Again is harmless.
pub async fn revoke_credential(
    desk: Desk<'_>,
    right: &OperatorCaller,
    id: CredentialId,
) -> Result<Credential, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let subject = Subject::Credential(id);
    let trail = Trail::of(&mut tx, right, "RevokeCredential", subject).await?;
    let revoked = identity::revoke_credential(&mut tx, tenant, id.uuid()).await?;
    let revoked = revoked.ok_or(Fault::NotFound { what: "credential" })?;
    trail.end(&mut tx, desk).await?;
    store::commit(tx).await?;
    Ok(revoked)
}

/// A credential of no host that does not expire.
pub(super) fn fresh(clock: &Clock, role: Role, display_name: &str) -> Credential {
    Credential {
        id: clock.id(),
        display_name: display_name.to_owned(),
        role,
        host: None,
        created_at: clock.now(),
        expires_at: None,
        revoked_at: None,
    }
}
