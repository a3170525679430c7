//! Nothing reaches a backend without a durable hold on every limit that applies.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    Broker, End, Request,
    admission::Admitted,
    deadline::Deadline,
    extension,
    past::Past,
    reply::Reply,
    route::{Routed, Way},
};
use crate::{
    budget::{Held, Order, Slot, Verdict, decide::Ask, reserve::Reserve},
    domain::{
        fault::{Fault, chain},
        hold::Hold,
        limit::{Limit, LimitKey, Owner},
        message::ToolChoice,
        outcome::{Cut, LimitStatus, Refusal},
    },
    envelope::{Standing, seconds},
};

/// How long a hold outlives its call's deadline before the reaper takes it: time
/// for a settlement that has to be tried again.
const GRACE: Duration = Duration::from_mins(1);

/// How often the limits are looked up again because a window ended meanwhile, or because
/// nobody can be asked for more.
const LOOKS_MAX: usize = 4;

/// How long a later attempt waits for its hold: between two attempts the tables say
/// nothing of a call, and must not do so for as long as a dead one is given.
const AGAIN: Duration = Duration::from_secs(20);

/// How long after the booking of one attempt the next one may be held for, by Postgres'
/// time: half of what makes a silent call a dead one. A process that was stopped in between
/// finds it too late, for another may have made the call by then.
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// A call with a hold: it may be made.
pub(super) struct HeldCall {
    pub(super) attempt: Attempt,
    pub(super) hold: Hold,
    /// The place of its settlement in the queue.
    pub(super) slot: Slot,
    /// The hold's limits, just after.
    pub(super) limits: Vec<Limit>,
}

/// One attempt of a call, whatever becomes of its hold.
pub(super) struct Attempt {
    pub(super) admitted: Admitted,
    /// The way it takes.
    pub(super) way: Way,
    /// What may be tried after it, most wanted first.
    pub(super) others: Vec<Way>,
    /// The attempts before it.
    pub(super) past: Past,
    pub(super) deadline: Deadline,
    /// Tokens that may be generated.
    pub(super) answer_tokens: u64,
    pub(super) clamped_by: Option<LimitStatus>,
    pub(super) is_landing: bool,
}

/// Takes a hold. Where a later attempt gets none, the call ends with the error of what
/// went before, which says what that has cost.
pub(super) async fn take(broker: &Broker, mut routed: Routed) -> Result<HeldCall, End> {
    let patience = if routed.past.attempt() == 1 { Duration::MAX } else { AGAIN };
    let taken = tokio::time::timeout(patience, try_take(broker, &mut routed)).await;
    let end = match taken {
        Ok(Ok((held, deadline))) => return held_call(routed, held, deadline),
        Ok(Err(it)) => it,
        Err(_) => Fault::Shed { retry_after: Duration::from_secs(1) }.into(),
    };
    let Some(fault) = routed.past.fault(&routed.admitted.request) else { return Err(end) };
    if let End::Fault(it) = end {
        let call = routed.admitted.request.call;
        tracing::warn!(%call, error = chain(&it), "a call could not be tried again");
    }
    Err(fault.into())
}

fn held_call(routed: Routed, held: Held, deadline: Deadline) -> Result<HeldCall, End> {
    let Routed { admitted, mut ways, resting, past } = routed;
    let Held { hold, offer, answer_tokens, clamped_by, is_landing, limits, slot } = held;
    // What did not fit before this one is not tried after it.
    let mut others = ways.split_off(offer.saturating_add(1).min(ways.len()));
    others.extend(resting);
    let way = ways.pop().ok_or(Fault::Internal)?;
    let attempt =
        Attempt { admitted, way, others, past, deadline, answer_tokens, clamped_by, is_landing };
    Ok(HeldCall { attempt, hold, slot, limits })
}

async fn try_take(broker: &Broker, routed: &mut Routed) -> Result<(Held, Deadline), End> {
    for _ in 0..LOOKS_MAX {
        let now = broker.clock.monotonic();
        let Some(deadline) = Deadline::of(&routed.admitted, now) else {
            out_of_time(broker, routed).await?;
            continue;
        };
        let ttl = deadline.at.saturating_duration_since(now).saturating_add(GRACE);
        let mut order = order(routed, ttl);
        order.ask.not_after = not_after(routed, deadline);
        match broker.engine.hold(order).await.map_err(Fault::from)? {
            Verdict::Held(held) => return Ok((*held, deadline)),
            Verdict::Late => return Err(late(&routed.admitted)),
            Verdict::Stopped => return Err(Refusal::Stopped.into()),
            Verdict::Short(limit) => ends_at(broker, routed, (limit, None)).await?,
            Verdict::Closed(key) => {
                routed.admitted.look_again(broker).await?;
                if ended(&routed.admitted.standing, key) {
                    out_of_time(broker, routed).await?;
                }
            }
        }
    }
    Err(Fault::Shed { retry_after: Duration::from_millis(200) }.into())
}

pub(super) fn order(routed: &Routed, ttl: Duration) -> Order {
    let Admitted { request, standing, .. } = &routed.admitted;
    let attempt = routed.past.attempt();
    Order {
        id: request.call.hold(attempt),
        call: request.call,
        attempt: i16::from(attempt),
        parties: standing.parties,
        ask: Ask {
            calls: i64::from(!routed.past.is_counted()),
            offers: routed.ways.iter().map(|it| it.offer.clone()).collect(),
            limits: standing.limits.iter().map(|it| it.key).collect(),
            reserve: reserve(request, standing).map(|it| {
                let is_withheld = extension::is_first(routed) && routed.admitted.may_ask;
                Reserve { is_withheld, ..it }
            }),
            kept: standing.kept(),
            not_after: None,
        },
        ttl,
        by_host: false,
    }
}

/// The last instant, by Postgres' time, at which the attempt may be held for. Its request
/// is this call's until the deadline and a while after, and between two attempts for less.
fn not_after(routed: &Routed, deadline: Deadline) -> Option<Timestamp> {
    let Admitted { standing, seen_at, .. } = &routed.admitted;
    let left = deadline.at.saturating_duration_since(*seen_at);
    let end = standing.now.checked_add(left).ok()?;
    let again = routed.past.booked_at().and_then(|it| it.checked_add(AGAIN_MAX).ok());
    Some(again.map_or(end, |it| it.min(end)))
}

/// What the envelope keeps back so that a sub-agent can conclude.
fn reserve(request: &Request, standing: &Standing) -> Option<Reserve> {
    let tool_required = request.sampling.params.tool_choice == Some(ToolChoice::Required);
    Some(Reserve { tool_required, ..standing.reserve()? })
}

/// Whether the limit that was closed is the envelope's own, for good.
fn ended(standing: &Standing, key: LimitKey) -> bool {
    let own = |it: &&Limit| it.key == key && matches!(it.owner, Owner::Envelope(_));
    standing.limits.iter().find(own).is_some_and(|it| !it.is_open(standing.now))
}

async fn out_of_time(broker: &Broker, routed: &mut Routed) -> Result<(), End> {
    let Standing { envelope, now, .. } = &routed.admitted.standing;
    let limit = seconds(envelope, *now);
    ends_at(broker, routed, (limit, Some(Cut::Deadline))).await
}

/// The end at a limit: a question where somebody may be asked for more, else EXHAUSTED.
/// Where nobody can be asked after all the call goes on, and may still be the landing.
async fn ends_at(
    broker: &Broker,
    routed: &mut Routed,
    (limit, cut): (LimitStatus, Option<Cut>),
) -> Result<(), End> {
    if extension::ask(broker, routed, &limit).await? {
        return Ok(());
    }
    Err(exhausted(&routed.admitted, limit, cut))
}

/// It came after its own last instant: the request is this call's no longer.
fn late(admitted: &Admitted) -> End {
    let Standing { envelope, now, .. } = &admitted.standing;
    exhausted(admitted, seconds(envelope, *now), Some(Cut::Deadline))
}

fn exhausted(admitted: &Admitted, limit: LimitStatus, cut: Option<Cut>) -> End {
    let Admitted { request, standing, .. } = admitted;
    End::Reply(Box::new(Reply::exhausted(request, standing, limit, cut)))
}
