//! What a replica tells of itself in numbers: how calls end, how long they take, and
//! how much of that is its own doing. No content, no user, no tenant.

pub mod names;
pub mod own_time;

use std::time::Duration;

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, Meter, MeterProvider},
};
use opentelemetry_sdk::{Resource, metrics::SdkMeterProvider};
use prometheus::{Registry, TextEncoder};

pub use own_time::measured;

use crate::domain::outcome::{Cut, Outcome};

/// Own time runs from a tenth of a millisecond to what a megabyte of prompt takes.
const OWN_SECONDS: [f64; 10] =
    [0.000_05, 0.000_1, 0.000_2, 0.000_3, 0.000_5, 0.001, 0.002, 0.005, 0.025, 0.1];

/// A call takes from the two commits alone to the longest deadline.
const CALL_SECONDS: [f64; 12] =
    [0.002, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0];

/// The instruments of a process, and where they are read. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Registry,
    /// Keeps the reader alive: without it the registry shows nothing.
    _provider: SdkMeterProvider,
    calls: Counter<u64>,
    duration: Histogram<f64>,
    own_time: Histogram<f64>,
}

impl Metrics {
    /// Instruments of their own, with nothing recorded.
    pub fn new() -> Result<Self, NotStarted> {
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .scope_info_enabled(false);
        let exporter = exporter.build().map_err(|_| NotStarted)?;
        let resource = Resource::builder_empty().with_service_name("bursar").build();
        let provider =
            SdkMeterProvider::builder().with_reader(exporter).with_resource(resource).build();
        let meter = provider.meter("bursar");
        Ok(Self {
            calls: meter
                .u64_counter(names::CALLS)
                .with_description("Calls that ended, by outcome and cut.")
                .build(),
            duration: seconds(&meter, names::CALL_DURATION, &CALL_SECONDS)
                .with_description("From the first byte of a call's request to its reply.")
                .build(),
            own_time: seconds(&meter, names::CALL_OWN_TIME, &OWN_SECONDS)
                .with_description("What a call took besides waiting for backend and database.")
                .build(),
            registry,
            _provider: provider,
        })
    }

    /// A call has ended so after so long.
    pub fn ended(&self, how: Ended, took: Duration) {
        let outcome = KeyValue::new(names::OUTCOME, how.outcome());
        let cut = KeyValue::new(names::CUT, how.cut());
        self.duration.record(took.as_secs_f64(), std::slice::from_ref(&outcome));
        self.calls.add(1, &[outcome, cut]);
    }

    /// What a call took of a processor.
    pub fn own(&self, took: Duration) {
        self.own_time.record(took.as_secs_f64(), &[]);
    }

    /// Everything, in Prometheus' text format.
    pub fn text(&self) -> String {
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }
}

/// The instruments could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the metrics could not be set up")]
pub struct NotStarted;

/// How a call ended, as metrics tell it.
#[derive(Debug, Clone, Copy)]
pub enum Ended {
    /// In a regular way.
    So(Outcome, Option<Cut>),
    /// With an error.
    InError,
}

impl Ended {
    const fn outcome(self) -> &'static str {
        match self {
            Self::So(it, _) => it.word(),
            Self::InError => "ERROR",
        }
    }

    const fn cut(self) -> &'static str {
        match self {
            Self::So(_, Some(it)) => it.word(),
            Self::So(_, None) | Self::InError => "NONE",
        }
    }
}

fn seconds<'a>(
    meter: &'a Meter,
    name: &'static str,
    bounds: &[f64],
) -> opentelemetry::metrics::HistogramBuilder<'a, Histogram<f64>> {
    meter.f64_histogram(name).with_unit("s").with_boundaries(bounds.to_vec())
}
