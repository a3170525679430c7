//! The rule of the budget engine, pure: limits and commands in, verdicts and moves
//! out. Both paths of a lane, and nothing else, ask it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{
    offer::{Fit, Offer, Room},
    reserve::{Last, Reserve},
};
use crate::domain::{
    charge::{Split, split},
    entry::{Booking, EntryKind, Truth},
    hold::{Hold, Need},
    limit::{Limit, LimitKey, LimitKind},
    outcome::LimitStatus,
};

/// The limits that a batch may touch, as far as they are known.
pub type Book = BTreeMap<LimitKey, Limit>;

/// What a hold asks for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// One for a call's first attempt, none for the next.
    pub calls: i64,
    /// What may be held, most wanted first; at least one.
    pub offers: Vec<Offer>,
    /// Every limit that applies.
    pub limits: Vec<LimitKey>,
    /// What the envelope keeps for its last call; none: nothing.
    pub reserve: Option<Reserve>,
    /// What the envelopes keep that it stands in: never this call's to use.
    pub kept: Vec<Reserve>,
    /// Postgres' time after which it is not taken any more: by then somebody else may do
    /// what it is for. None: it may always be.
    pub not_after: Option<Timestamp>,
}

/// What was granted of an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Which of the offers.
    pub offer: usize,
    /// What is held.
    pub need: Need,
    /// Tokens that may be generated.
    pub answer_tokens: u64,
    /// The limits that count this hold, in the order of locking.
    pub limits: Vec<LimitKey>,
    /// The limit for whose sake less was granted than was asked.
    pub clamped_by: Option<LimitStatus>,
    /// Whether it is the envelope's last call, made out of its reserve.
    pub is_landing: bool,
}

/// Why nothing was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// A limit has no room.
    Short(LimitStatus),
    /// A limit's window is over, or it was closed.
    Closed(LimitKey),
    /// Its time is over.
    Late,
    /// A limit is not known here.
    Unknown,
}

/// Takes what an ask needs out of the book, all or nothing: the most wanted offer that
/// fits, whole or clamped, within what the envelope does not keep for its landing; else
/// the landing.
///
/// Without `now` the windows, and whether it is late, are left to whoever writes the
/// result.
pub fn hold(book: &mut Book, ask: &Ask, now: Option<Timestamp>) -> Result<Grant, Denial> {
    let limits = ask.limits.iter().map(|key| book.get(key).ok_or(Denial::Unknown));
    let limits = limits.collect::<Result<Vec<_>, _>>()?;
    if let Some(closed) = now.and_then(|now| limits.iter().find(|it| !it.is_open(now))) {
        return Err(Denial::Closed(closed.key));
    }
    if now.zip(ask.not_after).is_some_and(|(now, last)| now > last) {
        return Err(Denial::Late);
    }
    if let Some(short) = short_of_calls(&limits, ask) {
        return Err(Denial::Short(short));
    }
    let ordinary = match &ask.reserve {
        Some(reserve) if !reserve.leaves_a_call(&limits, ask.calls) => None,
        reserve => first_that_fits(&limits, ask, reserve.as_ref()),
    };
    let found = ordinary.map(|it| (it, false)).or_else(|| {
        let last = ask.reserve.as_ref()?.last(&limits, ask.calls)?;
        Some((first_that_fits(&limits, ask, None)?, last == Last::Landing))
    });
    let Some(((offer, fit, clamped_by), is_landing)) = found else {
        return Err(short_of(&limits, ask));
    };
    let need = Need { calls: ask.calls, money: fit.money, tokens: fit.tokens };
    let mut counted = Vec::with_capacity(ask.limits.len());
    for key in &ask.limits {
        // A call that is thought to be free still names the limits of money: if it
        // was not, they say how much of it may be charged.
        let counts = |it: &&mut Limit| it.kind != LimitKind::Calls || need.calls > 0;
        if let Some(limit) = book.get_mut(key).filter(counts) {
            limit.held = limit.held.saturating_add(need.of(limit.kind));
            counted.push(*key);
        }
    }
    counted.sort_unstable();
    let answer_tokens = fit.answer_tokens;
    Ok(Grant { offer, need, answer_tokens, limits: counted, clamped_by, is_landing })
}

/// The first offer that fits, and the limit for whose sake it was clamped.
fn first_that_fits(
    limits: &[&Limit],
    ask: &Ask,
    reserve: Option<&Reserve>,
) -> Option<(usize, Fit, Option<LimitStatus>)> {
    ask.offers.iter().enumerate().find_map(|(index, offer)| {
        let room = |it: &Limit| room_for(it, offer, ask.kept.iter().chain(reserve));
        let money = tightest(limits, LimitKind::Money, room);
        let tokens = tightest(limits, LimitKind::Tokens, room);
        let fit = offer.fit(Room { money: money.map(room), tokens: tokens.map(room) })?;
        let clamped_by = match fit.clamped_by {
            None => None,
            Some(LimitKind::Tokens) => tokens,
            Some(LimitKind::Money | LimitKind::Calls | LimitKind::ConcurrentCalls) => money,
        };
        Some((index, fit, clamped_by.map(LimitStatus::from)))
    })
}

/// What a limit leaves to an offer beside what is kept of it for last calls.
fn room_for<'a>(limit: &Limit, offer: &Offer, kept: impl Iterator<Item = &'a Reserve>) -> i64 {
    let kept = kept.filter(|it| limit.kind == LimitKind::Money && it.is_of(limit));
    let kept = kept.fold(0_i64, |sum, it| sum.saturating_add(it.kept_for(offer)));
    limit.room().saturating_sub(kept)
}

/// The limit that had no room for even the least useful part of the last offer.
fn short_of(limits: &[&Limit], ask: &Ask) -> Denial {
    let last = ask.reserve.as_ref().filter(|it| !it.leaves_a_call(limits, ask.calls));
    if let Some(calls) = last.and_then(|it| it.calls(limits)) {
        return Denial::Short(LimitStatus::from(calls));
    }
    let Some(offer) = ask.offers.last() else { return Denial::Unknown };
    let withheld = ask.reserve.iter().filter(|it| it.is_withheld);
    let room = |it: &Limit| room_for(it, offer, ask.kept.iter().chain(withheld.clone()));
    let money = tightest(limits, LimitKind::Money, room);
    let tokens = tightest(limits, LimitKind::Tokens, room);
    let left = Room { money: money.map(room), tokens: tokens.map(room) };
    let short = match offer.short_of(left) {
        Some(LimitKind::Tokens) => tokens,
        Some(LimitKind::Money | LimitKind::Calls | LimitKind::ConcurrentCalls) => money,
        None => None,
    };
    short.map_or(Denial::Unknown, |it| Denial::Short(LimitStatus::from(it)))
}

/// Ends a hold: gives back what it reserved and books the truth by the charge rule.
/// `None` when one of its limits is not known here.
pub fn resolve(book: &mut Book, hold: &Hold, kind: EntryKind, truth: &Truth) -> Option<Booking> {
    if hold.limits.iter().any(|it| !book.contains_key(it)) {
        return None;
    }
    let part = |truth: i64, kind: LimitKind| {
        let limits = hold.limits.iter().filter_map(|it| book.get(it));
        let limits = limits.filter(move |it| it.kind == kind);
        split(truth, hold.need.of(kind), Split::default(), limits)
    };
    let booking = if kind == EntryKind::Void {
        Booking::default()
    } else {
        Booking {
            calls: hold.need.calls,
            money: part(truth.cost.total.nanos(), LimitKind::Money),
            tokens: part(truth.tokens, LimitKind::Tokens),
        }
    };
    for key in &hold.limits {
        if let Some(limit) = book.get_mut(key) {
            limit.held = limit.held.saturating_sub(hold.need.of(limit.kind));
            book_on(limit, &booking);
        }
    }
    Some(booking)
}

/// Books a later truth of a call that was already booked as `before`: returns what
/// has to be added to it. `None` when one of the limits is not known here.
pub fn correct(
    book: &mut Book,
    limits: &[LimitKey],
    before: &Booking,
    truth: &Truth,
) -> Option<Booking> {
    if limits.iter().any(|it| !book.contains_key(it)) {
        return None;
    }
    let part = |truth: i64, before: Split, kind: LimitKind| {
        let limits = limits.iter().filter_map(|it| book.get(it)).filter(move |it| it.kind == kind);
        let after = split(truth, 0, before, limits);
        Split { charge: after.charge - before.charge, overrun: after.overrun - before.overrun }
    };
    let added = Booking {
        calls: 0,
        money: part(truth.cost.total.nanos(), before.money, LimitKind::Money),
        tokens: part(truth.tokens, before.tokens, LimitKind::Tokens),
    };
    for key in limits {
        if let Some(limit) = book.get_mut(key) {
            book_on(limit, &added);
        }
    }
    Some(added)
}

fn book_on(limit: &mut Limit, booking: &Booking) {
    let (charge, overrun) = match limit.kind {
        LimitKind::Calls => (booking.calls, 0),
        LimitKind::ConcurrentCalls => (0, 0),
        LimitKind::Money => (booking.money.charge, booking.money.overrun),
        LimitKind::Tokens => (booking.tokens.charge, booking.tokens.overrun),
    };
    limit.settled = limit.settled.saturating_add(charge);
    limit.overrun = limit.overrun.saturating_add(overrun);
}

/// The limit of calls, or of calls at once, that has no room for another one.
fn short_of_calls(limits: &[&Limit], ask: &Ask) -> Option<LimitStatus> {
    let kept = |it: &Limit| i64::from(ask.kept.iter().any(|kept| kept.is_of(it)));
    let room = |it: &Limit| match it.kind {
        LimitKind::Calls => it.room() - kept(it),
        LimitKind::ConcurrentCalls | LimitKind::Money | LimitKind::Tokens => it.room(),
    };
    let short = |kind, need| tightest(limits, kind, room).filter(|it| need > 0 && room(it) < need);
    let calls = short(LimitKind::Calls, ask.calls);
    calls.or_else(|| short(LimitKind::ConcurrentCalls, 1)).map(LimitStatus::from)
}

/// The enforcing limit of a kind with the least room; of equals the narrowest.
fn tightest<'a>(
    limits: &[&'a Limit],
    kind: LimitKind,
    room: impl Fn(&Limit) -> i64,
) -> Option<&'a Limit> {
    let enforcing = limits.iter().filter(|it| it.enforcing && it.kind == kind);
    enforcing.copied().min_by_key(|it| (room(it), it.key))
}
