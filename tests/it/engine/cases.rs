//! The worked cases of the charge rule as a table, each through the rule alone and then
//! through a lane, Postgres and the late path. Amounts are cents.

use bursar::{
    budget::{
        Engine, Verdict,
        command::Ended,
        late::{self, Late},
    },
    domain::{
        charge::Split,
        entry::{Certainty, EntryKind, Truth},
        fx::FxQuote,
        hold::Hold,
        limit::{LimitKey, LimitKind, Width},
        price::{Price, Prices},
        rates::Rates,
        usage::Usage,
    },
};
use sqlx::Row;

use super::{
    rule::Real,
    world::{UNIT, World, held, terms, truth},
};

const CENT: i64 = UNIT / 100;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A call holds so much.
    Holds(i64),
    /// A call, its cost as it was estimated, and what is charged and overrun by then.
    Settles(usize, i64, (i64, i64)),
    /// The exact truth of a call later, and what is charged and overrun by then.
    Learns(usize, i64, (i64, i64)),
}

struct Case {
    name: &'static str,
    limit: i64,
    steps: &'static [Step],
    /// `settled, overrun, held` in the end.
    after: (i64, i64, i64),
    /// The most that a next call may hold.
    next: i64,
}

use Step::{Holds, Learns, Settles};

const CASES: [Case; 10] = [
    Case {
        name: "A overruns before B settles: it may have what B does not hold",
        limit: 200,
        steps: &[Holds(50), Holds(100), Settles(0, 300, (100, 200)), Settles(1, 10, (10, 0))],
        after: (110, 200, 0),
        next: 0,
    },
    Case {
        name: "B settles before A overruns: what B left is A's",
        limit: 200,
        steps: &[Holds(50), Holds(100), Settles(1, 10, (10, 0)), Settles(0, 300, (190, 110))],
        after: (200, 110, 0),
        next: 0,
    },
    Case {
        name: "A overruns before B and C settle: each has its hold, and C no more",
        limit: 200,
        steps: &[
            Holds(50),
            Holds(100),
            Holds(50),
            Settles(0, 300, (50, 250)),
            Settles(1, 10, (10, 0)),
            Settles(2, 100, (50, 50)),
        ],
        after: (110, 300, 0),
        next: 0,
    },
    Case {
        name: "B and C settle before A overruns: C gets what B left, A the rest",
        limit: 200,
        steps: &[
            Holds(50),
            Holds(100),
            Holds(50),
            Settles(1, 10, (10, 0)),
            Settles(2, 100, (100, 0)),
            Settles(0, 300, (90, 210)),
        ],
        after: (200, 210, 0),
        next: 0,
    },
    Case {
        name: "the late truth of A meets the hold of B",
        limit: 100,
        steps: &[Holds(70), Settles(0, 40, (40, 0)), Holds(60), Learns(0, 60, (40, 20))],
        after: (40, 20, 60),
        next: 0,
    },
    Case {
        name: "the hold of B stands whatever the overrun",
        limit: 100,
        steps: &[
            Holds(70),
            Settles(0, 40, (40, 0)),
            Holds(60),
            Learns(0, 60, (40, 20)),
            Settles(1, 60, (60, 0)),
        ],
        after: (100, 20, 0),
        next: 0,
    },
    Case {
        name: "a small decrease takes the overrun alone",
        limit: 100,
        steps: &[Holds(50), Settles(0, 130, (100, 30)), Learns(0, 110, (100, 10))],
        after: (100, 10, 0),
        next: 0,
    },
    Case {
        name: "a large decrease takes the overrun first, then the charge",
        limit: 100,
        steps: &[Holds(50), Settles(0, 130, (100, 30)), Learns(0, 70, (70, 0))],
        after: (70, 0, 0),
        next: 30,
    },
    Case {
        name: "hold 1, cost 5, half a unit left",
        limit: 150,
        steps: &[Holds(100), Settles(0, 500, (150, 350))],
        after: (150, 350, 0),
        next: 0,
    },
    Case {
        name: "less than was held is all there again",
        limit: 100,
        steps: &[Holds(100), Settles(0, 40, (40, 0))],
        after: (40, 0, 0),
        next: 60,
    },
];

const fn split((charge, overrun): (i64, i64)) -> Split {
    Split { charge: charge * CENT, overrun: overrun * CENT }
}

#[test]
fn each_case_is_charged_as_the_rule_says() {
    for Case { name, limit, steps, after, next } in CASES {
        let mut real = Real::new(&[(limit * CENT, true)], LimitKind::Money);
        for step in steps {
            match *step {
                Holds(need) => assert!(real.hold(need * CENT, &[0]), "{name}: {step:?}"),
                Settles(call, cost, due) => {
                    assert_eq!(real.settle(call, cost * CENT).money, split(due), "{name}");
                }
                Learns(call, cost, due) => {
                    assert_eq!(real.correct(call, cost * CENT).money, split(due), "{name}");
                }
            }
        }
        let it = real.limit(0);
        let stands = (it.settled / CENT, it.overrun / CENT, it.held / CENT);
        assert_eq!(stands, after, "{name}");
        assert!(!real.hold(next * CENT + 1, &[0]), "{name}: the next call");
        assert!(real.hold(next * CENT, &[0]), "{name}: the next call");
    }
}

async fn settle(engine: &Engine, hold: Hold, cost: i64) -> Split {
    let truth = Truth { certainty: Certainty::Estimated, ..truth(cost, 1) };
    let ended = engine.end(hold, EntryKind::Settle, truth, None).await.unwrap();
    let Ended::Booked { booking, .. } = ended else { panic!("resolved before") };
    booking.money
}

async fn run(world: &World, engine: &Engine, limits: &[LimitKey], steps: &[Step]) {
    let mut holds = Vec::new();
    for step in steps {
        match *step {
            Holds(need) => {
                let order = world.order(limits, need * CENT, 1);
                holds.push(held(engine.hold(order).await.unwrap()).hold);
            }
            Settles(call, cost, due) => {
                let booked = settle(engine, holds[call].clone(), cost * CENT).await;
                assert_eq!(booked, split(due), "{step:?}");
            }
            Learns(call, cost, due) => {
                let id = (world.parties.tenant, holds[call].id);
                let truth = truth(cost * CENT, 1);
                let it = late::settle(&world.store, &world.clock, id, &truth).await.unwrap();
                let Late::Booked { booking, .. } = it else { panic!("{step:?}") };
                assert_eq!(booking.money, split(due), "{step:?}");
            }
        }
    }
}

#[tokio::test]
async fn each_case_comes_out_the_same_on_postgres() {
    let world = World::new();
    let engine = world.engine();
    for Case { name, limit, steps, after, next } in CASES {
        let limits = world.money(limit * CENT).await;
        run(&world, &engine, &limits, steps).await;
        let [_, settled, overrun, open] = world.counters(limits[0]).await;
        assert_eq!((settled / CENT, overrun / CENT, open / CENT), after, "{name}");
        let more = engine.hold(world.order(&limits, next * CENT + 1, 1)).await.unwrap();
        assert!(matches!(more, Verdict::Short(_)), "{name}: the next call");
        held(engine.hold(world.order(&limits, next * CENT, 1)).await.unwrap());
    }
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_call_of_november_that_ends_in_december_is_charged_to_november() {
    let world = World::of_standing_time().await;
    world.set_time("2026-11-30T23:59:50Z".parse().unwrap()).await;
    let november = world.limit(Width::Tenant, LimitKind::Money, UNIT).await;
    let december = world.limit(Width::Tenant, LimitKind::Money, UNIT).await;
    world.set_window(november, ("2026-11-01Z", "2026-12-01Z")).await;
    world.set_window(december, ("2026-12-01Z", "2027-01-01Z")).await;
    let engine = world.engine();
    let early = engine.hold(world.order(&[december], 1, 1)).await.unwrap();
    assert!(matches!(early, Verdict::Closed(it) if it == december));
    let call = held(engine.hold(world.order(&[november], UNIT / 2, 1)).await.unwrap());
    world.set_time("2026-12-01T00:00:10Z".parse().unwrap()).await;
    // Beyond its hold it may have what is left of November, and nothing of December.
    let due = Split { charge: UNIT, overrun: UNIT / 4 };
    assert_eq!(settle(&engine, call.hold, UNIT + UNIT / 4).await, due);
    assert_eq!(world.counters(november).await, [UNIT, UNIT, UNIT / 4, 0]);
    assert_eq!(world.counters(december).await, [UNIT, 0, 0, 0]);
    let row = sqlx::query("select incurred_at::text, booked_at::text from entries");
    let row = row.fetch_one(&mut world.owner().await).await.unwrap();
    let (incurred, booked): (String, String) = (row.get(0), row.get(1));
    assert!(incurred.starts_with("2026-11-30 23:59:50"), "{incurred}");
    assert!(booked.starts_with("2026-12-01 00:00:10"), "{booked}");
    let next = engine.hold(world.order(&[november], 1, 1)).await.unwrap();
    assert!(matches!(next, Verdict::Closed(it) if it == november));
    held(engine.hold(world.order(&[december], UNIT, 1)).await.unwrap());
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_order_whose_time_is_over_takes_nothing_on_either_path() {
    let world = World::of_standing_time().await;
    let last = "2026-11-30T12:00:30Z".parse().unwrap();
    let engine = world.engine();
    let limits = world.money(UNIT).await;
    for (time, is_taken) in [("12:00:30", true), ("12:00:31", false), ("12:00:29", true)] {
        world.set_time(format!("2026-11-30T{time}Z").parse().unwrap()).await;
        let mut order = world.order(&limits, UNIT / 10, 1);
        order.ask.not_after = Some(last);
        let before = world.counters(limits[0]).await;
        let verdict = engine.hold(order).await.unwrap();
        assert_eq!(matches!(verdict, Verdict::Held(_)), is_taken, "{time}: {verdict:?}");
        if !is_taken {
            assert!(matches!(verdict, Verdict::Late), "{time}: {verdict:?}");
            assert_eq!(world.counters(limits[0]).await, before, "{time}");
        }
    }
    // What is refused takes the locked path at once.
    world.set_time("2026-11-30T12:00:31Z".parse().unwrap()).await;
    let mut order = world.order(&limits, 2 * UNIT, 1);
    order.ask.not_after = Some(last);
    assert!(matches!(engine.hold(order).await.unwrap(), Verdict::Late));
    assert_eq!(world.problems().await, Vec::<String>::new());
}

/// Input 3, cache write 3.75, output 15 USD per million tokens.
fn prices() -> Prices {
    let price = |usd: &str| usd.parse::<Price>().unwrap();
    let flat = Prices::of(price("3"), price("15"));
    Prices { base: Rates { cache_write: price("3.75"), ..flat.base }, ..flat }
}

#[tokio::test]
async fn a_cached_prompt_is_priced_to_the_nano() {
    let usage = Usage { input: 3, cache_write: 12_304, output: 550, ..Usage::default() };
    let pico_usd = prices().cost(&usage);
    assert_eq!(pico_usd, 54_399_000_000);
    let fx: FxQuote = terms().fx;
    let cost = fx.cost(pico_usd).unwrap();
    // 54.399 thousandths of a USD.
    assert_eq!((cost.total.nanos(), cost.buffer.nanos()), (54_399_000, 0));
    assert_eq!(fx.bound(pico_usd).unwrap(), cost.total);
    let world = World::new();
    let engine = world.engine();
    let limits = world.money(UNIT).await;
    let call = held(engine.hold(world.order(&limits, UNIT, 13_000)).await.unwrap());
    let tokens = i64::try_from(usage.total()).unwrap();
    let truth = Truth { usage, cost, pico_usd, tokens, ..truth(0, 0) };
    engine.end(call.hold, EntryKind::Settle, truth, None).await.unwrap();
    assert_eq!(world.counters(limits[0]).await, [UNIT, 54_399_000, 0, 0]);
    let exact = "select count(*) from entries where charged = 54399000 and overrun = 0
        and provider_payable = 54399000 and pico_usd = 54399000000 and input = 3 and cache_write = 12304 and output = 550";
    assert_eq!(world.number(exact).await, 1);
    let more = engine.hold(world.order(&limits, UNIT - 54_399_000 + 1, 1)).await.unwrap();
    assert!(matches!(more, Verdict::Short(_)));
    held(engine.hold(world.order(&limits, UNIT - 54_399_000, 1)).await.unwrap());
    assert_eq!(world.problems().await, Vec::<String>::new());
}
