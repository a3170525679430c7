//! What a call takes of the broker itself: its own time beside a real HTTP backend on
//! loopback and a durable Postgres, the choice among two thousand models, and how fast
//! a long answer is passed on.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_arithmetic,
    reason = "a benchmark measures, prints and may stop"
)]

mod caller;
mod choice;
mod standin;

use std::{env, fs, path::Path, time::Duration};

use bursar::{
    admin::demo::Extra,
    app::dev::{self, Dev, Wish},
    domain::price::{Price, Prices},
};
use caller::Caller;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use standin::StandIn;

/// Text deltas of an ordinary answer, and of the long one that is passed on.
const DELTAS: usize = 50;
const LONG_DELTAS: usize = 10_000;

/// How often each thing is done, once to warm up and then measured.
struct Pace {
    calls: usize,
    choices: usize,
    streams: usize,
}

fn pace() -> Pace {
    if env::var_os("BURSAR_BENCH_QUICK").is_some_and(|it| it == "1") {
        Pace { calls: 300, choices: 200, streams: 5 }
    } else {
        Pace { calls: 4_000, choices: 2_000, streams: 25 }
    }
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let report = runtime.block_on(run(&pace()));
    println!("{report}");
}

async fn run(pace: &Pace) -> Value {
    let dir = env::temp_dir().join(format!("bursar-bench-call-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let standin = StandIn::start().await;
    let dev = dev(&dir, &standin).await;
    let caller = Caller::new(&dev);
    let mut own = Box::pin(own_times(&caller, pace.calls)).await;
    let mut rates = Box::pin(rates(&caller, pace.streams)).await;
    let mut choices = choice::times(pace.choices);
    dev.stop().await;
    fs::remove_dir_all(&dir).unwrap();
    json!({
        "own_us": {
            "p50": micros(at(&mut own, 0.5)),
            "p99": micros(at(&mut own, 0.99)),
        },
        "route_us": micros(at(&mut choices, 0.5)),
        "deltas_per_s": at(&mut rates, 0.5).round(),
        "calls": pace.calls,
        "deltas_a_call": DELTAS,
        "models": choice::MODELS,
    })
}

async fn dev(dir: &Path, standin: &StandIn) -> Dev {
    let any = "127.0.0.1:0".parse().unwrap();
    let prices = Prices::of(Price::from_pico_usd(150_000), Price::from_pico_usd(600_000));
    let extra = Extra {
        base_url: standin.base_url.clone(),
        model: standin::MODEL.to_owned(),
        prices,
        has_key: false,
    };
    let wish = Wish {
        data_dir: dir.to_owned(),
        ready_file: None,
        grpc: any,
        http: any,
        extra: Some(extra),
    };
    let dev = dev::start(wish).await.unwrap();
    // Room for the long answer, before anybody has looked at the catalogue.
    let mut owner = PgConnection::connect(&dev.database_url).await.unwrap();
    let room = "update models set context_tokens = 100000, max_output_tokens = 20000";
    sqlx::raw_sql(room).execute(&mut owner).await.unwrap();
    dev
}

/// Seconds of own time, a call each.
async fn own_times(caller: &Caller, calls: usize) -> Vec<f64> {
    let mut own = Vec::with_capacity(calls);
    for n in 0..calls + calls / 10 {
        let took = caller.call(n, DELTAS).await;
        // The first tenth warms up.
        if n >= calls / 10 {
            own.push(took.as_secs_f64());
        }
    }
    own
}

/// Deltas a second, a stream each.
async fn rates(caller: &Caller, streams: usize) -> Vec<f64> {
    let mut rates = Vec::with_capacity(streams);
    for n in 0..=streams {
        let took: Duration = caller.stream(n, LONG_DELTAS).await;
        if n > 0 {
            rates.push(LONG_DELTAS as f64 / took.as_secs_f64());
        }
    }
    rates
}

fn at(samples: &mut [f64], part: f64) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    let index = (part * samples.len() as f64) as usize;
    samples[index.min(samples.len() - 1)]
}

fn micros(seconds: f64) -> f64 {
    (seconds * 1e7).round() / 10.0
}
