//! A tenant with limits, engines that work for it, and the proof that nothing is lost.

use std::time::Duration;

use bursar::{
    budget::{
        Engine, Held, Lanes, Order, Verdict, command::Ended, decide::Ask, offer::Offer, offer::Size,
    },
    clock::Clock,
    domain::{
        entry::{Certainty, EntryKind, Truth},
        fx::FxQuote,
        hold::{Hold, Parties, Terms},
        ids::{BudgetId, EnvelopeId, LimitId, TenantId},
        limit::{LimitKey, LimitKind, Width},
        money::Amount,
        usage::Usage,
    },
    store::{Settings, Store},
};
use sqlx::{Connection, PgConnection, Row, postgres::PgRow};
use uuid::Uuid;

use crate::support::{self, TestDb};

/// One unit of the tenant's currency.
pub(crate) const UNIT: i64 = 1_000_000_000;

pub(crate) struct World {
    pub(crate) db: TestDb,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) parties: Parties,
}

/// A pretended rate of one to one.
pub(crate) fn terms() -> Terms {
    Terms {
        model: None,
        backend: None,
        price_version: None,
        prices: None,
        fx: FxQuote {
            rate: Uuid::from_u128(1).into(),
            usd_nanos_per_unit: 1_000_000_000,
            buffer_basis_points: 0,
        },
    }
}

pub(crate) fn truth(money: i64, tokens: i64) -> Truth {
    let terms = terms();
    let total = Amount::from_nanos(money);
    Truth {
        usage: Usage { output: tokens.unsigned_abs(), ..Usage::default() },
        tokens,
        cost: terms.fx.split(total).unwrap(),
        pico_usd: i128::from(money) * 1_000,
        certainty: Certainty::Exact,
        cut: None,
    }
}

pub(crate) fn parties(clock: &Clock) -> Parties {
    Parties {
        tenant: clock.id(),
        host: clock.id(),
        user: clock.id(),
        server: clock.id(),
        envelope: clock.id(),
        root: None,
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let db = support::database();
        let clock = Clock::default();
        let url = db.url.clone();
        let store = Store::open(&Settings { url, call_connections: 4, report_connections: 1 });
        Self { db, store: store.unwrap(), parties: parties(&clock), clock }
    }

    /// An engine of its own, as another replica would have it.
    pub(crate) fn engine(&self) -> Engine {
        let (engine, lanes) = Engine::new(&self.store, &self.clock, Lanes::of(1));
        for lane in lanes {
            tokio::spawn(lane.run());
        }
        engine
    }

    /// A connection of the owner, whom no policy binds.
    pub(crate) async fn owner(&self) -> PgConnection {
        PgConnection::connect(&self.db.url).await.unwrap()
    }

    pub(crate) async fn limit(&self, width: Width, kind: LimitKind, amount: i64) -> LimitKey {
        let key = LimitKey { tenant: self.parties.tenant, width, id: self.clock.id::<LimitId>() };
        let envelope = (width == Width::Envelope).then_some(self.parties.envelope);
        let budget = (width != Width::Envelope).then(|| self.clock.id::<BudgetId>());
        let kind = match kind {
            LimitKind::Calls => "calls",
            LimitKind::Money => "money",
            LimitKind::Tokens => "tokens",
            LimitKind::ConcurrentCalls => "concurrent_calls",
        };
        let widths = [
            Width::Envelope,
            Width::UserServer,
            Width::User,
            Width::Server,
            Width::Root,
            Width::Host,
            Width::Tenant,
        ];
        let code = widths.iter().position(|it| *it == width).unwrap();
        sqlx::query(
            "insert into limits (tenant_id, limit_id, width, envelope_id, budget_id, kind, amount,
                enforcing, opens_at) values ($1, $2, $3, $4, $5, $6, $7, true, '2020-01-01Z')",
        )
        .bind(key.tenant.uuid())
        .bind(key.id.uuid())
        .bind(i16::try_from(code).unwrap())
        .bind(envelope.map(EnvelopeId::uuid))
        .bind(budget.map(BudgetId::uuid))
        .bind(kind)
        .bind(amount)
        .execute(&mut self.owner().await)
        .await
        .unwrap();
        key
    }

    /// An envelope's limit in money, alone.
    pub(crate) async fn money(&self, amount: i64) -> Vec<LimitKey> {
        vec![self.limit(Width::Envelope, LimitKind::Money, amount).await]
    }

    /// Changes the database behind the engine's back.
    pub(crate) async fn tamper(&self, sql: &'static str) {
        sqlx::query(sql).execute(&mut self.owner().await).await.unwrap();
    }

    /// An order for a fixed amount.
    pub(crate) fn order(&self, limits: &[LimitKey], money: i64, tokens: u64) -> Order {
        let size = Size::Fixed { money: Amount::from_nanos(money), tokens };
        self.order_of(limits, Offer { terms: terms(), route: None, size })
    }

    pub(crate) fn order_of(&self, limits: &[LimitKey], offer: Offer) -> Order {
        Order {
            id: self.clock.id(),
            call: self.clock.id(),
            attempt: 1,
            parties: Parties { tenant: tenant(limits, &self.parties), ..self.parties },
            ask: Ask {
                calls: 1,
                offers: vec![offer],
                limits: limits.to_vec(),
                reserve: None,
                kept: Vec::new(),
                not_after: None,
            },
            ttl: Duration::from_mins(10),
            by_host: false,
        }
    }

    /// How often the counters and the ledger disagree, or a bound was passed.
    pub(crate) async fn problems(&self) -> Vec<String> {
        let mut owner = self.owner().await;
        let rows = sqlx::query(include_str!("problems.sql")).fetch_all(&mut owner).await.unwrap();
        let text = |it: &PgRow| it.get::<String, _>("problem");
        rows.iter().map(text).collect()
    }

    /// One number of a query by the owner.
    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.owner().await).await.unwrap()
    }

    /// `amount, settled, overrun, held` of a limit.
    pub(crate) async fn counters(&self, key: LimitKey) -> [i64; 4] {
        let row = sqlx::query(
            "select amount, settled, overrun, held from limits where tenant_id = $1 and limit_id = $2",
        )
        .bind(key.tenant.uuid())
        .bind(key.id.uuid())
        .fetch_one(&mut self.owner().await)
        .await
        .unwrap();
        [row.get(0), row.get(1), row.get(2), row.get(3)]
    }
}

/// Makes Postgres' time in this database a row of a table. Only connections that are
/// made afterwards see it.
const STANDING_CLOCK: &str = "
    create schema standing;
    create table standing.clock (at timestamptz not null);
    insert into standing.clock values ('2026-11-30 12:00:00Z');
    create function standing.now() returns timestamptz language sql stable
        as 'select at from standing.clock';
    create function standing.clock_timestamp() returns timestamptz language sql volatile
        as 'select at from standing.clock';
    create function standing.statement_timestamp() returns timestamptz language sql stable
        as 'select at from standing.clock';
    grant usage on schema standing to bursar_app, bursar_duty;
    grant select on standing.clock to bursar_app, bursar_duty;";

impl World {
    /// A world whose clock stands still until it is set.
    pub(crate) async fn of_standing_time() -> Self {
        let world = Self::new();
        let mut owner = world.owner().await;
        sqlx::raw_sql(STANDING_CLOCK).execute(&mut owner).await.unwrap();
        let path = "do $$ begin execute format(
            'alter database %I set search_path = standing, pg_catalog, public', current_database());
            end $$";
        sqlx::raw_sql(path).execute(&mut owner).await.unwrap();
        world
    }

    /// Sets a clock that stands.
    pub(crate) async fn set_time(&self, at: jiff::Timestamp) {
        let set = sqlx::query("update standing.clock set at = $1::text::timestamptz");
        set.bind(at.to_string()).execute(&mut self.owner().await).await.unwrap();
    }

    /// Gives a limit a window.
    pub(crate) async fn set_window(&self, key: LimitKey, (opens, closes): (&str, &str)) {
        let set = sqlx::query(
            "update limits set opens_at = $2::text::timestamptz, closes_at = $3::text::timestamptz
             where limit_id = $1",
        );
        let set = set.bind(key.id.uuid()).bind(opens).bind(closes);
        set.execute(&mut self.owner().await).await.unwrap();
    }
}

/// Whether tests shall look further than there is time for in general.
pub(crate) fn is_long() -> bool {
    std::env::var_os("BURSAR_LONG").is_some_and(|it| it == "1")
}

fn tenant(limits: &[LimitKey], parties: &Parties) -> TenantId {
    limits.first().map_or(parties.tenant, |it| it.tenant)
}

/// What must be a hold.
#[track_caller]
pub(crate) fn held(verdict: Verdict) -> Held {
    match verdict {
        Verdict::Held(it) => *it,
        Verdict::Short(it) => panic!("short: {it:?}"),
        Verdict::Closed(it) => panic!("closed: {it:?}"),
        Verdict::Late => panic!("late"),
        Verdict::Stopped => panic!("stopped"),
    }
}

pub(crate) async fn settle(engine: &Engine, held: Held, truth: Truth) -> Ended {
    let Held { hold, slot, .. } = held;
    engine.end(hold, EntryKind::Settle, truth, Some(slot)).await.unwrap()
}

pub(crate) async fn settle_again(engine: &Engine, hold: &Hold, truth: Truth) -> Ended {
    engine.end(hold.clone(), EntryKind::Settle, truth, None).await.unwrap()
}
