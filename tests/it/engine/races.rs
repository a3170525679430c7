//! Many callers, little room.

use bursar::{
    budget::{
        Engine, Verdict,
        command::Ended,
        offer::{Offer, Size},
        reaper,
    },
    domain::{
        limit::{LimitKey, LimitKind, Width},
        price::Price,
    },
};
use tokio::task::JoinSet;

use super::world::{UNIT, World, held, is_long, settle, terms, truth};

/// Holds that were taken of `callers` that want `money` at once.
async fn race(
    world: &World,
    engines: &[Engine],
    limits: &[LimitKey],
    (callers, money): (usize, i64),
) -> usize {
    let mut set = JoinSet::new();
    for n in 0..callers {
        let engine = engines[n % engines.len()].clone();
        let order = world.order(limits, money, 1);
        set.spawn(async move {
            match engine.hold(order).await.unwrap() {
                Verdict::Held(it) => {
                    if n % 3 == 0 {
                        tokio::task::yield_now().await;
                    }
                    let cost = truth(it.hold.need.money.nanos(), 1);
                    assert!(matches!(settle(&engine, *it, cost).await, Ended::Booked { .. }));
                    1
                }
                Verdict::Short(_) => 0,
                Verdict::Closed(_) | Verdict::Late | Verdict::Stopped => panic!("closed"),
            }
        });
    }
    set.join_all().await.into_iter().sum()
}

/// With `BURSAR_LONG=1` ten thousand.
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_races_overspend_nothing() {
    let trials = if is_long() { 10_000 } else { 200 };
    let world = World::new();
    let engines = [world.engine(), world.engine(), world.engine()];
    let wide = world.limit(Width::Tenant, LimitKind::Money, 1_000_000 * UNIT).await;
    let mut granted = 0;
    for trial in 0..trials {
        let room = 1 + trial % 7;
        let callers = 8 + trial % 25;
        let own =
            world.limit(Width::Envelope, LimitKind::Money, i64::try_from(room).unwrap() * UNIT);
        let own = own.await;
        let calls = world.limit(Width::Envelope, LimitKind::Calls, 1_000).await;
        let engines = &engines[..2 + trial % 2];
        let taken = race(&world, engines, &[own, calls, wide], (callers, UNIT)).await;
        assert_eq!(taken, room, "trial {trial}: {callers} callers");
        granted += taken;
    }
    reaper::sweep(&world.store, &engines[0]).await.unwrap();
    let overspent = world.number(
        "select coalesce(sum(greatest(settled + overrun + held - amount, 0)), 0)::bigint from limits",
    );
    let (overspent, left) = (overspent.await, world.number("select count(*) from holds").await);
    let leaked = world.number("select coalesce(sum(held), 0)::bigint from limits").await;
    eprintln!(
        "{trials} races, {granted} calls: {overspent} overspent, {left} holds, {leaked} held"
    );
    assert_eq!((overspent, left, leaked), (0, 0, 0));
    let booked = world.number("select count(*) from entries").await;
    assert_eq!(usize::try_from(booked).unwrap(), granted);
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_at_once_with_room_for_three() {
    let world = World::new();
    let engines = [world.engine(), world.engine()];
    let own = world.limit(Width::Envelope, LimitKind::Money, 100 * UNIT).await;
    let calls = world.limit(Width::Envelope, LimitKind::Calls, 3).await;
    assert_eq!(race(&world, &engines, &[own, calls], (200, UNIT)).await, 3);
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_hold_is_what_counts_until_it_is_settled() {
    let world = World::new();
    let engine = world.engine();
    let limits = world.money(UNIT).await;
    let first = held(engine.hold(world.order(&limits, UNIT, 1)).await.unwrap());
    // Nothing is spent, yet all is held: the refusal says which is which.
    let Verdict::Short(it) = engine.hold(world.order(&limits, 1, 1)).await.unwrap() else {
        panic!("there was no room")
    };
    assert_eq!((it.held, it.settled, it.limit), (UNIT, 0, UNIT));
    // Most of it was not used, and is there again.
    settle(&engine, first, truth(UNIT / 10, 1)).await;
    held(engine.hold(world.order(&limits, UNIT / 2, 1)).await.unwrap());
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_at_once_share_what_there_is() {
    let world = World::new();
    let engines = [world.engine(), world.engine()];
    // Room for two and a half.
    let limits = world.money(UNIT / 100).await;
    let offer = Offer {
        route: None,
        terms: terms(),
        size: Size::Clampable {
            prompt_tokens: 100,
            prompt_pico_usd: 400_000_000,
            answer_price: Price::from_pico_usd(1_200_000),
            answer_tokens: 3_000,
        },
    };
    let mut calls = JoinSet::new();
    for n in 0..50 {
        let (engine, order) = (engines[n % 2].clone(), world.order_of(&limits, offer.clone()));
        calls.spawn(async move { engine.hold(order).await.unwrap() });
    }
    let verdicts = calls.join_all().await;
    let mut tokens: Vec<(u64, bool)> = verdicts
        .iter()
        .filter_map(|it| match it {
            Verdict::Held(it) => Some((it.answer_tokens, it.clamped_by.is_some())),
            Verdict::Short(_) | Verdict::Closed(_) | Verdict::Late | Verdict::Stopped => None,
        })
        .collect();
    tokens.sort_unstable();
    assert_eq!(tokens, [(1_333, true), (3_000, false), (3_000, false)]);
    let [amount, settled, overrun, held] = world.counters(limits[0]).await;
    assert!(settled + overrun + held <= amount);
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_the_tenant_alone_binds_every_envelope() {
    let world = World::new();
    let engines = [world.engine(), world.engine()];
    let wide = world.limit(Width::Tenant, LimitKind::Money, 3 * UNIT).await;
    assert_eq!(race(&world, &engines, &[wide], (60, UNIT)).await, 3);
    assert_eq!(world.counters(wide).await, [3 * UNIT, 3 * UNIT, 0, 0]);
}

#[tokio::test]
async fn an_absurd_maximum_is_clamped_to_the_room() {
    let world = World::new();
    let engine = world.engine();
    let limits = vec![world.limit(Width::Envelope, LimitKind::Tokens, 1_000).await];
    let size = Size::Clampable {
        prompt_tokens: 100,
        prompt_pico_usd: 0,
        answer_price: Price::FREE,
        answer_tokens: 999_999_999,
    };
    let it = held(
        engine
            .hold(world.order_of(&limits, Offer { terms: terms(), route: None, size }))
            .await
            .unwrap(),
    );
    assert_eq!(it.answer_tokens, 900);
    assert_eq!(it.clamped_by.unwrap().limit, 1_000);
}
