//! A closed month: checked before, final after.

use bursar::{
    ledger::{export::Format, verify},
    proto::{CloseMonthRequest, CloseMonthResponse, ledger_service_server::LedgerService},
};
use sqlx::{AssertSqlSafe, Executor};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::{
    books::Books,
    export::{export, rows},
    filled::{BATCHES, fill},
};
use crate::world::{World, with_key};

async fn close(
    world: &World,
    month: &str,
    validate_only: bool,
) -> Result<CloseMonthResponse, Status> {
    let key = world.demo().await.finance_key;
    let request = CloseMonthRequest { month: month.to_owned(), validate_only };
    world.ledger.close_month(with_key(key.reveal(), request)).await.map(tonic::Response::into_inner)
}

fn failed(it: &CloseMonthResponse) -> Vec<&str> {
    it.checks.iter().filter(|it| !it.passed).map(|it| it.name.as_str()).collect()
}

#[tokio::test]
async fn months_are_closed_in_order_and_for_good() {
    let world = World::new();
    let tenant = fill(&world, BATCHES).await;
    let early = close(&world, "2026-10", false).await.unwrap();
    assert_eq!((failed(&early), early.closed), (vec!["in_order"], false));
    let checked = close(&world, "2026-09", true).await.unwrap();
    assert_eq!((failed(&checked), checked.closed), (vec![], false));
    let closed = close(&world, "2026-09", false).await.unwrap();
    assert!(closed.closed && closed.entries > 100, "{closed:?}");
    assert_eq!((closed.head.len(), closed.charge), (64, checked.charge));
    let again = close(&world, "2026-09", false).await.unwrap_err();
    assert_eq!(again.code(), Code::FailedPrecondition);
    assert_eq!(again.get_details_error_info().unwrap().reason, "PERIOD_CLOSED");
    assert!(close(&world, "2026-10", false).await.unwrap().closed);
    assert!(verify(&world.services.store, tenant).await.unwrap().is_ok());

    // Neither may the service change what is closed.
    let mut sql = world.superuser().await;
    sql.execute(AssertSqlSafe(format!(
        "set role bursar_app; set bursar.tenants = '{}'",
        tenant.uuid()
    )))
    .await
    .unwrap();
    for forbidden in ["update periods set entries = 0", "delete from periods", "delete from seals"]
    {
        let refused = sql.execute(forbidden).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{refused}");
    }
    sql.execute("reset role; update periods set entries = entries + 1").await.unwrap();
    let found = verify(&world.services.store, tenant).await.unwrap();
    assert!(found.problems.iter().any(|it| it.starts_with("2026-09 was closed with")));
    drop(sql);
    world.end().await;
}

#[tokio::test]
async fn a_month_that_runs_or_does_not_add_up_stays_open() {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let now = books.limits[0].opens_at.to_string();
    let running = close(&world, &now[..7], false).await.unwrap();
    assert!(failed(&running).contains(&"over"), "{running:?}");
    assert!(failed(&running).contains(&"holds"), "{running:?}");
    world.end().await;

    let world = World::new();
    fill(&world, 60).await;
    let mut sql = world.superuser().await;
    sql.execute("delete from entries where batch_no = 7").await.unwrap();
    let broken = close(&world, "2026-09", false).await.unwrap();
    assert_eq!((failed(&broken), broken.closed), (vec!["verified"], false));
    sql.execute("delete from price_versions").await.unwrap();
    let unpriced = close(&world, "2026-09", false).await.unwrap();
    assert!(failed(&unpriced).contains(&"prices"), "{unpriced:?}");
    drop(sql);
    world.end().await;
}

/// A truth that comes after the close is booked in the open month and points back.
#[tokio::test]
async fn what_comes_after_the_close_is_a_correction_in_the_open_month() {
    let world = World::new();
    let tenant = fill(&world, BATCHES).await;
    assert!(close(&world, "2026-09", false).await.unwrap().closed);
    let (closed, _) = export(&world, Format::Focus12, "2026-09").await;
    let mut sql = world.superuser().await;
    sql.execute(
        "create temporary table late as
            select * from entries where kind = 'expire' and booked_at < '2026-10-01Z' limit 1;
         update late set entry_id = gen_random_uuid(), kind = 'late_settle', corrects = entry_id,
            batch_no = 901, booked_at = '2026-11-30 12:00Z', calls = 0, input = 10, output = 5,
            pico_usd = -11000, charged = -10, overrun = 0, provider_payable = -10, fx_buffer = 0,
            certainty = 'exact';
         insert into entries select * from late;
         update batches set last_no = 901",
    )
    .await
    .unwrap();
    let (file, _) = export(&world, Format::Focus12, "2026-11").await;
    let corrections = rows(&file).into_iter().filter(|it| it["ChargeClass"] == "Correction");
    let corrections: Vec<_> = corrections.collect();
    assert_eq!(corrections.len(), 1);
    assert_eq!(corrections[0]["x_CorrectedMonth"], "2026-09");
    assert_eq!(corrections[0]["BilledCost"], "-0.00000001");
    let (unchanged, _) = export(&world, Format::Focus12, "2026-09").await;
    assert_eq!(unchanged, closed);
    assert!(verify(&world.services.store, tenant).await.unwrap().is_ok());
    drop(sql);
    world.end().await;
}
