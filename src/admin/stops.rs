//! Kill switches. What they stop they stop at once and on every replica.

use super::{
    Desk, Slice,
    audit::{self, Trail},
    known_server, known_user,
};
use crate::{
    domain::{
        audit::Subject,
        fault::Fault,
        halt::{Halt, Scope},
        ids::StopId,
    },
    identity::OperatorCaller,
    store::{self, stops as rows},
};

/// Whom to stop, and why.
#[derive(Debug, Clone)]
pub struct NewStop {
    /// The user, as hosts know them; none: every one.
    pub user: Option<String>,
    /// The server, as hosts know it; none: every one.
    pub server: Option<String>,
    /// In the operator's words.
    pub reason: String,
}

/// Stops sampling. Again is harmless: the stop that is in force is returned.
pub async fn stop_sampling(
    desk: Desk<'_>,
    right: &OperatorCaller,
    wanted: NewStop,
) -> Result<Halt, Fault> {
    let (tenant, by) = (right.tenant.id, right.actor.credential);
    let mut tx = desk.store.report_tx(tenant).await?;
    let user = match &wanted.user {
        Some(it) => Some(known_user(&mut tx, tenant, ("user", it)).await?),
        None => None,
    };
    let server = match &wanted.server {
        Some(it) => Some(known_server(&mut tx, tenant, ("server", it)).await?),
        None => None,
    };
    let scope = Scope { user, server };
    let fresh: StopId = desk.clock.id();
    rows::add(&mut tx, tenant, (fresh, scope, &wanted.reason), by).await?;
    // Lifted between the two statements: somebody else has just decided otherwise.
    let made = rows::in_force(&mut tx, tenant, scope).await?.ok_or(Fault::Aborted {
        reason: "STOP_LIFTED",
        problem: "somebody lifted the stop at the same time; stop again".to_owned(),
        retry_after: None,
    })?;
    if made.id == fresh {
        audit::made(&mut tx, desk, right, ("StopSampling", Subject::Stop(fresh))).await?;
    }
    store::commit(tx).await?;
    Ok(made)
}

/// Lifts a stop. Again is harmless.
pub async fn resume_sampling(
    desk: Desk<'_>,
    right: &OperatorCaller,
    id: StopId,
) -> Result<Halt, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let trail = Trail::of(&mut tx, right, "ResumeSampling", Subject::Stop(id)).await?;
    rows::lift(&mut tx, tenant, id, right.actor.credential).await?;
    let lifted = rows::find(&mut tx, tenant, id).await?;
    trail.end(&mut tx, desk).await?;
    store::commit(tx).await?;
    lifted.ok_or(Fault::NotFound { what: "stop" })
}

/// The stops in force, or all that ever were.
pub async fn stops(
    desk: Desk<'_>,
    right: &OperatorCaller,
    slice: Slice,
    with_lifted: bool,
) -> Result<Vec<Halt>, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = rows::list(&mut tx, tenant, slice, with_lifted).await?;
    store::commit(tx).await?;
    Ok(found)
}
