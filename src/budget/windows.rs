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
        ids::{LimitId, TenantId},
        limit::{Limit, LimitKey, LimitKind, Owner, Width},
        period::{NoWindow, time_zone},
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

/// The limits of a budget in the window that holds `now`, unused.
pub fn of_budget(
    tenant: TenantId,
    budget: &Budget,
    now: Timestamp,
) -> Result<Vec<Limit>, NoWindow> {
    let window = budget.period.window(now, &time_zone(&budget.time_zone)?)?;
    let limit = |(kind, amount)| Limit {
        key: LimitKey {
            tenant,
            width: budget.width(),
            id: window_id(budget, kind, window.opens_at),
        },
        owner: Owner::Budget(budget.id),
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
    };
    Ok(budget.amounts().map(limit).collect())
}

/// The id of a window's limit follows from what it is, so that replicas that make
/// it at once make the same row.
fn window_id(budget: &Budget, kind: LimitKind, opens_at: Timestamp) -> LimitId {
    let kind: u8 = match kind {
        LimitKind::Calls => 0,
        LimitKind::Money => 1,
        LimitKind::Tokens => 2,
    };
    let mut hash = Sha256::new();
    hash.update(budget.id.uuid().as_bytes());
    hash.update([kind]);
    hash.update(opens_at.as_microsecond().to_be_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(bytes).into_uuid().into()
}
