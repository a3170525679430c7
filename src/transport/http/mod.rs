//! The HTTP doors: health, metrics, JSON-RPC for hosts, and chat completions for envelope
//! tokens.

mod body;
mod entry;
mod mcp;
mod openai;
mod run;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use anyhow::{Context, Result};
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::{body::Bodies, run::Runner};
use super::grpc::Doors;
use crate::telemetry::Metrics;
pub use entry::Hosts;

/// How far the clocks may be apart, in milliseconds.
const CLOCK_OFF_MS_MAX: u64 = 1_000;

/// Whether this replica should get traffic. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Facts>);

#[derive(Debug, Default)]
struct Facts {
    serving: AtomicBool,
    database: AtomicBool,
    clock_off_ms: AtomicI64,
}

impl Health {
    /// It takes calls, or no longer does.
    pub fn set_serving(&self, it: bool) {
        self.0.serving.store(it, Ordering::Relaxed);
    }

    /// The database answers, or does not.
    pub fn set_database(&self, it: bool) {
        self.0.database.store(it, Ordering::Relaxed);
    }

    /// How far Postgres' clock is ahead.
    pub fn set_clock_off_ms(&self, it: i64) {
        self.0.clock_off_ms.store(it, Ordering::Relaxed);
    }

    /// Why it should get no traffic; none when it should.
    pub fn problem(&self) -> Option<&'static str> {
        let Facts { serving, database, clock_off_ms } = &*self.0;
        if !serving.load(Ordering::Relaxed) {
            return Some("not serving");
        }
        if !database.load(Ordering::Relaxed) {
            return Some("the database does not answer");
        }
        let off = clock_off_ms.load(Ordering::Relaxed).unsigned_abs();
        (off > CLOCK_OFF_MS_MAX).then_some("the clock is more than a second off the database's")
    }
}

/// Serves until `stop`.
pub async fn serve(
    (health, metrics): (Health, Metrics),
    (doors, hosts): (Doors, Hosts),
    listener: TcpListener,
    stop: CancellationToken,
) -> Result<()> {
    let routes = Router::new()
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .with_state(health)
        .merge(Router::new().route("/metrics", get(told)).with_state(metrics))
        .merge(calls(doors, hosts));
    let until = async move { stop.cancelled().await };
    axum::serve(listener, routes).with_graceful_shutdown(until).await.context("serving HTTP")
}

/// The doors that call models, on what the gRPC door opens on.
fn calls(doors: Doors, hosts: Hosts) -> Router {
    let Doors { services, broker, requests, tasks, body_mib_in_flight, .. } = doors;
    let runner = Runner { broker, requests, tasks };
    let entry = (Bodies::mebibytes(body_mib_in_flight), hosts);
    let mcp = mcp::Door::new(services.clone(), runner.clone(), entry.clone());
    openai::Door::new(services, runner, entry).routes().merge(mcp.routes())
}

/// In the text format that Prometheus reads.
async fn told(State(metrics): State<Metrics>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.text())
}

async fn ready(State(health): State<Health>) -> (StatusCode, String) {
    match health.problem() {
        None => (StatusCode::OK, "ready\n".to_owned()),
        Some(it) => (StatusCode::SERVICE_UNAVAILABLE, format!("{it}\n")),
    }
}
