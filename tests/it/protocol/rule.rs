//! The program's own rule, asked about the model's small numbers.

use bursar::{
    budget::{
        decide::{self, Ask, Book, Denial},
        offer::{Offer, Size},
    },
    domain::{
        charge::Split,
        entry::{Booking, EntryKind},
        hold::{Hold, Need},
        limit::{Limit, LimitKey, LimitKind, Owner, Width},
        money::Amount,
    },
};
use jiff::Timestamp;
use uuid::Uuid;

use super::{
    model::Scenario,
    state::{Decided, End, Kind, LIMITS, Parts, Rows},
};
use crate::engine::world::{terms, truth};

fn small(it: i64) -> i8 {
    i8::try_from(it).unwrap()
}

fn parts(it: Split) -> Parts {
    Parts { charge: small(it.charge), overrun: small(it.overrun) }
}

const fn uuid(it: u128) -> Uuid {
    Uuid::from_u128(it)
}

fn instant(it: u8) -> Timestamp {
    Timestamp::from_second(it.into()).unwrap()
}

fn key(limit: usize) -> LimitKey {
    let width = if limit == 0 { Width::Envelope } else { Width::Tenant };
    LimitKey { tenant: uuid(1).into(), width, id: uuid(2 + u128::from(limit > 0)).into() }
}

impl Scenario {
    fn book(&self, rows: Rows) -> Book {
        let limit = |n: usize| Limit {
            key: key(n),
            owner: Owner::Budget(uuid(9).into()),
            kind: LimitKind::Money,
            amount: self.amounts[n].into(),
            settled: rows[n].settled.into(),
            overrun: rows[n].overrun.into(),
            held: rows[n].held.into(),
            enforcing: true,
            opens_at: Timestamp::UNIX_EPOCH,
            closes_at: self.closes.filter(|_| n > 0).map(instant),
            closed_at: None,
            revision: rows[n].revision.into(),
        };
        (0..LIMITS).map(|n| (key(n), limit(n))).collect()
    }

    fn keys(&self, call: usize) -> Vec<LimitKey> {
        self.calls[call].on.iter().map(|it| key(*it)).collect()
    }

    /// Takes a hold out of the rows. Without `now` windows are left to the write.
    pub(super) fn hold(&self, rows: &mut Rows, call: usize, now: Option<u8>) -> Decided {
        let need = i64::from(self.calls[call].need);
        let size = Size::Fixed { money: Amount::from_nanos(need), tokens: 0 };
        let offers = vec![Offer { terms: terms(), route: None, size }];
        let ask = Ask {
            calls: 1,
            offers,
            limits: self.keys(call),
            reserve: None,
            kept: Vec::new(),
            not_after: None,
        };
        let mut book = self.book(*rows);
        match decide::hold(&mut book, &ask, now.map(instant)) {
            Ok(_) => {
                take_over(rows, &book);
                Decided::Take
            }
            Err(Denial::Short(_)) => Decided::Short,
            Err(Denial::Closed(_)) => Decided::Closed,
            Err(Denial::Late | Denial::Unknown) => panic!("all limits are known"),
        }
    }

    /// Ends a hold in the rows.
    pub(super) fn resolve(&self, rows: &mut Rows, end: &End) -> Parts {
        let hold = Hold {
            id: uuid(3).into(),
            call: uuid(4).into(),
            attempt: 1,
            parties: bursar::domain::hold::Parties {
                tenant: uuid(1).into(),
                host: uuid(5).into(),
                user: uuid(6).into(),
                server: uuid(7).into(),
                envelope: uuid(8).into(),
                root: None,
            },
            terms: terms(),
            need: Need {
                calls: 1,
                money: Amount::from_nanos(self.calls[end.call].need.into()),
                ..Need::default()
            },
            route: None,
            limits: self.keys(end.call),
            reserved_by_host: false,
            incurred_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH,
        };
        let kind = match end.kind {
            Kind::Settle => EntryKind::Settle,
            Kind::Void => EntryKind::Void,
            Kind::Expire => EntryKind::Expire,
            Kind::Late => EntryKind::LateSettle,
        };
        let mut book = self.book(*rows);
        let truth = truth(end.truth.into(), 0);
        let booking = decide::resolve(&mut book, &hold, kind, &truth).unwrap();
        take_over(rows, &book);
        parts(booking.money)
    }

    /// Books a later truth in the rows, and returns what it adds.
    pub(super) fn correct(&self, rows: &mut Rows, call: usize, before: Parts) -> Parts {
        let mut book = self.book(*rows);
        let money = Split { charge: before.charge.into(), overrun: before.overrun.into() };
        let before = Booking { money, ..Booking::default() };
        let truth = truth(self.calls[call].truth.into(), 0);
        let added = decide::correct(&mut book, &self.keys(call), &before, &truth).unwrap();
        take_over(rows, &book);
        parts(added.money)
    }
}

fn take_over(rows: &mut Rows, book: &Book) {
    for (n, row) in rows.iter_mut().enumerate() {
        let limit = &book[&key(n)];
        row.settled = small(limit.settled);
        row.overrun = small(limit.overrun);
        row.held = small(limit.held);
    }
}
