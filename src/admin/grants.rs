//! Consent.

use std::time::Duration;

use super::{
    Desk, Slice,
    audit::{self, Trail},
    exists, known_server, known_user,
};
use crate::{
    domain::{
        audit::Subject,
        draft,
        fault::Fault,
        grant::Grant,
        ids::{GrantId, TenantId},
    },
    identity::OperatorCaller,
    store::{self, Tx, catalogue, grants as rows},
};

pub use rows::Listed;

/// Writes a consent down. One of a user and a server is in force at a time.
pub async fn create_grant(
    desk: Desk<'_>,
    right: &OperatorCaller,
    wanted: draft::Grant,
) -> Result<Listed, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    known_models(&mut tx, tenant, &wanted.models).await?;
    let grant = Grant {
        id: desk.clock.id(),
        user: known_user(&mut tx, tenant, ("grant.user", &wanted.user)).await?,
        server: known_server(&mut tx, tenant, ("grant.server", &wanted.server)).await?,
        models: wanted.models,
        default_envelope: wanted.default_envelope,
        max_envelope: wanted.max_envelope,
        tools: wanted.tools,
        background: wanted.background,
        reveal_model: wanted.reveal_model,
        call_time: Duration::from_secs(wanted.call_seconds),
        extension: wanted.extension,
    };
    let what = "a grant in force of this user for this server";
    rows::add(&mut tx, tenant, &grant).await.map_err(exists(what))?;
    let made = found(&mut tx, tenant, grant.id).await?;
    audit::made(&mut tx, desk, right, ("CreateGrant", Subject::Grant(grant.id))).await?;
    store::commit(tx).await?;
    Ok(made)
}

/// The grants, revoked ones too.
pub async fn grants(
    desk: Desk<'_>,
    right: &OperatorCaller,
    slice: Slice,
) -> Result<Vec<Listed>, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let listed = rows::list(&mut tx, tenant, slice).await?;
    store::commit(tx).await?;
    Ok(listed)
}

/// Takes a consent back. Again is harmless.
pub async fn revoke_grant(
    desk: Desk<'_>,
    right: &OperatorCaller,
    id: GrantId,
) -> Result<Listed, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let trail = Trail::of(&mut tx, right, "RevokeGrant", Subject::Grant(id)).await?;
    rows::revoke(&mut tx, tenant, id.uuid()).await?;
    let revoked = found(&mut tx, tenant, id).await?;
    trail.end(&mut tx, desk).await?;
    store::commit(tx).await?;
    Ok(revoked)
}

async fn found(tx: &mut Tx, tenant: TenantId, id: GrantId) -> Result<Listed, Fault> {
    rows::find(tx, tenant, id.uuid()).await?.ok_or(Fault::NotFound { what: "grant" })
}

async fn known_models(tx: &mut Tx, tenant: TenantId, aliases: &[String]) -> Result<(), Fault> {
    let known = catalogue::models_by_alias(tx, tenant, aliases).await?;
    for (index, alias) in aliases.iter().enumerate() {
        if !known.iter().any(|(it, _)| it == alias) {
            let field = format!("grant.models[{index}]");
            return Err(Fault::invalid(field, "there is no model of this alias; create it first"));
        }
    }
    Ok(())
}
