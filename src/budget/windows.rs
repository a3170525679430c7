//! Limits: made for envelopes when they open, and for budgets when a window is
//! first needed. No job ever resets one.

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Builder;

use crate::{
    clock::Clock,
    domain::{
        budget::Budget,
        envelope::{Allowance, Lifetime},
        ids::{LimitId, ServerId, TenantId},
        limit::{Limit, LimitKey, LimitKind, Owner, Width},
        period::{NoWindow, Period, Window, time_zone},
    },
};

/// The limits of a fresh envelope.
pub fn of_envelope(
    tenant: TenantId,
    life: &Lifetime,
    allowance: &Allowance,
    clock: &Clock,
) -> Vec<Limit> {
    let amounts = [
        (LimitKind::Calls, Some(allowance.calls)),
        (LimitKind::Money, Some(allowance.money.nanos())),
        (LimitKind::Tokens, allowance.tokens),
        (LimitKind::ConcurrentCalls, allowance.concurrent_calls),
    ];
    let limit = |(kind, amount): (LimitKind, Option<i64>)| {
        Some(Limit {
            key: LimitKey { tenant, width: Width::Envelope, id: clock.id() },
            owner: Owner::Envelope(life.id),
            kind,
            amount: amount?,
            settled: 0,
            overrun: 0,
            held: 0,
            enforcing: true,
            opens_at: life.opened_at,
            closes_at: Some(life.closes_at),
            closed_at: None,
            revision: 0,
        })
    };
    amounts.into_iter().filter_map(limit).collect()
}

/// The limits of a budget in the window that holds `now`, unused. Where one server may
/// have only a part of it, that part of `server` is a limit beside each.
pub fn of_budget(
    tenant: TenantId,
    budget: &Budget,
    server: Option<ServerId>,
    now: Timestamp,
) -> Result<Vec<Limit>, NoWindow> {
    let zone = time_zone(&budget.time_zone)?;
    let mut limits = Vec::new();
    for (kind, amount) in budget.amounts() {
        let window = period(budget, kind).window(now, &zone)?;
        let place = (tenant, budget, kind);
        limits.push(limit(place, (Owner::Budget(budget.id), None), amount, window));
        let part = server.zip(budget.share_of(amount));
        limits.extend(part.map(|(server, amount)| {
            limit(place, (Owner::Share(budget.id), Some(server)), amount, window)
        }));
    }
    Ok(limits)
}

/// Calls at once do not start anew at midnight: those under way go on.
const fn period(budget: &Budget, kind: LimitKind) -> Period {
    match kind {
        LimitKind::Calls | LimitKind::Money | LimitKind::Tokens => budget.period,
        LimitKind::ConcurrentCalls => Period::Lifetime,
    }
}

fn limit(
    (tenant, budget, kind): (TenantId, &Budget, LimitKind),
    (owner, of_server): (Owner, Option<ServerId>),
    amount: i64,
    window: Window,
) -> Limit {
    let id = window_id(budget, kind, of_server, window.opens_at);
    let width = if of_server.is_some() { Width::Server } else { budget.width() };
    Limit {
        key: LimitKey { tenant, width, id },
        owner,
        kind,
        amount,
        settled: 0,
        overrun: 0,
        held: 0,
        enforcing: budget.enforcing,
        opens_at: window.opens_at,
        closes_at: window.closes_at,
        closed_at: None,
        revision: 0,
    }
}

/// The id of a window's limit follows from what it is, so that replicas that make
/// it at once make the same row.
fn window_id(
    budget: &Budget,
    kind: LimitKind,
    of_server: Option<ServerId>,
    opens_at: Timestamp,
) -> LimitId {
    let kind: u8 = match kind {
        LimitKind::Calls => 0,
        LimitKind::Money => 1,
        LimitKind::Tokens => 2,
        LimitKind::ConcurrentCalls => 3,
    };
    let mut hash = Sha256::new();
    hash.update(budget.id.uuid().as_bytes());
    hash.update([kind]);
    hash.update(opens_at.as_microsecond().to_be_bytes());
    if let Some(server) = of_server {
        hash.update(server.uuid().as_bytes());
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(bytes).into_uuid().into()
}
