//! What a call stands on: the grant, the envelope and every limit that applies.

use jiff::Timestamp;

use super::{Names, granted, nest, scope::get_or_open};
use crate::{
    budget::{reserve::Reserve, windows},
    clock::Clock,
    domain::{
        fault::Fault,
        grant::Grant,
        hold::Parties,
        ids::{EnvelopeId, LimitId},
        limit::Limit,
        outcome::{Bounded, LimitStatus, Refusal},
        request::EnvelopeChoice,
    },
    identity::HostCaller,
    store::{
        self, Store, budgets,
        envelopes::{self, Closing, Envelope},
        limits,
    },
};

/// How often a race for a scope is run again.
const RACES_MAX: usize = 8;

/// See the module.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The consent.
    pub grant: Grant,
    /// On whose behalf the call is made.
    pub parties: Parties,
    /// The sub-agent's allowance.
    pub envelope: Envelope,
    /// The envelopes that it stands in.
    pub around: Vec<Envelope>,
    /// Its limits, theirs and those of every budget that counts the call, in the
    /// windows that hold `now`.
    pub limits: Vec<Limit>,
    /// Postgres' time.
    pub now: Timestamp,
}

impl Standing {
    /// What the envelopes around keep for last calls of their own.
    pub fn kept(&self) -> Vec<Reserve> {
        nest::kept(&self.around)
    }

    /// What the envelope itself keeps for its last call.
    pub fn reserve(&self) -> Option<Reserve> {
        let Envelope { life, allowance, .. } = &self.envelope;
        Some(Reserve::of(life.id, &allowance.landing?))
    }

    /// The limits as looked up, but for the one that refused a call: other calls may
    /// have used it up since.
    pub fn limits_as(&self, refused_by: &LimitStatus) -> Vec<Limit> {
        let mut limits = self.limits.clone();
        let LimitStatus { owner, kind, held, settled, overrun, .. } = *refused_by;
        let it =
            limits.iter_mut().find(|it| it.owner == owner && Bounded::Counted(it.kind) == kind);
        if let Some(it) = it {
            (it.held, it.settled, it.overrun) = (held, settled, overrun);
        }
        limits
    }
}

/// What becomes of an envelope and of windows that have to be made first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// They are there from now on.
    Kept,
    /// They were only thought of.
    Forgotten,
}

/// Why there is nothing to stand on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// An outcome: the call is not allowed.
    Refused(Refusal),
    /// An error.
    Fault(Fault),
}

impl From<Refusal> for Stop {
    fn from(it: Refusal) -> Self {
        Self::Refused(it)
    }
}

impl From<Fault> for Stop {
    fn from(it: Fault) -> Self {
        Self::Fault(it)
    }
}

impl From<store::Error> for Stop {
    fn from(it: store::Error) -> Self {
        Self::Fault(it.into())
    }
}

/// Looks everything up. Without a grant the answer is the same whether the user or
/// the server exists or not.
pub async fn stand(
    (store, clock): (&Store, &Clock),
    host: &HostCaller,
    names: Names<'_>,
    choice: &EnvelopeChoice,
    made: Made,
) -> Result<Standing, Stop> {
    for _ in 0..RACES_MAX {
        let mut tx = store.call_tx(host.tenant).await?;
        let (grant, parties) = granted(&mut tx, clock, host, names).await?;
        let envelope = match choice {
            EnvelopeChoice::Named { tenant, id } => {
                let is_own = tenant.is_none_or(|it| it == host.tenant);
                Some(named(&mut tx, &parties, *id, is_own).await?)
            }
            EnvelopeChoice::Scoped(scope) => {
                get_or_open(&mut tx, clock, (&parties, &grant), scope).await?
            }
        };
        // Somebody else opened it meanwhile; what we made goes with the transaction.
        let Some(envelope) = envelope else { continue };
        let around = around(&mut tx, &envelope).await?;
        if around.iter().chain([&envelope]).any(|it| it.life.closed_at.is_some()) {
            let problem = "the envelope is closed; open another one".to_owned();
            return Err(Fault::Precondition { reason: "ENVELOPE_CLOSED", problem }.into());
        }
        let parties = Parties { root: parties.root, ..envelope.parties };
        let (now, limits) = all_limits(&mut tx, &parties, &envelope).await?;
        match made {
            Made::Kept => store::commit(tx).await?,
            Made::Forgotten => store::forget(tx).await?,
        }
        return Ok(Standing { grant, parties, envelope, around, limits, now });
    }
    Err(Fault::Shed { retry_after: std::time::Duration::from_millis(100) }.into())
}

/// An envelope by its name. One of another tenant, host, user or server looks missing.
async fn named(
    tx: &mut store::Tx,
    parties: &Parties,
    id: EnvelopeId,
    is_own: bool,
) -> Result<Envelope, Stop> {
    let missing = || Fault::NotFound { what: "envelope" };
    let found = if is_own { envelopes::find(tx, parties.tenant, id).await? } else { None };
    let found = found.ok_or_else(missing)?;
    let theirs = Parties { envelope: parties.envelope, root: parties.root, ..found.parties };
    if theirs != *parties {
        return Err(missing().into());
    }
    Ok(found)
}

/// The envelopes around one.
async fn around(tx: &mut store::Tx, envelope: &Envelope) -> Result<Vec<Envelope>, store::Error> {
    if envelope.ancestors.is_empty() {
        return Ok(Vec::new());
    }
    let tenant = envelope.parties.tenant;
    envelopes::all_of(tx, tenant, &envelope.ancestors, Closing::Allowed).await
}

/// Postgres' time and the limits of the envelope, of those around it and of the budgets,
/// those of a new window made now.
async fn all_limits(
    tx: &mut store::Tx,
    parties: &Parties,
    envelope: &Envelope,
) -> Result<(Timestamp, Vec<Limit>), Stop> {
    let tenant = parties.tenant;
    let mut owners = vec![envelope.life.id];
    owners.extend(&envelope.ancestors);
    let (now, budgets) = budgets::that_count(tx, parties).await?;
    let mut wanted = Vec::new();
    for budget in &budgets {
        let made = windows::of_budget(tenant, budget, Some(parties.server), now).map_err(|it| {
            tracing::error!(budget = %budget.id, error = %it, "a budget has no window now");
            Fault::Internal
        })?;
        wanted.extend(made);
    }
    let ids: Vec<LimitId> = wanted.iter().map(|it| it.key.id).collect();
    let mut found = limits::that_apply(tx, tenant, (&owners, &ids)).await?;
    let missing = |it: &Limit| found.iter().all(|known| known.key != it.key);
    let fresh: Vec<Limit> = wanted.into_iter().filter(missing).collect();
    if !fresh.is_empty() {
        limits::create(tx, &fresh).await?;
        found = limits::that_apply(tx, tenant, (&owners, &ids)).await?;
    }
    Ok((now, found))
}
