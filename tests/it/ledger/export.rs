//! Exports: complete, exact to the nano-unit, and safe to open.

use std::collections::HashMap;

use bursar::{
    domain::{csv, tenant::Tenant},
    ledger::export::{
        Export, Format, Month, Piece,
        focus::{columns, unit_price},
    },
    ledger::line::hex,
    proto::{
        ExportFormat, ExportLedgerRequest, export_ledger_response::Part,
        ledger_service_server::LedgerService,
    },
};
use futures_util::StreamExt;
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use tonic::Code;

use super::filled::{BATCHES, fill};
use crate::world::{World, with_key};

/// A file and its manifest.
pub(crate) async fn export(world: &World, format: Format, month: &str) -> (String, Value) {
    let demo = world.demo().await;
    let tenant = Tenant {
        id: demo.tenant,
        display_name: "Demo".to_owned(),
        currency: "EUR".parse().unwrap(),
    };
    let month = Month::parse("month", month).unwrap();
    let store = &world.services.store;
    let mut export = Export::begin(store, &tenant, (format, month)).await.unwrap();
    let (mut file, mut manifest) = (String::new(), None);
    while let Some(piece) = export.next().await.unwrap() {
        match piece {
            Piece::Lines(it) => file.push_str(&it),
            Piece::Manifest(it) => manifest = serde_json::from_str(&it).ok(),
        }
    }
    (file, manifest.unwrap())
}

pub(crate) type Fields = HashMap<String, String>;

pub(crate) fn rows(file: &str) -> Vec<Fields> {
    let mut lines = file.split_terminator("\r\n").map(|it| csv::split(it).unwrap());
    let heads = lines.next().unwrap();
    lines
        .map(|it| {
            assert_eq!(it.len(), heads.len(), "{it:?}");
            heads.iter().cloned().zip(it).collect()
        })
        .collect()
}

/// A plain decimal as a whole number of 1e-18.
fn attos(text: &str) -> i128 {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |it| (-1, it));
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    assert!(rest.len() <= 18, "{text}");
    sign * format!("{whole}{rest:0<18}").parse::<i128>().unwrap()
}

/// What the entries of a month come to, in nano-units.
async fn booked(sql: &mut PgConnection, month: &str) -> i128 {
    let sum: String = sqlx::query_scalar(
        "select coalesce(sum(charged::numeric + overrun), 0)::text from entries
         where to_char(booked_at at time zone 'UTC', 'YYYY-MM') = $1",
    )
    .bind(month)
    .fetch_one(sql)
    .await
    .unwrap();
    sum.parse().unwrap()
}

fn check_manifest(file: &str, manifest: &Value) {
    let hash = hex(&Sha256::digest(file));
    assert_eq!(manifest["sha256"], hash);
    assert_eq!(manifest["bytes"], file.len());
    assert_eq!(manifest["rows"], file.matches("\r\n").count() - 1);
}

#[tokio::test]
async fn the_rows_of_an_export_add_up_to_the_ledger_to_the_nano() {
    for batches in [7, BATCHES] {
        let world = World::new();
        fill(&world, batches).await;
        let mut sql = world.superuser().await;
        for month in ["2026-08", "2026-09", "2026-10", "2026-11"] {
            let ledger = booked(&mut sql, month).await;
            for format in [Format::Focus12, Format::Focus14] {
                let (file, manifest) = export(&world, format, month).await;
                check_manifest(&file, &manifest);
                let rows = rows(&file);
                let sum: i128 = rows.iter().map(|it| attos(&it["BilledCost"])).sum();
                assert_eq!(sum, ledger * 1_000_000_000, "{month} {format:?}");
                let total = manifest["control_totals"]["cost"].as_str().unwrap();
                assert_eq!(attos(total), ledger * 1_000_000_000);
                assert!(rows.len() <= 1 || batches < 100 || rows.len() > 50);
            }
            let (file, manifest) = export(&world, Format::Journal, month).await;
            check_manifest(&file, &manifest);
            let sum =
                |name| rows(&file).iter().map(|it| it[name].parse::<i128>().unwrap()).sum::<i128>();
            assert_eq!(sum("charged") + sum("overrun"), ledger, "{month}");
        }
        drop(sql);
        world.end().await;
    }
}

/// The columns that the specification demands of every file.
const MANDATORY: [&str; 21] = [
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodStart",
    "BillingPeriodEnd",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ServiceCategory",
    "ServiceName",
];

#[test]
fn each_version_has_the_columns_that_it_demands() {
    let (old, new) = (columns(Format::Focus12), columns(Format::Focus14));
    for name in MANDATORY {
        assert!(old.contains(&name), "{name}");
    }
    for gone in ["ProviderName", "PublisherName"] {
        assert!(!new.contains(&gone), "{gone}");
    }
    assert!(new.contains(&"ServiceProviderName") && new.contains(&"HostProviderName"));
    let mut once = old.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), old.len());
}

#[tokio::test]
async fn every_row_keeps_the_rules_of_the_specification() {
    let world = World::new();
    fill(&world, BATCHES).await;
    let (file, _) = export(&world, Format::Focus12, "2026-10").await;
    let rows = rows(&file);
    let may_be_null = ["ChargeClass", "PricingQuantity", "PricingUnit"];
    for row in &rows {
        let is = |name: &str| row[name].as_str();
        for name in MANDATORY.into_iter().filter(|it| !may_be_null.contains(it)) {
            assert!(!is(name).is_empty(), "{name} {row:?}");
        }
        for name in ["BilledCost", "EffectiveCost", "ListCost", "ContractedCost"] {
            assert_eq!(attos(is(name)), attos(is("BilledCost")));
        }
        assert_eq!(is("BillingPeriodStart"), "2026-10-01T00:00:00Z");
        assert_eq!(is("BillingPeriodEnd"), "2026-11-01T00:00:00Z");
        assert!(is("ChargePeriodStart") < is("ChargePeriodEnd"));
        assert!(is("ChargePeriodStart") >= is("BillingPeriodStart"));
        assert!(is("ChargePeriodEnd") <= is("BillingPeriodEnd"));
        assert_eq!(
            (is("BillingCurrency"), is("ServiceCategory")),
            ("EUR", "AI and Machine Learning")
        );
        assert_eq!((is("ChargeClass"), is("CommitmentDiscountStatus")), ("", ""));
        if is("ChargeCategory") == "Usage" {
            let quantity: i128 = is("PricingQuantity").strip_suffix(".0").unwrap().parse().unwrap();
            for name in ["ListUnitPrice", "ContractedUnitPrice"] {
                assert_eq!(attos(is(name)) * quantity, attos(is("BilledCost")), "{row:?}");
            }
            let tags: Value = serde_json::from_str(is("Tags")).unwrap();
            assert!(tags.as_object().unwrap().values().all(Value::is_string));
            for name in ["SkuId", "SkuPriceId", "SkuMeter", "PricingCategory", "ConsumedUnit"] {
                assert!(!is(name).is_empty(), "{name}");
            }
            assert_eq!(is("ChargeFrequency"), "Usage-Based");
        } else {
            assert_eq!((is("ChargeCategory"), is("ConsumedQuantity")), ("Adjustment", ""));
        }
    }
    let adjustments = rows.iter().filter(|it| it["ChargeCategory"] == "Adjustment");
    assert!(adjustments.count() <= 1);
    // One price of a thing in a file.
    let mut prices = HashMap::new();
    for row in rows.iter().filter(|it| it["PricingUnit"] == "Tokens") {
        let price = prices.entry(&row["SkuPriceId"]).or_insert(&row["ListUnitPrice"]);
        assert_eq!(*price, &row["ListUnitPrice"]);
    }
    assert!(prices.len() >= 4, "{prices:?}");
    world.end().await;
}

#[tokio::test]
async fn no_name_becomes_a_formula() {
    let world = World::new();
    fill(&world, 60).await;
    let mut sql = world.superuser().await;
    for (nth, name) in
        ["=1+1", "+1", "-1", "@sum(a1)", "\tx", "'=1", "a,\"b\""].into_iter().enumerate()
    {
        sqlx::query("update users set external_id = $1 where external_id = $2")
            .bind(name)
            .bind(format!("user-{nth}"))
            .execute(&mut sql)
            .await
            .unwrap();
    }
    for (format, column) in [
        (Format::Focus12, "x_PrincipalId"),
        (Format::Focus14, "x_PrincipalId"),
        (Format::Journal, "user"),
    ] {
        let (file, _) = export(&world, format, "2026-09").await;
        let mut names: Vec<_> =
            rows(&file).into_iter().map(|mut it| it.remove(column).unwrap()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|it| !it.is_empty());
        let expected = ["'\tx", "''=1", "'+1", "'-1", "'=1+1", "'@sum(a1)", "a,\"b\""];
        assert_eq!(names, expected, "{format:?}");
    }
    drop(sql);
    world.end().await;
}

#[tokio::test]
async fn an_export_comes_in_pieces_and_ends_with_its_manifest() {
    let world = World::new();
    fill(&world, 300).await;
    let key = world.demo().await.finance_key;
    let ask = |format: i32, month: &str| {
        let request = ExportLedgerRequest { format, month: month.to_owned() };
        world.ledger.export_ledger(with_key(key.reveal(), request))
    };
    let pieces = ask(ExportFormat::Journal.into(), "2026-10").await.unwrap().into_inner();
    let pieces: Vec<_> = pieces.map(Result::unwrap).collect().await;
    let (last, data) = pieces.split_last().unwrap();
    assert!(matches!(last.part, Some(Part::ManifestJson(_))), "{last:?}");
    assert!(data.len() >= 2 && data.iter().all(|it| matches!(it.part, Some(Part::Data(_)))));
    assert!(last.entries_done > 0 && last.entries_done <= last.entries_total);
    for (field, format, month) in [
        ("format", 0, "2026-10"),
        ("format", 99, "2026-10"),
        ("month", 1, ""),
        ("month", 1, "2026-13"),
        ("month", 1, "2026-10-01"),
        ("month", 1, "9998-10"),
    ] {
        let Err(status) = ask(format, month).await else { panic!("{month} was taken") };
        assert_eq!(status.code(), Code::InvalidArgument, "{month}");
        assert!(status.message().starts_with(field), "{status:?}");
    }
    world.end().await;
}

proptest! {
    /// A unit price is off by at most half of its last decimal.
    #[test]
    fn a_unit_price_is_the_nearest_of_eighteen_decimals(
        pico in 0_i128..=1_000_000_000,
        rate in 1_000_000_i64..=1_000_000_000_000,
        buffer in 0_i32..=10_000,
    ) {
        let price = unit_price(pico, rate, buffer).unwrap();
        let denominator = i128::from(rate) * 10_000;
        let exact = pico * 1_000_000 * 1_000_000_000 * i128::from(10_000 + buffer);
        prop_assert!((price * denominator - exact).abs() * 2 <= denominator);
    }

    /// What was written as a field is read as it was.
    #[test]
    fn a_field_is_read_as_it_was_written(texts in prop::collection::vec("[^\r\n]{0,12}", 1..5)) {
        let line = texts.iter().map(|it| csv::text(it)).collect::<Vec<_>>().join(",");
        let read = csv::split(&line).unwrap();
        let read: Vec<_> = read.iter().map(|it| csv::unguarded(it)).collect();
        prop_assert_eq!(read, texts);
    }
}
