//! A tenant that has been used: settled, voided, expired and late calls, and one
//! under way.

use std::time::Duration;

use bursar::{
    budget::{
        Order, Verdict,
        decide::Ask,
        late,
        offer::{Offer, Size},
        reaper, windows,
    },
    domain::{
        entry::{Certainty, EntryKind, Truth},
        envelope::{Allowance, Lifetime},
        fx::FxQuote,
        hold::{Hold, Parties, Terms},
        ids::{EnvelopeId, HostId, LimitId, ServerId, TenantId, UserId},
        limit::{Limit, LimitKind},
        money::Amount,
        usage::Usage,
    },
};
use jiff::{SignedDuration, Timestamp};
use sqlx::{Executor, PgConnection};
use uuid::Uuid;

use crate::world::World;

const FX: u64 = 1_100_000_000;

pub(crate) struct Books {
    pub(crate) parties: Parties,
    pub(crate) limits: Vec<Limit>,
    pub(crate) settled: Hold,
    pub(crate) voided: Hold,
    pub(crate) expired: Hold,
    pub(crate) open: Hold,
}

impl Books {
    /// Uses an envelope of the demo's tenant.
    pub(crate) async fn of_demo(world: &World) -> Self {
        let demo = world.demo().await;
        let mut sql = world.superuser().await;
        let parties = open_envelope(world, &mut sql, demo.tenant).await;
        let limits = open_limits(world, &mut sql, &parties).await;
        let fx = quote(&mut sql, demo.tenant).await;
        let hold = |ttl| hold(world, parties, &limits, fx, ttl);
        let minute = Duration::from_mins(1);

        let settled = hold(minute).await;
        let cost = fx.cost(1_234_567_890).unwrap();
        let truth = Truth {
            usage: Usage { input: 40, output: 60, ..Usage::default() },
            tokens: 100,
            cost,
            pico_usd: 1_234_567_890,
            certainty: Certainty::Exact,
            cut: None,
        };
        end(world, &settled, EntryKind::Settle, truth).await;
        let voided = hold(minute).await;
        end(world, &voided, EntryKind::Void, Truth::nothing(None)).await;
        let expired = hold(Duration::ZERO).await;
        assert_eq!(reaper::sweep(&world.services.store, &world.services.engine).await.unwrap(), 1);
        let services = &world.services;
        let late = (demo.tenant, expired.id);
        late::settle(&services.store, &services.clock, late, &truth).await.unwrap();
        let open = hold(minute).await;
        Self { parties, limits, settled, voided, expired, open }
    }

    pub(crate) fn limit(&self, kind: LimitKind) -> LimitId {
        self.limits.iter().find(|it| it.kind == kind).unwrap().key.id
    }
}

async fn end(world: &World, hold: &Hold, kind: EntryKind, truth: Truth) {
    world.services.engine.end(hold.clone(), kind, truth, None).await.unwrap();
}

async fn hold(
    world: &World,
    parties: Parties,
    limits: &[Limit],
    fx: FxQuote,
    ttl: Duration,
) -> Hold {
    let clock = &world.services.clock;
    let terms = Terms { model: None, backend: None, price_version: None, prices: None, fx };
    let size = Size::Fixed { money: Amount::from_nanos(5_000_000), tokens: 500 };
    let order = Order {
        id: clock.id(),
        call: clock.id(),
        attempt: 1,
        parties,
        ask: Ask {
            calls: 1,
            offers: vec![Offer { terms, route: None, size }],
            limits: limits.iter().map(|it| it.key).collect(),
            reserve: None,
            kept: Vec::new(),
            not_after: None,
        },
        ttl,
        by_host: false,
    };
    let Verdict::Held(held) = world.services.engine.hold(order).await.unwrap() else {
        panic!("there was room")
    };
    held.hold
}

async fn one(sql: &mut PgConnection, query: &'static str, tenant: TenantId) -> Uuid {
    sqlx::query_scalar(query).bind(tenant.uuid()).fetch_one(sql).await.unwrap()
}

async fn quote(sql: &mut PgConnection, tenant: TenantId) -> FxQuote {
    let rate = one(sql, "select fx_rate_id from fx_rates where tenant_id = $1", tenant).await;
    FxQuote { rate: rate.into(), usd_nanos_per_unit: FX, buffer_basis_points: 200 }
}

async fn open_envelope(world: &World, sql: &mut PgConnection, tenant: TenantId) -> Parties {
    let envelope: EnvelopeId = world.services.clock.id();
    let parties = Parties {
        tenant,
        host: HostId::from(
            one(sql, "select host_id from hosts where tenant_id = $1", tenant).await,
        ),
        user: UserId::from(
            one(sql, "select user_id from users where tenant_id = $1", tenant).await,
        ),
        server: ServerId::from(
            one(sql, "select server_id from servers where tenant_id = $1", tenant).await,
        ),
        envelope,
        root: None,
    };
    let insert = sqlx::query(
        "insert into envelopes (tenant_id, envelope_id, host_id, user_id, server_id, grant_id,
            calls, seconds, money, tokens, opened_at, closes_at)
         select $1, $2, $3, $4, $5, grant_id, 20, 3600, 500000000, 100000, now(), now() + interval '1 hour'
         from grants where tenant_id = $1",
    );
    let insert = insert.bind(tenant.uuid()).bind(envelope.uuid()).bind(parties.host.uuid());
    sql.execute(insert.bind(parties.user.uuid()).bind(parties.server.uuid())).await.unwrap();
    parties
}

/// Calls, money and tokens, as they are made when an envelope is opened.
async fn open_limits(world: &World, sql: &mut PgConnection, parties: &Parties) -> Vec<Limit> {
    let now = Timestamp::now();
    let life = Lifetime {
        id: parties.envelope,
        opened_at: now - SignedDuration::from_mins(1),
        closes_at: now + SignedDuration::from_hours(1),
        closed_at: None,
    };
    let allowance = Allowance {
        calls: 20,
        seconds: 3_600,
        money: Amount::from_nanos(500_000_000),
        tokens: Some(100_000),
        concurrent_calls: None,
        landing: None,
    };
    let limits = windows::of_envelope(parties.tenant, &life, &allowance, &world.services.clock);
    for it in &limits {
        let kind = match it.kind {
            LimitKind::Calls => "calls",
            LimitKind::Money => "money",
            LimitKind::Tokens => "tokens",
            LimitKind::ConcurrentCalls => "concurrent_calls",
        };
        let insert = sqlx::query(
            "insert into limits (tenant_id, limit_id, width, envelope_id, kind, amount, enforcing, opens_at,
                closes_at)
             select $1, $2, 0, $3, $4, $5, true, opened_at - interval '1 minute', closes_at
             from envelopes where envelope_id = $3",
        );
        let insert = insert.bind(parties.tenant.uuid()).bind(it.key.id.uuid());
        let insert = insert.bind(parties.envelope.uuid()).bind(kind).bind(it.amount);
        sql.execute(insert).await.unwrap();
    }
    limits
}
