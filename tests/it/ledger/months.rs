//! The ledger's tables of months are there before the months are.

use bursar::budget::months;
use sqlx::Row as _;

use crate::engine::world::{UNIT, World, held, settle, truth};

#[tokio::test]
async fn a_service_that_runs_for_months_makes_their_tables_ahead() {
    let world = World::of_standing_time().await;
    let limits = world.money(9 * UNIT).await;
    let engine = world.engine();
    for (time, month) in [
        ("2029-05-31T23:59:59Z", "entries_2029_05"),
        ("2029-09-01T00:00:00Z", "entries_2029_09"),
        ("2030-02-15T12:00:00Z", "entries_2030_02"),
    ] {
        world.set_time(time.parse().unwrap()).await;
        for _ in 0..2 {
            months::make(&world.store).await.unwrap();
        }
        let order = world.order(&limits, UNIT, 1);
        let hold = held(engine.hold(order).await.unwrap());
        settle(&engine, hold, truth(UNIT, 1)).await;
        let row = sqlx::query(
            "select tableoid::regclass::text from entries where incurred_at = $1::text::timestamptz",
        );
        let row = row.bind(time).fetch_one(&mut world.owner().await).await.unwrap();
        assert_eq!(row.get::<String, _>(0), month);
    }
    // The month after the last that was made, and no further.
    let months = "select count(*) from pg_class where relkind = 'r' and relname in
        ('entries_2029_08', 'entries_2029_12', 'entries_2030_05')";
    assert_eq!(world.number(months).await, 3);
    let beyond =
        "select count(*) from pg_class where relname in ('entries_2030_01', 'entries_2030_06')";
    assert_eq!(world.number(beyond).await, 0);
    assert_eq!(world.problems().await, Vec::<String>::new());
}
