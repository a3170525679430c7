//! Nothing reaches a backend without a durable hold on every limit that applies.

use std::time::{Duration, Instant};

use super::{
    Broker, End, Request,
    admission::{Admitted, look_up},
    reply::Reply,
    route::{Routed, Way},
};
use crate::{
    budget::{Held, Order, Verdict, decide::Ask, reserve::Reserve},
    domain::{
        fault::Fault,
        ids::CallId,
        limit::{Limit, LimitKey, Owner},
        message::ToolChoice,
        outcome::{Cut, LimitStatus},
    },
    envelope::{Standing, seconds},
};

/// How long a hold outlives its call's deadline before the reaper takes it: time
/// for a settlement that has to be tried again.
const GRACE: Duration = Duration::from_mins(1);

/// How often the limits are looked up again because a window ended meanwhile.
const WINDOWS_MAX: usize = 3;

/// A call with a hold: it may be made.
pub(super) struct HeldCall {
    pub(super) request: Request,
    pub(super) standing: Standing,
    pub(super) call: CallId,
    pub(super) way: Way,
    pub(super) held: Held,
    pub(super) deadline: Deadline,
}

/// When a call must end, and for whose sake.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    /// The envelope's seconds are what ends it.
    pub(super) is_envelopes: bool,
}

pub(super) async fn take(broker: &Broker, routed: Routed) -> Result<HeldCall, End> {
    let Routed { admitted: Admitted { request, mut standing }, ways } = routed;
    let call = request.call;
    for _ in 0..WINDOWS_MAX {
        let Some(deadline) = deadline(broker, &request, &standing) else {
            return Err(out_of_time(&request, &standing));
        };
        let order = order(broker, call, (&request, &standing), &ways, deadline);
        match broker.engine.hold(order).await.map_err(Fault::from)? {
            Verdict::Held(held) => {
                let way = ways.get(held.offer).cloned().ok_or(Fault::Internal)?;
                return Ok(HeldCall { request, standing, call, way, held: *held, deadline });
            }
            Verdict::Short(limit) => return Err(exhausted(&request, &standing, limit, None)),
            Verdict::Closed(key) => {
                standing = look_up(broker, &request).await?;
                if ended(&standing, key) {
                    return Err(out_of_time(&request, &standing));
                }
            }
        }
    }
    Err(Fault::Shed { retry_after: Duration::from_millis(200) }.into())
}

fn order(
    broker: &Broker,
    call: CallId,
    (request, standing): (&Request, &Standing),
    ways: &[Way],
    deadline: Deadline,
) -> Order {
    let time = deadline.at.saturating_duration_since(broker.clock.monotonic());
    Order {
        id: call.hold(1),
        call,
        attempt: 1,
        parties: standing.parties,
        ask: Ask {
            calls: 1,
            offers: ways.iter().map(|it| it.offer.clone()).collect(),
            limits: standing.limits.iter().map(|it| it.key).collect(),
            reserve: reserve(request, standing),
            kept: standing.kept(),
        },
        ttl: time.saturating_add(GRACE),
        by_host: false,
    }
}

/// What the envelope keeps back so that a sub-agent can conclude.
fn reserve(request: &Request, standing: &Standing) -> Option<Reserve> {
    let envelope = &standing.envelope;
    let tool_required = request.sampling.params.tool_choice == Some(ToolChoice::Required);
    let reserve = Reserve::of(envelope.life.id, &envelope.allowance.landing?);
    Some(Reserve { tool_required, ..reserve })
}

/// The earliest of what ends a call; none when that is over already.
fn deadline(broker: &Broker, request: &Request, standing: &Standing) -> Option<Deadline> {
    let now = broker.clock.monotonic();
    let life = &standing.envelope.life;
    let envelope = Duration::try_from(life.closes_at.duration_since(standing.now)).ok()?;
    let envelope = now.checked_add(envelope).filter(|it| *it > now)?;
    let call = now.checked_add(standing.grant.call_time)?;
    let others = request.deadline.map_or(call, |it| it.min(call));
    Some(Deadline { at: envelope.min(others), is_envelopes: envelope <= others })
}

/// Whether the limit that was closed is the envelope's own, for good.
fn ended(standing: &Standing, key: LimitKey) -> bool {
    let own = |it: &&Limit| it.key == key && matches!(it.owner, Owner::Envelope(_));
    standing.limits.iter().find(own).is_some_and(|it| !it.is_open(standing.now))
}

fn out_of_time(request: &Request, standing: &Standing) -> End {
    exhausted(request, standing, seconds(&standing.envelope, standing.now), Some(Cut::Deadline))
}

fn exhausted(request: &Request, standing: &Standing, limit: LimitStatus, cut: Option<Cut>) -> End {
    End::Reply(Box::new(Reply::exhausted(request, standing, limit, cut)))
}
