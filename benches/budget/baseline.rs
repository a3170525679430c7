//! One statement and one commit for each hold, and one for each settlement.

use std::sync::Arc;

use bursar::{
    clock::Clock,
    domain::ids::{CallId, HoldId, TenantId},
};
use sqlx::{ConnectOptions, PgConnection, postgres::PgConnectOptions};
use tokio::sync::{Mutex, mpsc};

use crate::{
    Pace,
    cases::Case,
    load::{self, Sample},
    setup::{COST, HELD, Setup, Subject, TOKENS, terms},
};

/// A connection, and the tenant that it sees.
struct Seat {
    connection: PgConnection,
    tenant: Option<TenantId>,
}

/// Connections that callers take turns with, first come first served.
struct Seats {
    free: Mutex<mpsc::Receiver<Seat>>,
    back: mpsc::Sender<Seat>,
}

impl Seats {
    async fn open(setup: &Setup, count: usize) -> Self {
        let (back, free) = mpsc::channel(count);
        // The same role and the same care for plans as a lane's connection has.
        let options: PgConnectOptions = setup.url().parse().unwrap();
        let options = options.disable_statement_logging().options([
            ("role", "bursar_app"),
            ("plan_cache_mode", "force_generic_plan"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
            ("enable_seqscan", "off"),
            ("jit", "off"),
        ]);
        for _ in 0..count {
            let connection = options.connect().await.unwrap();
            back.try_send(Seat { connection, tenant: None }).ok().unwrap();
        }
        Self { free: Mutex::new(free), back }
    }

    async fn take(&self, tenant: TenantId) -> Seat {
        let mut seat = self.free.lock().await.recv().await.unwrap();
        if seat.tenant != Some(tenant) {
            sqlx::query("select set_config('bursar.tenants', $1, false)")
                .bind(tenant.uuid().to_string())
                .execute(&mut seat.connection)
                .await
                .unwrap();
            seat.tenant = Some(tenant);
        }
        seat
    }

    fn give(&self, seat: Seat) {
        self.back.try_send(seat).ok().unwrap();
    }
}

pub(crate) async fn sample(
    setup: &Setup,
    subjects: &Arc<[Subject]>,
    (case, connections): (&Case, usize),
    pace: Pace,
) -> Sample {
    let seats = Arc::new(Seats::open(setup, connections).await);
    let subjects = Arc::clone(subjects);
    let clock = Clock::default();
    let caller = move |_: usize, random: u64| {
        let (seats, subjects, clock) = (Arc::clone(&seats), Arc::clone(&subjects), clock.clone());
        async move {
            let subject = &subjects[random as usize % subjects.len()];
            let mut seat = seats.take(subject.parties.tenant).await;
            let id = clock.id();
            hold(&mut seat.connection, subject, (id, clock.id())).await;
            seats.give(seat);
            let mut seat = seats.take(subject.parties.tenant).await;
            settle(&mut seat.connection, subject, id).await;
            seats.give(seat);
        }
    };
    load::run(setup, case.callers, pace, caller).await
}

async fn hold(connection: &mut PgConnection, subject: &Subject, (id, call): (HoldId, CallId)) {
    let limits: Vec<_> = subject.limits.iter().map(|it| it.id.uuid()).collect();
    let (it, terms) = (subject.parties, terms());
    sqlx::query(include_str!("hold.sql"))
        .bind(it.tenant.uuid())
        .bind(limits)
        .bind(id.uuid())
        .bind(call.uuid())
        .bind(it.host.uuid())
        .bind(it.user.uuid())
        .bind(it.server.uuid())
        .bind(it.envelope.uuid())
        .bind(terms.model.unwrap().uuid())
        .bind(terms.backend.unwrap().uuid())
        .bind(terms.price_version.unwrap().uuid())
        .bind(HELD)
        .bind(TOKENS)
        .bind(terms.fx.rate.uuid())
        .bind(terms.fx.usd_nanos_per_unit.cast_signed())
        .fetch_one(connection)
        .await
        .unwrap();
}

async fn settle(connection: &mut PgConnection, subject: &Subject, id: HoldId) {
    let limits: Vec<_> = subject.limits.iter().map(|it| it.id.uuid()).collect();
    sqlx::query(include_str!("settle.sql"))
        .bind(subject.parties.tenant.uuid())
        .bind(limits)
        .bind(id.uuid())
        .bind(HELD)
        .bind(TOKENS)
        .bind(COST)
        .bind(150_i64)
        .fetch_one(connection)
        .await
        .unwrap();
}
