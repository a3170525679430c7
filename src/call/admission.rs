//! Is it allowed, and what does it stand on?

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Broker, End, Request, extension::may_ask, stopped::Watched};
use crate::{
    domain::{fault::Fault, outcome::Refusal, request::Origin},
    envelope::{Made, Names, Standing, stand},
};

/// Longer than the database's own timeouts, so that only a dead peer meets it.
const SILENCE: Duration = Duration::from_secs(15);

/// A request with a grant, an envelope and the limits that apply.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) request: Request,
    pub(super) standing: Standing,
    /// When the standing was looked up: its `now` on this process' clock.
    pub(super) seen_at: Instant,
    /// When the call must end for the sake of the grant and of whoever asks, fixed when
    /// it began.
    pub(super) until: Instant,
    /// Tells when an operator stops the call's parties.
    pub(super) watched: Arc<Watched>,
    /// A person may be asked for more before the call ends for want of it.
    pub(super) may_ask: bool,
}

pub(super) async fn admit(broker: &Broker, request: Request, made: Made) -> Result<Admitted, End> {
    let begun = broker.clock.monotonic();
    let standing = look_up(broker, &request, made).await?;
    let seen_at = broker.clock.monotonic();
    let grant = &standing.grant;
    if request.sampling.origin == Origin::Background && !grant.background {
        return Err(Refusal::BackgroundNotGranted.into());
    }
    let params = &request.sampling.params;
    if !(params.tools.is_empty() || grant.tools) {
        return Err(Refusal::ToolsNotGranted.into());
    }
    let call = begun.checked_add(grant.call_time).unwrap_or(begun);
    let until = request.deadline.map_or(call, |it| it.min(call));
    let may_ask = may_ask(&request, &standing);
    let watched = broker.running.watch(&standing.parties);
    Ok(Admitted { request, standing, seen_at, until, may_ask, watched })
}

impl Admitted {
    /// Looks up once more what the request stands on: a window has ended meanwhile.
    pub(super) async fn look_again(&mut self, broker: &Broker) -> Result<(), End> {
        self.standing = look_up(broker, &self.request, Made::Kept).await?;
        self.seen_at = broker.clock.monotonic();
        Ok(())
    }
}

/// What the request stands on now.
async fn look_up(broker: &Broker, request: &Request, made: Made) -> Result<Standing, End> {
    let Request { caller, sampling, models, .. } = request;
    let names =
        Names { user: &sampling.user, server: &sampling.server, root: sampling.root.as_deref() };
    let desk = (&broker.store, &broker.clock);
    let standing = stand(desk, caller, names, &sampling.envelope, made);
    let mut standing = in_time(standing).await?;
    narrow(&mut standing.grant.models, models)?;
    Ok(standing)
}

/// Leaves of the granted aliases those that the caller's key is for. Neither list names
/// any where all are meant, so that one without any in common must not be left empty.
fn narrow(granted: &mut Vec<String>, models: &[String]) -> Result<(), Refusal> {
    if models.is_empty() {
        return Ok(());
    }
    if granted.is_empty() {
        models.clone_into(granted);
        return Ok(());
    }
    granted.retain(|it| models.contains(it));
    if granted.is_empty() { Err(Refusal::NoModel) } else { Ok(()) }
}

/// The database's answer, or an error when there is none.
pub(super) async fn in_time<T, E>(answer: impl Future<Output = Result<T, E>>) -> Result<T, End>
where
    End: From<E>,
{
    let answer = tokio::time::timeout(SILENCE, answer).await;
    Ok(answer.map_err(|_| silent())??)
}

/// Nothing was held, so nothing is lost by asking another replica. Whether an extension was
/// given its token knows.
fn silent() -> Fault {
    Fault::Unavailable {
        reason: "DATABASE_UNAVAILABLE",
        problem: "the database does not answer".to_owned(),
        retry_after: Some(Duration::from_secs(1)),
    }
}
