//! One call, and what a tenant may see of it.

use bursar::{
    budget::{Verdict, command::Ended},
    domain::{
        charge::Split,
        limit::{LimitKind, Width},
        outcome::Bounded,
    },
};
use sqlx::{Connection, PgConnection};

use super::world::{UNIT, World, held, settle, settle_again, truth};

#[tokio::test]
async fn a_call_is_held_and_settled_on_every_limit_that_applies() {
    let world = World::new();
    let engine = world.engine();
    let mut limits = Vec::new();
    for kind in [LimitKind::Calls, LimitKind::Money, LimitKind::Tokens] {
        limits.push(world.limit(Width::Envelope, kind, 10 * UNIT).await);
        for width in [Width::UserServer, Width::User, Width::Server, Width::Tenant] {
            limits.push(world.limit(width, kind, 20 * UNIT).await);
        }
    }
    for round in 1..=3 {
        let order = world.order(&limits, UNIT, 500);
        let taken = held(engine.hold(order).await.unwrap());
        assert_eq!(taken.limits.len(), 15);
        assert!(taken.hold.limits.is_sorted());
        for key in &limits {
            assert!(world.counters(*key).await[3] > 0);
        }
        let Ended::Booked { booking, limits: after, .. } =
            settle(&engine, taken, truth(UNIT / 4, 300)).await
        else {
            panic!("resolved before")
        };
        assert_eq!(booking.calls, 1);
        assert_eq!(booking.money, Split { charge: UNIT / 4, overrun: 0 });
        assert_eq!(booking.tokens, Split { charge: 300, overrun: 0 });
        assert_eq!(after.len(), 15);
        for key in &limits {
            let [_, settled, overrun, held] = world.counters(*key).await;
            assert!([round, round * UNIT / 4, round * 300].contains(&settled));
            assert_eq!((overrun, held), (0, 0));
        }
    }
    assert_eq!(
        world.number("select count(*) from entries where batch_no between 1 and 3").await,
        3
    );
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_refusal_names_the_limit_and_leaves_no_lock_behind() {
    let world = World::new();
    let engine = world.engine();
    let own = world.limit(Width::Envelope, LimitKind::Money, 5 * UNIT).await;
    let wide = world.limit(Width::Tenant, LimitKind::Money, UNIT).await;
    let Verdict::Short(status) = engine.hold(world.order(&[own, wide], 2 * UNIT, 1)).await.unwrap()
    else {
        panic!("there was no room")
    };
    assert_eq!((status.kind, status.limit), (Bounded::Counted(LimitKind::Money), UNIT));
    // Another replica, or an operator, is not made to wait.
    let mut owner = world.owner().await;
    sqlx::query("set lock_timeout = '200ms'").execute(&mut owner).await.unwrap();
    sqlx::query("update limits set amount = amount + 1").execute(&mut owner).await.unwrap();
}

#[tokio::test]
async fn settling_twice_books_once() {
    let world = World::new();
    let engine = world.engine();
    let limits = world.money(5 * UNIT).await;
    let taken = held(engine.hold(world.order(&limits, UNIT, 1)).await.unwrap());
    let hold = taken.hold.clone();
    assert!(matches!(settle(&engine, taken, truth(UNIT, 1)).await, Ended::Booked { .. }));
    for engine in [&engine, &world.engine()] {
        let again = settle_again(engine, &hold, truth(UNIT, 1)).await;
        assert!(matches!(again, Ended::AlreadyResolved));
    }
    assert_eq!(world.number("select count(*) from entries").await, 1);
    assert_eq!(world.problems().await, Vec::<String>::new());
}

#[tokio::test]
async fn tenants_do_not_see_each_other() {
    let world = World::new();
    let engine = world.engine();
    let limits = world.money(5 * UNIT).await;
    let taken = held(engine.hold(world.order(&limits, UNIT, 1)).await.unwrap());
    settle(&engine, taken, truth(UNIT, 1)).await;
    let _open = held(engine.hold(world.order(&limits, UNIT, 1)).await.unwrap());
    let mut db = PgConnection::connect(&world.db.url).await.unwrap();
    sqlx::query("set role bursar_app").execute(&mut db).await.unwrap();
    let mine = world.parties.tenant.uuid().to_string();
    let other = world.clock.id::<bursar::domain::ids::TenantId>().uuid().to_string();
    for (tenants, seen) in [(None, 0), (Some(String::new()), 0), (Some(other), 0), (Some(mine), 4)]
    {
        if let Some(tenants) = tenants {
            let set = sqlx::query("select set_config('bursar.tenants', $1, false)");
            set.bind(tenants).execute(&mut db).await.unwrap();
        }
        let rows: i64 = sqlx::query_scalar(
            "select (select count(*) from limits) + (select count(*) from holds)
                + (select count(*) from entries) + (select count(*) from batches)",
        )
        .fetch_one(&mut db)
        .await
        .unwrap();
        assert_eq!(rows, seen);
    }
    for sql in [
        "update entries set charged = 0",
        "delete from entries",
        "truncate entries",
        "update limits set amount = 0",
        "update holds set money = 0",
        "alter table limits disable row level security",
    ] {
        assert!(sqlx::query(sql).execute(&mut db).await.is_err(), "{sql}");
    }
}
