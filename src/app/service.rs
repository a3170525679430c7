//! A running service: pools, lanes, duties and doors, and how they end.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    admin::raises,
    budget::{Engine, Lanes, months, owed, reaper},
    call::{
        Broker,
        replay::{self, Requests},
        stopped,
    },
    catalogue::{self, Catalogue, Connections, bounds, reach::Reach},
    clock::Clock,
    config::Config,
    domain::fault::chain,
    identity::shed::{Rates, Shed},
    ledger::rollup,
    store::{self, Store},
    tasks::Tasks,
    telemetry::Metrics,
    transport::{
        grpc::{self, Doors, state::Services},
        http::{self, Health, Hosts},
    },
    vault::Vault,
};

/// Between two looks at Postgres' clock.
const CLOCK_CHECK: Duration = Duration::from_secs(5);

/// Kept of the drain for replies and settlements after the last cut.
const CUT_BEFORE_END: Duration = Duration::from_secs(3);

/// Kept of that for letting go of doors, lanes and connections.
const CLOSING: Duration = Duration::from_secs(1);

/// See the module. Dropping it ends everything at once; [`Running::stop`] ends it
/// in good order.
pub struct Running {
    /// Where gRPC is served.
    pub grpc: SocketAddr,
    /// Where HTTP is served.
    pub http: SocketAddr,
    /// What the services work with.
    pub services: Services,
    health: Health,
    calls: Tasks,
    cut: CancellationToken,
    /// Tells health at the door; then what runs may end.
    draining: CancellationToken,
    stop_doors: CancellationToken,
    doors: JoinSet<Result<()>>,
    duties: JoinSet<()>,
    lanes: JoinSet<()>,
    drain: Duration,
}

impl Running {
    /// Opens everything. The schema must be up to date.
    pub async fn start(config: &Config) -> Result<Self> {
        let vault = vault(config)?;
        let clock = Clock::default();
        let store = Store::open(&store::Settings {
            url: config.database_url.clone(),
            call_connections: config.call_connections,
            report_connections: config.report_connections,
        })
        .context("database_url")?;
        let health = Health::default();
        let answers = follow_clock((&store, &clock, &health), true).await;
        let count = usize::try_from(config.lane_count()).unwrap_or(1);
        let wanted = Lanes { count, tenants: config.lane_tenants };
        let (engine, lane_list) = Engine::new(&store, &clock, wanted);
        let mut lanes = JoinSet::new();
        for lane in lane_list {
            lanes.spawn(lane.run());
        }
        let reach = Reach::new(&config.private_hosts, &config.key_hosts).context("key_hosts")?;
        let secrets = std::sync::Arc::new(|name: &str| std::env::var(name).ok());
        let services = Services {
            store: store.clone(),
            clock: clock.clone(),
            engine,
            catalogue: Catalogue::default(),
            connections: Connections::new(config.scripted_backend, secrets, reach)?,
            shed: Shed::new(Rates {
                per_key: config.requests_per_key,
                per_server: config.requests_per_server,
            }),
        };
        let mut duties = JoinSet::new();
        duties.spawn(reaper::run(store.clone(), clock.clone(), services.engine.clone()));
        duties.spawn(owed::run(store.clone(), clock.clone(), services.engine.clone()));
        duties.spawn(raises::run(store.clone(), clock.clone()));
        duties.spawn(months::run(store.clone(), clock.clone()));
        duties.spawn(replay::purge(store.clone(), clock.clone()));
        duties.spawn(bounds::run(store.clone(), clock.clone(), services.catalogue.clone()));
        duties.spawn(rollup::run(store.clone(), clock.clone()));
        let running = stopped::Running::default();
        duties.spawn(stopped::run(store.clone(), clock.clone(), running.clone()));
        let requests = Requests::new(store.clone(), clock.clone(), vault.clone());
        duties.spawn(watch_clock(store, clock, health.clone(), answers));
        let cut = CancellationToken::new();
        let calls = Tasks::default();
        let (draining, stop_doors) = (CancellationToken::new(), CancellationToken::new());
        let stops = (&cut, &draining, &stop_doors);
        let (doors, grpc, http) =
            open_doors(config, (&services, requests, (vault, running)), (&calls, stops), &health)
                .await?;
        let drain = Duration::from_secs(config.drain_seconds);
        health.set_serving(true);
        Ok(Self {
            grpc,
            http,
            services,
            health,
            calls,
            cut,
            draining,
            stop_doors,
            doors,
            duties,
            lanes,
            drain,
        })
    }

    /// Runs until a door breaks.
    pub async fn broken(&mut self) -> Result<()> {
        match self.doors.join_next().await {
            Some(ended) => ended.context("a door")?,
            None => Ok(()),
        }
    }

    /// Ends in good order within the time of the drain, whatever the database does: takes
    /// no new calls, lets running ones go on for a while, cuts the rest, settles all, and
    /// only then lets go of the database.
    pub async fn stop(mut self) {
        let clock = self.services.clock.clone();
        let began = clock.monotonic();
        let drain = self.drain;
        let left = |keep: Duration| {
            let gone = clock.monotonic().saturating_duration_since(began);
            drain.saturating_sub(gone).saturating_sub(keep)
        };
        self.health.set_serving(false);
        self.draining.cancel();
        self.calls.close();
        tracing::info!(running = self.calls.running(), "shutting down: no new calls");
        if tokio::time::timeout(left(CUT_BEFORE_END), self.calls.wait()).await.is_err() {
            let running = self.calls.running();
            tracing::warn!(running, "shutting down: cutting what still runs");
            self.cut.cancel();
            if tokio::time::timeout(left(CLOSING), self.calls.wait()).await.is_err() {
                tracing::error!(running = self.calls.running(), "calls were left to the reaper");
            }
        }
        self.stop_doors.cancel();
        let closed = async { while self.doors.join_next().await.is_some() {} };
        if tokio::time::timeout(left(CLOSING / 2).max(CLOSING), closed).await.is_err() {
            self.doors.shutdown().await;
        }
        self.duties.shutdown().await;
        let Services { store, engine, catalogue, .. } = self.services;
        let paid = tokio::time::timeout(left(CLOSING / 2), owed::pay(&store, &clock, &engine));
        if !matches!(paid.await, Ok(Ok(_))) {
            tracing::error!(owed = engine.owed(), "settlements were left to the reaper");
        }
        drop(engine);
        let last = tokio::time::timeout(left(CLOSING / 2), bounds::write(&store, &catalogue));
        if !matches!(last.await, Ok(Ok(()))) {
            tracing::warn!("the last counts of prompts were not written");
        }
        let answered = async { while self.lanes.join_next().await.is_some() {} };
        if tokio::time::timeout(left(CLOSING / 4).max(CLOSING), answered).await.is_err() {
            self.lanes.shutdown().await;
        }
        // A server that does not answer is not waited for.
        let _ = tokio::time::timeout(left(Duration::ZERO).max(CLOSING), store.close()).await;
        tracing::info!("shut down");
    }
}

/// Cuts calls, tells that no new ones are taken, closes the doors.
type Stops<'a> = (&'a CancellationToken, &'a CancellationToken, &'a CancellationToken);

async fn open_doors(
    config: &Config,
    (services, requests, (vault, running)): (
        &Services,
        Requests,
        (Option<Vault>, stopped::Running),
    ),
    (calls, (cut, draining, stop)): (&Tasks, Stops<'_>),
    health: &Health,
) -> Result<(JoinSet<Result<()>>, SocketAddr, SocketAddr)> {
    let bind = |at: SocketAddr, name: &'static str| async move {
        let listener = TcpListener::bind(at).await;
        listener.with_context(|| format!("{name}: cannot listen on {at}"))
    };
    let grpc_listener = bind(config.grpc, "grpc").await?;
    let http_listener = bind(config.http, "http").await?;
    let (grpc, http) = (grpc_listener.local_addr()?, http_listener.local_addr()?);
    let metrics = Metrics::new()?;
    let broker = Broker {
        store: services.store.clone(),
        engine: services.engine.clone(),
        clock: services.clock.clone(),
        catalogue: services.catalogue.clone(),
        connections: services.connections.clone(),
        health: catalogue::Health::default(),
        metrics: metrics.clone(),
        shutdown: cut.clone(),
        running,
        vault,
        question_time: Duration::from_secs(config.question_seconds.into()),
    };
    let parts = Doors {
        services: services.clone(),
        broker,
        requests,
        tasks: calls.clone(),
        body_mib_in_flight: config.body_mib_in_flight,
        draining: draining.clone(),
    };
    let web = (parts.clone(), Hosts::new(&config.http_hosts, http.ip()));
    let mut doors = JoinSet::new();
    doors.spawn(grpc::serve(parts, grpc_listener, stop.clone()));
    doors.spawn(http::serve((health.clone(), metrics), web, http_listener, stop.clone()));
    Ok((doors, grpc, http))
}

/// What seals kept replies, where there is a key.
fn vault(config: &Config) -> Result<Option<Vault>> {
    let keys = config.vault_key.as_ref().map(|it| Vault::parse(it.reveal()));
    keys.transpose().context("vault_key")
}

async fn watch_clock(store: Store, clock: Clock, health: Health, mut answers: bool) {
    loop {
        clock.sleep(CLOCK_CHECK).await;
        answers = follow_clock((&store, &clock, &health), answers).await;
    }
}

/// Postgres' time is the time. A clock that is off by more than a second makes the
/// replica unready; what it does meanwhile is right all the same. Returns whether the
/// database answers, and logs where that is not as it was.
async fn follow_clock((store, clock, health): (&Store, &Clock, &Health), answered: bool) -> bool {
    let before = clock.monotonic();
    match store.clock_ahead_ms(clock.own_unix_ms()).await {
        Ok(ahead) => {
            // The answer took a while; half of it is the way back.
            let way = clock.monotonic().saturating_duration_since(before) / 2;
            let ahead = ahead.saturating_sub(i64::try_from(way.as_millis()).unwrap_or(0));
            clock.set_offset_ms(ahead);
            health.set_database(true);
            health.set_clock_off_ms(ahead);
            if !answered {
                tracing::info!("the database answers again");
            }
            true
        }
        Err(it) => {
            if answered {
                let why = store.reach().await.err().unwrap_or(it);
                tracing::warn!(error = chain(&why), "the database does not answer");
            }
            health.set_database(false);
            false
        }
    }
}
