//! Truth that comes after a call was settled by an estimate.

use bursar::{
    budget::{Verdict, command::Ended, late},
    domain::{
        charge::Split,
        entry::{Certainty, EntryKind, Truth},
    },
};

use super::world::{UNIT, World, held, settle, truth};

fn estimate(money: i64) -> Truth {
    Truth { certainty: Certainty::Estimated, ..truth(money, 1) }
}

#[tokio::test]
async fn an_estimate_gives_way_to_the_exact_truth_once() {
    let world = World::new();
    let engine = world.engine();
    for (estimated, exact, booked) in [
        (UNIT, UNIT / 4, Split { charge: UNIT / 4, overrun: 0 }),
        (UNIT / 2, UNIT, Split { charge: UNIT, overrun: 0 }),
        // Room for three in all: the rest is the tenant's.
        (UNIT, 5 * UNIT, Split { charge: 3 * UNIT, overrun: 2 * UNIT }),
    ] {
        let limits = world.money(3 * UNIT).await;
        let taken = held(engine.hold(world.order(&limits, UNIT, 1)).await.unwrap());
        let id = (world.parties.tenant, taken.hold.id);
        assert!(matches!(settle(&engine, taken, estimate(estimated)).await, Ended::Booked { .. }));
        // Another estimate is no better than the first.
        let it = late::settle(&world.store, &world.clock, id, &estimate(9)).await.unwrap();
        assert!(matches!(it, late::Late::Settled(it) if it.money.charge == estimated));
        let it = late::settle(&world.store, &world.clock, id, &truth(exact, 2)).await.unwrap();
        let late::Late::Booked { booking, .. } = it else { panic!("{it:?}") };
        assert_eq!(booking.money, booked);
        let after = [3 * UNIT, booked.charge, booked.overrun, 0];
        assert_eq!(world.counters(limits[0]).await, after);
        let it = late::settle(&world.store, &world.clock, id, &truth(7, 2)).await.unwrap();
        assert!(matches!(it, late::Late::Settled(it) if it.money == booked));
        assert_eq!(world.counters(limits[0]).await, after);
    }
    let corrections =
        "select count(*) from entries where kind = 'late_settle' and certainty = 'exact'
        and corrects = hold_id and calls = 0";
    assert_eq!(world.number(corrections).await, 3);
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_others_hold_is_not_taken_by_a_late_truth() {
    let world = World::new();
    let engine = world.engine();
    let limits = world.money(UNIT).await;
    let order = |part: i64| world.order(&limits, part * UNIT / 10, 1);
    let first = held(engine.hold(order(7)).await.unwrap());
    let id = (world.parties.tenant, first.hold.id);
    settle(&engine, first, estimate(4 * UNIT / 10)).await;
    let second = held(engine.hold(order(6)).await.unwrap());
    let it = late::settle(&world.store, &world.clock, id, &truth(6 * UNIT / 10, 1)).await.unwrap();
    let late::Late::Booked { booking, .. } = it else { panic!("{it:?}") };
    assert_eq!(booking.money, Split { charge: 4 * UNIT / 10, overrun: 2 * UNIT / 10 });
    settle(&engine, second, truth(6 * UNIT / 10, 1)).await;
    assert_eq!(world.counters(limits[0]).await, [UNIT, UNIT, 2 * UNIT / 10, 0]);
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_call_that_was_given_back_stays_free() {
    let world = World::new();
    let engine = world.engine();
    let limits = world.money(UNIT).await;
    let taken = held(engine.hold(world.order(&limits, UNIT, 1)).await.unwrap());
    let (id, slot) = ((world.parties.tenant, taken.hold.id), taken.slot);
    engine.end(taken.hold, EntryKind::Void, Truth::nothing(None), Some(slot)).await.unwrap();
    let it = late::settle(&world.store, &world.clock, id, &truth(UNIT, 1)).await.unwrap();
    assert!(matches!(it, late::Late::Settled(it) if it.calls == 0 && it.money.charge == 0));
    assert!(matches!(engine.hold(world.order(&limits, UNIT, 1)).await, Ok(Verdict::Held(_))));
}

#[tokio::test]
async fn a_hold_of_november_is_novembers_whenever_it_is_settled() {
    let world = World::new();
    let engine = world.engine();
    let (november, december) = (world.money(9 * UNIT).await, world.money(9 * UNIT).await);
    let taken = held(engine.hold(world.order(&november, UNIT, 1)).await.unwrap());
    // As if it had been taken ten seconds before the end of the month.
    world.tamper("update holds set incurred_at = '2025-11-30T23:59:50Z'").await;
    world
        .tamper(
            "update limits set opens_at = '2025-11-01Z', closes_at = '2025-12-01Z' where held > 0",
        )
        .await;
    let id = (world.parties.tenant, taken.hold.id);
    settle(&engine, taken, estimate(UNIT)).await;
    late::settle(&world.store, &world.clock, id, &truth(2 * UNIT, 1)).await.unwrap();
    let it = "select count(*) from entries where incurred_at = '2025-11-30T23:59:50Z'
        and booked_at > '2026-01-01Z'";
    assert_eq!(world.number(it).await, 2, "incurred then, booked now: the estimate and the truth");
    assert_eq!(world.counters(november[0]).await, [9 * UNIT, 2 * UNIT, 0, 0]);
    assert_eq!(world.counters(december[0]).await, [9 * UNIT, 0, 0, 0]);
    let verdict = engine.hold(world.order(&november, UNIT, 1)).await.unwrap();
    assert!(matches!(verdict, Verdict::Closed(_)), "its window is over for new calls");
    assert_eq!(world.problems().await, Vec::<String>::new());
}
