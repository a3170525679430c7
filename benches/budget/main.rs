//! What a pair of hold and settlement costs: through the lanes, and by the best
//! honest version that spends one transaction on each. Both write the same rows,
//! durably, under row-level security, in one run against one private Postgres.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_arithmetic,
    reason = "a benchmark measures, prints and may stop"
)]

mod baseline;
mod cases;
mod history;
mod lanes;
mod load;
mod setup;

use std::{env, time::Duration};

use cases::{CASES, Case};
use load::{Sample, median};
use serde_json::{Map, Value, json};
use setup::Setup;

/// Connections of the baseline; the best of them counts.
const CONNECTIONS: [usize; 4] = [1, 4, 16, 64];

/// How long and how often each side is measured.
#[derive(Clone, Copy)]
struct Pace {
    rounds: usize,
    warm: Duration,
    measured: Duration,
}

impl Pace {
    /// What is first seen of a subject is not the usual case, so with many of them it
    /// takes longer until all is warm.
    fn for_subjects(self, count: usize) -> Self {
        let factor = if count > 100 { 6 } else { 1 };
        Self { warm: self.warm * factor, ..self }
    }
}

fn pace() -> Pace {
    if env::var_os("BURSAR_BENCH_QUICK").is_some_and(|it| it == "1") {
        let measured = Duration::from_millis(500);
        Pace { rounds: 1, warm: Duration::from_millis(150), measured }
    } else {
        Pace { rounds: 5, warm: Duration::from_millis(300), measured: Duration::from_secs(1) }
    }
}

/// What was seen of one side of a case, one sample a round.
type Samples = Vec<Sample>;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let setup = Setup::start();
    let report = runtime.block_on(run(&setup, pace()));
    println!("{}", Value::Object(report));
}

/// Names of cases on the command line choose among them; all others are null.
async fn run(setup: &Setup, pace: Pace) -> Map<String, Value> {
    let named: Vec<String> = env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let chosen = |it: &Case| named.is_empty() || named.iter().any(|name| name == it.name);
    setup.migrate().await;
    let history = history::wanted();
    if let Some(rows) = history {
        history::load(setup, rows).await;
    }
    let mut report = Map::new();
    report.insert("history_rows".to_owned(), json!(history.unwrap_or(0)));
    for case in &CASES {
        let value = if chosen(case) { measure(setup, case, pace).await } else { Value::Null };
        report.insert(case.name.to_owned(), value);
    }
    report
}

/// One case: its rounds interleave both sides, so that a slow minute of the
/// machine strikes both.
async fn measure(setup: &Setup, case: &Case, pace: Pace) -> Value {
    let since = setup.now().await;
    let subjects = setup.seed(case).await;
    let pace = pace.for_subjects(subjects.len());
    let connections: Vec<usize> =
        CONNECTIONS.into_iter().filter(|it| *it <= case.callers.max(1)).collect();
    let mut base: Vec<Samples> = vec![Vec::new(); connections.len()];
    let mut own = Samples::new();
    for _ in 0..pace.rounds {
        for (samples, connections) in base.iter_mut().zip(&connections) {
            samples.push(baseline::sample(setup, &subjects, (case, *connections), pace).await);
        }
        own.push(lanes::sample(setup, &subjects, case, pace).await);
    }
    setup.check(&since).await;
    let rate = |it: &Samples| median(it.iter().map(|it| it.per_s));
    let best = (0..base.len()).max_by(|a, b| rate(&base[*a]).total_cmp(&rate(&base[*b]))).unwrap();
    let of = |samples: &Samples, part: fn(&Sample) -> f64| round(median(samples.iter().map(part)));
    let value = json!({
        "lanes_per_s": rate(&own).round(),
        "baseline_per_s": rate(&base[best]).round(),
        "ratio": round(median(own.iter().zip(&base[best]).map(|(own, base)| own.per_s / base.per_s))),
        "p50_ms": of(&own, |it| it.p50_ms),
        "p99_ms": of(&own, |it| it.p99_ms),
        "pg_cpu_us": of(&own, |it| it.pg_cpu_us),
        "own_cpu_us": of(&own, |it| it.own_cpu_us),
        "batch_ms": of(&own, |it| it.batch_ms),
        "batch_size": of(&own, |it| it.batch_size),
        "baseline_connections": connections[best],
        "baseline_p50_ms": of(&base[best], |it| it.p50_ms),
        "baseline_pg_cpu_us": of(&base[best], |it| it.pg_cpu_us),
        "baseline_by_connections": base.iter().map(|it| rate(it).round()).collect::<Vec<_>>(),
    });
    eprintln!("{}: {value}", case.name);
    value
}

fn round(it: f64) -> f64 {
    (it * 100.0).round() / 100.0
}
