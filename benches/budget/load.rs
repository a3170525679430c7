//! Callers that hold and settle as fast as they are answered.

use std::{
    fs,
    future::Future,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use crate::{Pace, setup::Setup};

/// What one run showed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Pairs of hold and settlement a second.
    pub(crate) per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// CPU of all of Postgres for a pair, in microseconds.
    pub(crate) pg_cpu_us: f64,
    /// CPU of this process for a pair, in microseconds.
    pub(crate) own_cpu_us: f64,
    /// How long a batch took from one to the next, and how many holds and settlements
    /// it had. Of lanes alone.
    pub(crate) batch_ms: f64,
    pub(crate) batch_size: f64,
}

/// Lets each of the callers run its own pairs, first to warm up, then measured.
pub(crate) async fn run<F, Fut>(setup: &Setup, callers: usize, pace: Pace, caller: F) -> Sample
where
    F: Fn(usize, u64) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let start = Instant::now() + pace.warm;
    let end = start + pace.measured;
    let mut set = JoinSet::new();
    for n in 0..callers {
        set.spawn(loop_until(n, (start, end), caller.clone()));
    }
    tokio::time::sleep(pace.warm).await;
    let before = (setup.postgres_cpu(), own_cpu());
    tokio::time::sleep(pace.measured).await;
    let after = (setup.postgres_cpu(), own_cpu());
    let mut times: Vec<Duration> = set.join_all().await.into_iter().flatten().collect();
    times.sort_unstable();
    let pairs = times.len().max(1) as f64;
    let at = |part: f64| {
        let index = (part * times.len() as f64) as usize;
        times.get(index).map_or(f64::NAN, |it| it.as_secs_f64() * 1e3)
    };
    Sample {
        per_s: pairs / pace.measured.as_secs_f64(),
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        pg_cpu_us: after.0.saturating_sub(before.0).as_secs_f64() * 1e6 / pairs,
        own_cpu_us: after.1.saturating_sub(before.1).as_secs_f64() * 1e6 / pairs,
        batch_ms: f64::NAN,
        batch_size: f64::NAN,
    }
}

/// How long each pair took that ended in the measured time.
async fn loop_until<F, Fut>(n: usize, (start, end): (Instant, Instant), caller: F) -> Vec<Duration>
where
    F: Fn(usize, u64) -> Fut,
    Fut: Future<Output = ()>,
{
    let mut times = Vec::new();
    let mut state = (n as u64 + 1) * 0x9e37_79b9_7f4a_7c15;
    loop {
        let begun = Instant::now();
        if begun >= end {
            return times;
        }
        // xorshift: which of the subjects is next need not be secret.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        caller(n, state).await;
        let now = Instant::now();
        if now >= start && now < end {
            times.push(now - begun);
        }
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn own_cpu() -> Duration {
    cpu_of("self").map_or(Duration::ZERO, |(_, it)| it)
}

/// Parent and CPU time of a process, as the kernel counts it.
pub(crate) fn cpu_of(process: &str) -> Option<(u32, Duration)> {
    const TICKS_PER_S: u64 = 100;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some((fields.get(1)?.parse().ok()?, Duration::from_millis(ticks * 1_000 / TICKS_PER_S)))
}
