//! Envelopes inside envelopes: a sub-agent that starts sub-agents.

use super::left;
use crate::{
    budget::reserve::Reserve,
    domain::{
        envelope::{Allowance, CHILDREN_MAX, DEPTH_MAX},
        fault::Fault,
        hold::Parties,
        ids::{EnvelopeId, TenantId},
    },
    store::{
        self,
        envelopes::{self, Closing, Envelope},
        limits,
    },
};

/// The envelopes that a new one is to stand in, the nearest first, and what of the
/// wanted allowance they can still give. Nobody closes them until the transaction ends.
///
/// The parent must be the same host's and the same person's; the server may be another.
pub(super) async fn inside(
    tx: &mut store::Tx,
    parties: &Parties,
    (tenant, parent): (Option<TenantId>, EnvelopeId),
    wanted: &Allowance,
) -> Result<(Vec<EnvelopeId>, Allowance), Fault> {
    let is_own = tenant.is_none_or(|it| it == parties.tenant);
    let found = if is_own { envelopes::find(tx, parties.tenant, parent).await? } else { None };
    let found =
        found.filter(|it| (it.parties.host, it.parties.user) == (parties.host, parties.user));
    let parent = found.ok_or(Fault::NotFound { what: "envelope" })?;
    let mut around = vec![parent.life.id];
    around.extend(&parent.ancestors);
    if around.len() > DEPTH_MAX {
        return Err(no(
            "ENVELOPE_TOO_DEEP",
            "envelopes stand in each other at most five deep; open it further out",
        ));
    }
    let locked = envelopes::all_of(tx, parties.tenant, &around, Closing::Held).await?;
    if locked.iter().any(|it| it.life.closed_at.is_some()) {
        return Err(no("ENVELOPE_CLOSED", "the parent envelope is closed; open another one"));
    }
    let children = envelopes::open_children(tx, parties.tenant, parent.life.id).await?;
    if children >= CHILDREN_MAX {
        return Err(no(
            "TOO_MANY_ENVELOPES",
            "a thousand envelopes are open in the parent; close those that are done",
        ));
    }
    Ok((around, part(tx, &locked, wanted).await?))
}

/// What each envelope around can still give.
async fn part(
    tx: &mut store::Tx,
    around: &[Envelope],
    wanted: &Allowance,
) -> Result<Allowance, Fault> {
    let now = store::now(tx).await?;
    let mut part = *wanted;
    for it in around {
        let limits = limits::of_envelope(tx, it.parties.tenant, it.life.id).await?;
        part = part.at_most(&left(&it.life, &limits, now));
    }
    if part.calls < 1 || part.seconds < 1 || part.tokens == Some(0) {
        return Err(no("ENVELOPE_EXHAUSTED", "the parent envelope has nothing left to give"));
    }
    Ok(part)
}

/// What the envelopes around keep for last calls of their own.
pub(super) fn kept(around: &[Envelope]) -> Vec<Reserve> {
    let reserve = |it: &Envelope| Some(Reserve::of(it.life.id, &it.allowance.landing?));
    around.iter().filter_map(reserve).collect()
}

fn no(reason: &'static str, problem: &str) -> Fault {
    Fault::Precondition { reason, problem: problem.to_owned() }
}
