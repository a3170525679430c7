//! Truth that arrives after a hold was settled without it: booked as a new entry
//! that points back, by the same charge rule and on the same limits.

use super::decide::{self, Book};
use crate::{
    clock::Clock,
    domain::{
        charge::Split,
        entry::{Booking, Certainty, EntryKind, Resolution, Truth},
        fx::Cost,
        ids::{HoldId, TenantId},
        limit::{Limit, LimitKind},
        money::OutOfRange,
    },
    store::{
        self, Store,
        entries::{self, Booked},
        limits,
    },
};

/// What came of a late truth.
#[derive(Debug, Clone)]
pub enum Late {
    /// It was booked, or made no difference: all that the hold has been charged
    /// since, and its limits.
    Booked {
        /// The fold over the hold's entries.
        booking: Booking,
        /// The limits, just after.
        limits: Vec<Limit>,
    },
    /// The exact truth was booked before, or nothing better is known now: what stands,
    /// stands.
    Settled(Booking),
    /// There never was such a hold, or it is somebody else's.
    Unknown,
}

/// Books `truth` for a hold that was resolved before it was known. Only estimates give
/// way, and what is exact stands: a later word on that is a correction, by a person.
pub async fn settle(
    store: &Store,
    clock: &Clock,
    (tenant, hold): (TenantId, HoldId),
    truth: &Truth,
) -> Result<Late, store::Error> {
    let mut tx = store.call_tx(tenant).await?;
    let Some(resolved) = entries::resolution(&mut tx, tenant, hold).await? else {
        return Ok(Late::Unknown);
    };
    let locked = limits::lock(&mut tx, &resolved.limits).await?;
    let before = entries::booked(&mut tx, tenant, hold).await?;
    if !gives_way(resolved.kind, &before, truth) {
        return Ok(Late::Settled(before.booking));
    }
    let mut book: Book = locked.into_iter().map(|it| (it.key, it)).collect();
    let added = decide::correct(&mut book, &resolved.limits, &before.booking, truth);
    let added = added.ok_or(store::Error::Unreadable("entries.limit_ids"))?;
    let change = difference(truth, &before, added)
        .map_err(|_| store::Error::Unreadable("entries.amounts"))?;
    entries::add(&mut tx, (tenant, hold, clock.id()), &change).await?;
    for limit in book.values() {
        match limit.kind {
            LimitKind::Calls | LimitKind::ConcurrentCalls => {}
            LimitKind::Money => entries::move_limit(&mut tx, limit.key, added.money).await?,
            LimitKind::Tokens => entries::move_limit(&mut tx, limit.key, added.tokens).await?,
        }
    }
    store::commit(tx).await?;
    let booking = Booking {
        calls: before.booking.calls,
        money: plus(before.booking.money, added.money),
        tokens: plus(before.booking.tokens, added.tokens),
    };
    Ok(Late::Booked { booking, limits: book.into_values().collect() })
}

/// Whether what is booked gives way to a truth: to an exact one where nothing exact is
/// known yet; to our own estimate of an answer where nobody had an answer at all.
fn gives_way(kind: EntryKind, before: &Booked, truth: &Truth) -> bool {
    let is_known = before.is_exact || kind == EntryKind::Void;
    let is_better =
        truth.certainty == Certainty::Exact || (kind == EntryKind::Expire && before.entries == 1);
    !is_known && is_better
}

/// The entry that turns what was booked into the truth.
fn difference(truth: &Truth, before: &Booked, added: Booking) -> Result<Resolution, OutOfRange> {
    let cost = Cost {
        total: truth.cost.total.minus(before.cost.total)?,
        provider: truth.cost.provider.minus(before.cost.provider)?,
        buffer: truth.cost.buffer.minus(before.cost.buffer)?,
    };
    let pico_usd = truth.pico_usd - before.pico_usd;
    let truth = Truth { cost, pico_usd, ..*truth };
    Ok(Resolution { kind: EntryKind::LateSettle, truth, booking: added })
}

const fn plus(a: Split, b: Split) -> Split {
    Split { charge: a.charge + b.charge, overrun: a.overrun + b.overrun }
}
