//! Through the engine.

use std::{env, sync::Arc, time::Duration};

use bursar::{
    budget::{
        Engine, Lanes, Order, Verdict,
        decide::Ask,
        offer::{Offer, Size},
    },
    clock::Clock,
    config::Config,
    domain::{
        entry::{Certainty, EntryKind, Truth},
        money::Amount,
        usage::Usage,
    },
};

use crate::{
    Pace,
    cases::Case,
    load::{self, Sample},
    setup::{COST, HELD, Setup, Subject, TOKENS, terms},
};

pub(crate) async fn sample(
    setup: &Setup,
    subjects: &Arc<[Subject]>,
    case: &Case,
    pace: Pace,
) -> Sample {
    let clock = Clock::default();
    let lanes = lanes(setup, case);
    let mut tasks = tokio::task::JoinSet::new();
    let engines: Vec<Engine> = (0..case.engines)
        .map(|_| {
            let (engine, lanes) = Engine::new(&setup.store(), &clock, lanes);
            for lane in lanes {
                tasks.spawn(lane.run());
            }
            engine
        })
        .collect();
    let engines: Arc<[Engine]> = engines.into();
    let subjects = Arc::clone(subjects);
    let caller = move |n: usize, random: u64| {
        let (engines, subjects, clock) =
            (Arc::clone(&engines), Arc::clone(&subjects), clock.clone());
        async move {
            let subject = &subjects[random as usize % subjects.len()];
            pair(&engines[n % engines.len()], subject, &clock).await;
        }
    };
    let since = setup.now().await;
    let mut sample = load::run(setup, case.callers, pace, caller).await;
    tasks.join_all().await;
    // A tenant has one lane, so with fewer tenants some are idle.
    let busy = lanes.count.min(case.tenants) * case.engines;
    let (batches, commands) = setup.batches_since(&since).await;
    let lasted = (pace.warm + pace.measured).as_secs_f64() * 1e3;
    sample.batch_ms = lasted * busy as f64 / batches as f64;
    sample.batch_size = commands as f64 / batches as f64;
    sample
}

/// As many as `BURSAR_BENCH_LANES` says, or a service has that is told no number.
fn lanes(setup: &Setup, case: &Case) -> Lanes {
    let any = ([127, 0, 0, 1], 0).into();
    let lanes = env::var("BURSAR_BENCH_LANES").ok().map(|it| it.parse().unwrap());
    let config =
        Config { lanes, lane_tenants: case.lane_tenants, ..Config::of(setup.url(), any, any) };
    Lanes { count: config.lane_count() as usize, tenants: case.lane_tenants }
}

async fn pair(engine: &Engine, subject: &Subject, clock: &Clock) {
    let offer = Offer {
        route: None,
        terms: terms(),
        size: Size::Fixed { money: Amount::from_nanos(HELD), tokens: TOKENS as u64 },
    };
    let order = Order {
        id: clock.id(),
        call: clock.id(),
        attempt: 1,
        parties: subject.parties,
        ask: Ask {
            calls: 1,
            offers: vec![offer],
            limits: subject.limits.clone(),
            reserve: None,
            kept: Vec::new(),
            not_after: None,
        },
        ttl: Duration::from_mins(10),
        by_host: false,
    };
    let Verdict::Held(held) = engine.hold(order).await.unwrap() else { panic!("no room") };
    engine.end(held.hold, EntryKind::Settle, truth(), Some(held.slot)).await.unwrap();
}

fn truth() -> Truth {
    Truth {
        usage: Usage { input: 100, output: 50, ..Usage::default() },
        tokens: 150,
        cost: terms().fx.split(Amount::from_nanos(COST)).unwrap(),
        pico_usd: i128::from(COST) * 1_000,
        certainty: Certainty::Exact,
        cut: None,
    }
}
