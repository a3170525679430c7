//! The charge rule: never more than granted, and nothing lost.

use super::limit::Limit;

/// A true cost, parted into what the user is charged and what is overrun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    /// Charged, the same at every limit.
    pub charge: i64,
    /// Booked to the tenant's overrun account.
    pub overrun: i64,
}

/// Parts `truth` for a call that holds `hold` and has been charged `before`.
///
/// First the hold is charged; what goes beyond raises the charge by at most the
/// least room of the enforcing limits, other calls' holds left untouched; the
/// rest is overrun. When the truth of a booked call falls, its overrun falls first.
///
/// `limits` are those of one kind, as they stand with the call's hold and earlier
/// charge still in them. All numbers are non-negative.
pub fn split<'a>(
    truth: i64,
    hold: i64,
    before: Split,
    limits: impl Iterator<Item = &'a Limit>,
) -> Split {
    let secure = truth.min(hold.max(before.charge));
    let kept = (truth - secure).min(before.overrun);
    let beyond = truth - secure - kept;
    let room = limits
        .filter(|it| it.enforcing)
        .map(|it| room_beside(it, hold, before.charge).saturating_sub(secure).max(0))
        .min()
        .unwrap_or(i64::MAX);
    let raise = beyond.min(room);
    Split { charge: secure + raise, overrun: kept + beyond - raise }
}

/// What a limit leaves to this call when its own hold and charge are taken out.
/// Its own overrun stays in: what was overrun is not charged later.
fn room_beside(limit: &Limit, hold: i64, charge: i64) -> i64 {
    let others = i128::from(limit.settled) + i128::from(limit.overrun) + i128::from(limit.held)
        - i128::from(hold)
        - i128::from(charge);
    let room = i128::from(limit.amount) - others;
    i64::try_from(room.max(0)).unwrap_or(i64::MAX)
}
