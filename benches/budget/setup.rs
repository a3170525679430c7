//! A private, durable Postgres with tenants and limits in it.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use bursar::{
    app::postgres::{Cluster, Options},
    clock::Clock,
    domain::{
        fx::FxQuote,
        hold::{Parties, Terms},
        limit::{LimitKey, LimitKind, Width},
    },
    store::{self, Settings, Store},
};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::{cases::Case, history, load::cpu_of};

/// What a call holds and costs, in nano-units and tokens.
pub(crate) const HELD: i64 = 4_000_000;
pub(crate) const COST: i64 = 1_500_000;
pub(crate) const TOKENS: i64 = 1_000;

/// On whose behalf a caller calls, and the limits that apply.
pub(crate) struct Subject {
    pub(crate) parties: Parties,
    /// In the order of locking.
    pub(crate) limits: Vec<LimitKey>,
}

pub(crate) struct Setup {
    cluster: Option<Cluster>,
    dir: PathBuf,
}

pub(crate) fn terms() -> Terms {
    Terms {
        model: Some(Uuid::from_u128(3).into()),
        backend: Some(Uuid::from_u128(4).into()),
        price_version: Some(Uuid::from_u128(5).into()),
        prices: None,
        fx: FxQuote {
            rate: Uuid::from_u128(2).into(),
            usd_nanos_per_unit: 1_100_000_000,
            buffer_basis_points: 0,
        },
    }
}

impl Setup {
    pub(crate) fn start() -> Self {
        let dir = std::env::temp_dir().join(format!("bursar-bench-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        // Room for the log and for whatever runs at once; commits stay durable.
        let settings = [
            ("max_connections", "200"),
            ("fsync", "on"),
            ("synchronous_commit", "on"),
            ("max_wal_size", "4GB"),
            ("shared_buffers", "512MB"),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = Options { settings: settings.into(), ..Options::new(&dir) };
        let cluster = Cluster::start(&options).unwrap();
        cluster.create_database("bench", None).unwrap();
        Self { cluster: Some(cluster), dir }
    }

    pub(crate) fn url(&self) -> String {
        self.cluster.as_ref().unwrap().url("bench")
    }

    pub(crate) fn store(&self) -> Store {
        let url = self.url();
        Store::open(&Settings { url, call_connections: 4, report_connections: 1 }).unwrap()
    }

    pub(crate) async fn migrate(&self) {
        store::migrate(&self.url()).await.unwrap();
        for name in ["fsync", "synchronous_commit"] {
            let setting = sqlx::query_scalar::<_, String>("select current_setting($1)").bind(name);
            assert_eq!(setting.fetch_one(&mut self.owner().await).await.unwrap(), "on");
        }
    }

    pub(crate) async fn owner(&self) -> PgConnection {
        PgConnection::connect(&self.url()).await.unwrap()
    }

    /// Postgres' time, as text.
    pub(crate) async fn now(&self) -> String {
        let now = sqlx::query_scalar("select clock_timestamp()::text");
        now.fetch_one(&mut self.owner().await).await.unwrap()
    }

    /// How many batches lanes wrote since then, and of how many holds and settlements.
    /// All that one batch wrote has its one instant.
    pub(crate) async fn batches_since(&self, since: &str) -> (i64, i64) {
        sqlx::query_as(
            "with ours as (select incurred_at, booked_at from entries
                where incurred_at >= $1::text::timestamptz)
             select count(distinct at), count(*)
             from (select incurred_at as at from ours union all select booked_at from ours) as a",
        )
        .bind(since)
        .fetch_one(&mut self.owner().await)
        .await
        .unwrap()
    }

    /// The tenants, envelopes and limits of a case, each with room for ever. What
    /// an earlier case wrote goes, so that each begins alike; a history stays.
    pub(crate) async fn seed(&self, case: &Case) -> Arc<[Subject]> {
        let mut owner = self.owner().await;
        let fresh = match history::wanted() {
            None => "truncate limits, holds, entries, batches",
            Some(_) => "truncate holds; delete from limits where opens_at = '2020-01-01Z'",
        };
        sqlx::raw_sql(fresh).execute(&mut owner).await.unwrap();
        let clock = Clock::default();
        let mut subjects = Vec::new();
        let mut rows = Vec::new();
        for n in 1..=case.tenants as u128 {
            // The same for every case, and those that a history is of.
            let tenant = Uuid::from_u128(0x4000_8000_0000_0000_0000 + n).into();
            let host = clock.id();
            let mut key = |width: Width, kind: LimitKind, owner: Uuid| {
                let key = LimitKey { tenant, width, id: clock.id() };
                rows.push((key, kind, owner));
                key
            };
            let of_tenant =
                case.tenant_limit.then(|| key(Width::Tenant, LimitKind::Money, tenant.uuid()));
            for _ in 0..case.envelopes {
                let parties = Parties {
                    tenant,
                    host,
                    user: clock.id(),
                    server: clock.id(),
                    envelope: clock.id(),
                    root: None,
                };
                let kinds = [LimitKind::Calls, LimitKind::Money, LimitKind::Tokens];
                let own = kinds.map(|kind| key(Width::Envelope, kind, parties.envelope.uuid()));
                let mut limits: Vec<LimitKey> = own.into_iter().chain(of_tenant).collect();
                limits.sort_unstable();
                subjects.push(Subject { parties, limits });
            }
        }
        insert(&mut owner, &rows).await;
        for sql in ["vacuum analyze limits", "checkpoint"] {
            sqlx::raw_sql(sql).execute(&mut owner).await.unwrap();
        }
        subjects.into()
    }

    /// Counters and ledger agree: neither side was quick because it was wrong.
    pub(crate) async fn check(&self, since: &str) {
        let wrong: i64 = sqlx::query_scalar(include_str!("disagreements.sql"))
            .bind(since)
            .fetch_one(&mut self.owner().await)
            .await
            .unwrap();
        assert_eq!(wrong, 0, "limits that disagree with the ledger");
    }

    /// CPU time of Postgres' processes that are alive.
    pub(crate) fn postgres_cpu(&self) -> Duration {
        let postmaster = self.cluster.as_ref().unwrap().pid();
        let processes = fs::read_dir("/proc").unwrap().filter_map(|it| {
            let name = it.ok()?.file_name();
            let (parent, cpu) = cpu_of(name.to_str()?)?;
            (parent == postmaster).then_some(cpu)
        });
        processes.sum()
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        self.cluster.take();
        fs::remove_dir_all(&self.dir).unwrap();
    }
}

async fn insert(owner: &mut PgConnection, rows: &[(LimitKey, LimitKind, Uuid)]) {
    let uuids =
        |of: fn(&(LimitKey, LimitKind, Uuid)) -> Uuid| rows.iter().map(of).collect::<Vec<_>>();
    let kind = |it: LimitKind| match it {
        LimitKind::Calls => "calls",
        LimitKind::Money => "money",
        LimitKind::Tokens => "tokens",
        LimitKind::ConcurrentCalls => "concurrent_calls",
    };
    sqlx::query(
        "insert into limits (tenant_id, limit_id, width, envelope_id, budget_id, kind, amount, enforcing, opens_at)
         select tenant, id, width, case when width = 0 then owner end, case when width > 0 then owner end,
            kind, 1000000000000000000, true, '2020-01-01Z'
         from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::uuid[], $5::text[])
            as r (tenant, id, width, owner, kind)",
    )
    .bind(uuids(|it| it.0.tenant.uuid()))
    .bind(uuids(|it| it.0.id.uuid()))
    .bind(rows.iter().map(|it| if it.0.width == Width::Envelope { 0_i16 } else { 6 }).collect::<Vec<_>>())
    .bind(uuids(|it| it.2))
    .bind(rows.iter().map(|it| kind(it.1)).collect::<Vec<_>>())
    .execute(owner)
    .await
    .unwrap();
}
