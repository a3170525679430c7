//! Tamper evidence: in the database, and of an export alone.

use bursar::ledger::{
    export::{Format, prove::prove},
    verify,
};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Executor};

use super::{export::export, filled::fill};
use crate::world::World;

const BATCHES: i32 = 90;

/// Seals a ledger, changes it as a superuser can, and sees that it is named.
async fn check(tamper: &'static str, expected: &str) {
    let world = World::new();
    let tenant = fill(&world, BATCHES).await;
    export(&world, Format::Journal, "2026-11").await;
    let store = &world.services.store;
    let honest = verify(store, tenant).await.unwrap();
    assert!(honest.is_ok(), "{:#?}", honest.problems);
    let mut sql = world.superuser().await;
    sql.execute(AssertSqlSafe(tamper)).await.unwrap();
    let found = verify(store, tenant).await.unwrap();
    let named = found.problems.iter().any(|it| it.contains(expected));
    assert!(named, "no `{expected}` in {:#?}", found.problems);
    drop(sql);
    world.end().await;
}

#[tokio::test]
async fn a_changed_word_of_an_entry_is_named_by_its_batch() {
    check(
        "update entries set route = 'the cheapest' where batch_no = 44",
        "batch 44 is not as it was sealed, with 3 entries in place of 3: an entry of it was changed",
    )
    .await;
}

#[tokio::test]
async fn a_missing_entry_is_named_by_its_batch() {
    check(
        "delete from entries where ctid = (select ctid from entries where batch_no = 44 limit 1)
            and batch_no = 44",
        "batch 44 is not as it was sealed, with 2 entries in place of 3: entries are missing",
    )
    .await;
}

#[tokio::test]
async fn an_added_entry_is_named_by_its_batch() {
    check(
        "create temporary table copied as select * from entries where batch_no = 44 limit 1;
         update copied set entry_id = gen_random_uuid(), hold_id = gen_random_uuid();
         insert into entries select * from copied",
        "batch 44 is not as it was sealed, with 4 entries in place of 3: entries were added",
    )
    .await;
}

#[tokio::test]
async fn a_moved_entry_is_named_by_both_batches() {
    let moved = "update entries set batch_no = case batch_no when 44 then 45 else 44 end
        where batch_no in (44, 45)";
    check(moved, "batch 44 is not as it was sealed, with 1 entries in place of 3").await;
    check(moved, "batch 45 is not as it was sealed, with 3 entries in place of 1").await;
}

#[tokio::test]
async fn a_seal_that_is_gone_or_changed_is_named() {
    check("delete from seals", "batches 1 to 90 were sealed, but their seals are gone").await;
    let broken = "update seals set head = sha256(head)";
    check(broken, "the seal of batches 1 to 90 is not the head of its digests").await;
    let broken = "update seals set previous = sha256(previous)";
    check(broken, "the seal of batches 1 to 90 does not follow from the one before").await;
}

#[tokio::test]
async fn a_chain_that_was_made_anew_is_seen_by_its_head() {
    let world = World::new();
    fill(&world, BATCHES).await;
    let (_, before) = export(&world, Format::Journal, "2026-11").await;
    let mut sql = world.superuser().await;
    sql.execute(
        "update entries set route = 'x' where batch_no = 3; delete from seals;
         update ledger_progress set sealed_to = 0",
    )
    .await
    .unwrap();
    let (_, after) = export(&world, Format::Journal, "2026-11").await;
    assert_ne!(before["chain"]["head"], after["chain"]["head"]);
    drop(sql);
    world.end().await;
}

/// Proves a file that somebody has changed, and sees what is said of it.
#[track_caller]
fn changed(file: &str, manifest: &Value, expected: &str) {
    let found = prove(file.as_bytes(), &manifest.to_string()).unwrap();
    let named = found.problems.iter().any(|it| it.contains(expected));
    assert!(named, "no `{expected}` in {:#?}", found.problems);
}

#[tokio::test]
async fn an_export_proves_itself_and_shows_what_was_done_to_it() {
    let world = World::new();
    fill(&world, BATCHES).await;
    let (file, manifest) = export(&world, Format::Journal, "2026-10").await;
    world.end().await;
    let honest = prove(file.as_bytes(), &manifest.to_string()).unwrap();
    assert!(honest.is_ok(), "{:#?}", honest.problems);
    assert_eq!(manifest["rows"], honest.entries);

    let lines: Vec<&str> = file.split_inclusive("\r\n").collect();
    let batch = |at: usize| lines[at].split(',').next().unwrap().to_owned();
    let at = (2..lines.len()).find(|it| batch(*it) == batch(*it - 1)).unwrap();
    let sealed = format!("batch {} is not as it was sealed", batch(at));
    let with = |edit: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = lines.iter().map(|it| (*it).to_owned()).collect();
        edit(&mut lines);
        lines.concat()
    };
    changed(&with(&|it| it[at] = it[at].replace(",false,", ",true,")), &manifest, &sealed);
    changed(&with(&|it| drop(it.remove(at))), &manifest, &sealed);
    changed(&with(&|it| it.insert(at, it[at].clone())), &manifest, "is out of order");
    changed(&with(&|it| it.swap(at - 1, at)), &manifest, "is out of order");
    // A whole batch, and the last line.
    let first = batch(1);
    let without: String =
        lines.iter().filter(|it| !it.starts_with(&format!("{first},"))).copied().collect();
    changed(&without, &manifest, &format!("batch {first} has no entries: they are missing"));
    changed(&lines[..lines.len() - 1].concat(), &manifest, "rows is");
    // Who mends the manifest, too, still has the wrong head.
    let mut forged = manifest.clone();
    forged["chain"]["head"] = "00".repeat(32).into();
    changed(&file, &forged, "does not end at the head");
    // Amounts in the manifest are compared, too.
    let mut forged = manifest.clone();
    forged["control_totals"]["cost"] = "1.00".into();
    changed(&file, &forged, "cost is");
}
