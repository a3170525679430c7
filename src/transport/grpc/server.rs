//! All services of the door on one listener.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Server, server::TcpIncoming};
use tonic_health::{ServingStatus, server::HealthReporter};

use super::{
    admin::Admin, envelopes::Envelopes, in_flight::InFlight, ledger::Ledger, prices::Prices,
    sampling::Sampling, state::Services,
};
use crate::{
    call::{Broker, replay::Requests},
    proto::{
        DESCRIPTORS, admin_service_server::AdminServiceServer,
        envelope_service_server::EnvelopeServiceServer, ledger_service_server::LedgerServiceServer,
        price_service_server::PriceServiceServer, sampling_service_server::SamplingServiceServer,
    },
    tasks::Tasks,
};

/// The largest message either way: images get through, whole disks do not.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Streams of one connection at once.
const STREAMS_MAX: u32 = 4_096;

/// What the doors open on.
#[derive(Clone)]
pub struct Doors {
    /// Shared by all services.
    pub services: Services,
    /// What samples.
    pub broker: Broker,
    /// Requests that bear an id.
    pub requests: Requests,
    /// Where calls run.
    pub tasks: Tasks,
    /// Mebibytes of request bodies under way at once.
    pub body_mib_in_flight: u32,
    /// When health is to say that no new calls are taken.
    pub draining: CancellationToken,
}

/// The services that health speaks of by name, and all of them together.
const NAMES: [&str; 6] = [
    "",
    "bursar.v1.SamplingService",
    "bursar.v1.EnvelopeService",
    "bursar.v1.LedgerService",
    "bursar.v1.AdminService",
    "bursar.v1.PriceService",
];

async fn say(health: &HealthReporter, status: ServingStatus) {
    for name in NAMES {
        health.set_service_status(name, status).await;
    }
}

/// Serves until `stop`, then lets running requests end.
pub async fn serve(parts: Doors, listener: TcpListener, stop: CancellationToken) -> Result<()> {
    let Doors { services, broker, requests, tasks, body_mib_in_flight, draining } = parts;
    let (health, health_service) = tonic_health::server::health_reporter();
    say(&health, ServingStatus::Serving).await;
    let described = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let reflection = described().build_v1().context("reflection")?;
    // Many clients, Python's among them, still ask in the older version alone.
    let older_reflection = described().build_v1alpha().context("reflection")?;
    let envelopes =
        Envelopes { services: services.clone(), requests: requests.clone(), tasks: tasks.clone() };
    let sampling = Sampling { services: services.clone(), broker, requests, tasks };
    let prices = Prices::new(services.clone());
    let (ledger, admin) = (Ledger::new(services.clone()), Admin::new(services));
    macro_rules! sized {
        ($it:expr) => {
            $it.max_decoding_message_size(MESSAGE_BYTES_MAX)
                .max_encoding_message_size(MESSAGE_BYTES_MAX)
        };
    }
    let router = Server::builder()
        .layer(InFlight::mebibytes(body_mib_in_flight))
        .max_concurrent_streams(STREAMS_MAX)
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .add_service(health_service)
        .add_service(reflection)
        .add_service(older_reflection)
        .add_service(sized!(SamplingServiceServer::new(sampling)))
        .add_service(sized!(EnvelopeServiceServer::new(envelopes)))
        .add_service(sized!(LedgerServiceServer::new(ledger)))
        .add_service(sized!(AdminServiceServer::new(admin)))
        .add_service(sized!(PriceServiceServer::new(prices)));
    let until = {
        let stop = stop.clone();
        async move {
            tokio::select! {
                () = draining.cancelled() => {}
                () = stop.cancelled() => {}
            }
            say(&health, ServingStatus::NotServing).await;
            stop.cancelled().await;
        }
    };
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    router.serve_with_incoming_shutdown(incoming, until).await.context("serving gRPC")
}
