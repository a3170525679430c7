//! `verify` says that an honest ledger adds up, and names what somebody changed.

use bursar::{
    domain::{
        ids::{BudgetId, EntryId, HoldId, LimitId},
        limit::LimitKind,
    },
    ledger::{Verification, verify, verify_all},
};
use sqlx::{AssertSqlSafe, Executor, PgConnection};
use uuid::Uuid;

use super::books::Books;
use crate::world::World;

const STRAY: &str = "00000000-0000-7000-8000-0000000000aa";

fn stray() -> Uuid {
    STRAY.parse().unwrap()
}

/// Uses a ledger, sees that it adds up, changes it as a superuser can, and sees
/// that the change is named in so many words.
async fn check<const N: usize>(
    tamper: impl Fn(&Books) -> String,
    expected: impl Fn(&Books) -> [String; N],
) {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let (store, tenant) = (&world.services.store, books.parties.tenant);
    let honest = verify(store, tenant).await.unwrap();
    assert_eq!(honest, Verification { entries: 4, problems: Vec::new() });
    let mut sql = world.superuser().await;
    change(&mut sql, tamper(&books)).await;
    let found = verify(store, tenant).await.unwrap();
    assert!(!found.is_ok());
    for sentence in expected(&books) {
        let named = found.problems.iter().any(|it| it.contains(&sentence));
        assert!(named, "no `{sentence}` in {:#?}", found.problems);
    }
    drop(sql);
    world.end().await;
}

async fn change(sql: &mut PgConnection, statements: String) {
    sql.execute(AssertSqlSafe(statements)).await.unwrap();
}

fn set_limit(id: LimitId, what: &str) -> String {
    format!("update limits set {what} where limit_id = '{}'", id.uuid())
}

#[tokio::test]
async fn a_fresh_ledger_adds_up() {
    let world = World::new();
    let demo = world.demo().await;
    let found = verify(&world.services.store, demo.tenant).await.unwrap();
    assert_eq!(found, Verification::default());
    world.end().await;
}

#[tokio::test]
async fn a_changed_charge_counter_is_named() {
    check(
        |it| set_limit(it.limit(LimitKind::Money), "settled = settled + 1000000"),
        |it| {
            let limit = it.limit(LimitKind::Money);
            // Twice the settled cost of about 0.00114 with its buffer.
            [format!(
                "limit {limit} (money): settled is 0.003289562, but its entries sum to 0.002289562"
            )]
        },
    )
    .await;
}

#[tokio::test]
async fn a_changed_overrun_counter_is_named() {
    check(
        |it| set_limit(it.limit(LimitKind::Tokens), "overrun = 7"),
        |it| {
            let limit = it.limit(LimitKind::Tokens);
            [format!("limit {limit} (tokens): overrun is 7, but its entries sum to 0")]
        },
    )
    .await;
}

#[tokio::test]
async fn a_limit_that_was_raised_without_anybody_having_said_so_is_named() {
    check(
        |it| set_limit(it.limit(LimitKind::Calls), "amount = amount + 1"),
        |it| {
            let (limit, envelope) = (it.limit(LimitKind::Calls), it.parties.envelope);
            [format!(
                "limit {limit} (calls) of envelope {envelope}: amount is 21, but what it was \
                 opened with and its extensions come to 20"
            )]
        },
    )
    .await;
    check(
        |it| set_limit(it.limit(LimitKind::Calls), "closes_at = closes_at + interval '1 hour'"),
        |it| {
            let limit = it.limit(LimitKind::Calls);
            [format!("limit {limit} (calls) of envelope {}: life is", it.parties.envelope)]
        },
    )
    .await;
}

#[tokio::test]
async fn a_released_hold_counter_is_named() {
    check(
        |it| set_limit(it.limit(LimitKind::Calls), "held = 0"),
        |it| {
            let limit = it.limit(LimitKind::Calls);
            [format!("limit {limit} (calls): held is 0, but its open holds sum to 1")]
        },
    )
    .await;
}

#[tokio::test]
async fn a_deleted_entry_is_missed() {
    check(
        |it| format!("delete from entries where entry_id = '{}'", it.settled.id.uuid()),
        |it| {
            let limit = it.limit(LimitKind::Calls);
            [
                format!("limit {limit} (calls): settled is 2, but its entries sum to 1"),
                "batches 1 to 1 have no entries: entries are missing".to_owned(),
            ]
        },
    )
    .await;
}

#[tokio::test]
async fn the_last_entry_is_missed_too_though_it_moved_nothing() {
    check(
        |it| format!("delete from entries where entry_id = '{}'", it.voided.id.uuid()),
        |_| ["batches 2 to 2 have no entries: entries are missing".to_owned()],
    )
    .await;
}

#[tokio::test]
async fn a_changed_charge_is_named() {
    check(
        |it| {
            format!(
                "alter table entries drop constraint entries_check;
                 update entries set charged = charged + 1 where entry_id = '{}'",
                it.settled.id.uuid()
            )
        },
        |it| {
            let (entry, limit) = (EntryId::from(it.settled.id), it.limit(LimitKind::Money));
            [
                format!(
                    "entry {entry} does not balance: 0.001144782 is charged and overrun, \
                     0.001144781 is owed and buffer"
                ),
                "all postings sum to -0.000000001 instead of 0.00".to_owned(),
                format!(
                    "limit {limit} (money): settled is 0.002289562, \
                     but its entries sum to 0.002289563"
                ),
            ]
        },
    )
    .await;
}

#[tokio::test]
async fn a_charge_changed_on_both_sides_is_named_by_its_limit() {
    check(
        |it| {
            format!(
                "update entries set charged = charged - 1000, provider_payable = provider_payable - 1000
                 where entry_id = '{}'",
                it.settled.id.uuid()
            )
        },
        |it| {
            let limit = it.limit(LimitKind::Money);
            [format!(
                "limit {limit} (money): settled is 0.002289562, but its entries sum to 0.002288562"
            )]
        },
    )
    .await;
}

#[tokio::test]
async fn a_charge_beyond_the_envelope_is_named() {
    check(
        |it| {
            let lower = set_limit(it.limit(LimitKind::Calls), "amount = 1");
            format!("alter table limits drop constraint limits_check1; {lower}")
        },
        |it| {
            let (limit, envelope) = (it.limit(LimitKind::Calls), it.parties.envelope);
            [format!("limit {limit} (calls) of envelope {envelope}: settled is 2, above its 1")]
        },
    )
    .await;
}

/// Puts a copy of the open hold into the table, changed.
fn copied_hold(it: &Books, change: &str) -> String {
    let id = it.open.id.uuid();
    format!(
        "create temp table copy as select * from holds where hold_id = '{id}';
         update copy set {change};
         insert into holds select * from copy"
    )
}

/// Puts a copy of the settled entry into the table, changed.
fn copied_entry(it: &Books, change: &str) -> String {
    let id = it.settled.id.uuid();
    format!(
        "create temp table copy as select * from entries where entry_id = '{id}';
         update copy set {change};
         insert into entries select * from copy"
    )
}

#[tokio::test]
async fn an_orphan_hold_is_named_by_its_limits() {
    check(
        |it| copied_hold(it, &format!("hold_id = '{STRAY}'")),
        |it| {
            let limit = it.limit(LimitKind::Tokens);
            [format!("limit {limit} (tokens): held is 500, but its open holds sum to 1000")]
        },
    )
    .await;
}

#[tokio::test]
async fn a_hold_on_a_limit_that_does_not_exist_is_named() {
    check(
        |it| {
            let id = it.open.id.uuid();
            format!(
                "update holds set limit_ids = limit_ids || '{STRAY}'::uuid where hold_id = '{id}'"
            )
        },
        |it| {
            let limit = LimitId::from(stray());
            [format!("hold {} names limit {limit}, which does not exist", it.open.id)]
        },
    )
    .await;
}

#[tokio::test]
async fn a_deleted_limit_is_missed() {
    check(
        |it| format!("delete from limits where limit_id = '{}'", it.limit(LimitKind::Money).uuid()),
        |it| {
            let (entry, limit) = (EntryId::from(it.settled.id), it.limit(LimitKind::Money));
            [format!("entry {entry} names limit {limit}, which does not exist")]
        },
    )
    .await;
}

#[tokio::test]
async fn a_hold_that_came_back_after_it_was_booked_is_named() {
    check(
        |it| copied_hold(it, &format!("hold_id = '{}'", it.settled.id.uuid())),
        |it| {
            let (hold, entry) = (it.settled.id, EntryId::from(it.settled.id));
            [format!("hold {hold} is still open, but entry {entry} (settle) has booked it")]
        },
    )
    .await;
}

#[tokio::test]
async fn a_hold_resolved_twice_is_named() {
    check(
        |it| copied_entry(it, &format!("entry_id = '{STRAY}', kind = 'void'")),
        |it| {
            let hold: HoldId = it.settled.id;
            [format!("hold {hold} was resolved by 2 entries instead of 1")]
        },
    )
    .await;
}

#[tokio::test]
async fn a_correction_of_nothing_is_named() {
    check(
        |it| {
            let id = it.expired.id.uuid();
            format!("update entries set corrects = '{STRAY}' where corrects = '{id}'")
        },
        |_| {
            let gone = EntryId::from(stray());
            [format!("corrects entry {gone}, which does not exist")]
        },
    )
    .await;
}

#[tokio::test]
async fn a_correction_that_points_at_nothing_is_named() {
    check(
        |it| {
            let id = it.expired.id.uuid();
            format!("update entries set corrects = null where corrects = '{id}'")
        },
        |_| ["is a correction and does not name the entry that it corrects".to_owned()],
    )
    .await;
}

#[tokio::test]
async fn a_budget_that_is_charged_above_its_amount_is_named() {
    check(
        |it| {
            let id = it.limit(LimitKind::Calls).uuid();
            format!(
                "update limits set amount = 1, envelope_id = null, budget_id = '{STRAY}', width = 6
                 where limit_id = '{id}'"
            )
        },
        |it| {
            let (limit, budget) = (it.limit(LimitKind::Calls), BudgetId::from(stray()));
            [format!("limit {limit} (calls) of budget {budget}: settled is 2, above its 1")]
        },
    )
    .await;
}

#[tokio::test]
async fn a_batch_number_that_went_back_is_named() {
    check(
        |_| "update batches set last_no = 1".to_owned(),
        |it| {
            let entry = EntryId::from(it.voided.id);
            [format!("entry {entry} is of batch 2, but the last batch is 1")]
        },
    )
    .await;
}

#[tokio::test]
async fn a_hold_that_nobody_sweeps_is_named() {
    check(
        |it| {
            let id = it.open.id.uuid();
            format!(
                "update holds set expires_at = now() - interval '300.5 seconds' where hold_id = '{id}'"
            )
        },
        |it| [format!("hold {} is open", it.open.id)],
    )
    .await;
}

#[tokio::test]
async fn what_is_wrong_elsewhere_is_named_to_nobody_but_who_runs_the_service() {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let other = world.org("Other", "USD").await;
    let limit = books.limit(LimitKind::Calls);
    let mut sql = world.superuser().await;
    change(&mut sql, set_limit(limit, "held = 5")).await;
    let other = other.tenant.strip_prefix("tenants/").unwrap().parse().unwrap();
    let store = &world.services.store;
    assert_eq!(verify(store, other).await.unwrap(), Verification::default());
    let all = verify_all(store).await.unwrap();
    let tenant = books.parties.tenant;
    let sentence =
        format!("{tenant}: limit {limit} (calls): held is 5, but its open holds sum to 1");
    assert_eq!(all, Verification { entries: 4, problems: vec![sentence] });
    drop(sql);
    world.end().await;
}

#[tokio::test]
async fn at_most_a_thousand_problems_are_named() {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let mut sql = world.superuser().await;
    let from = books.limit(LimitKind::Calls).uuid();
    let many = format!(
        "insert into limits (tenant_id, limit_id, width, envelope_id, kind, amount, settled, enforcing, opens_at)
         select tenant_id, gen_random_uuid(), 0, envelope_id, kind, 20, 3, true, now()
         from limits, generate_series(1, 1100) where limit_id = '{from}'"
    );
    change(&mut sql, many).await;
    let found = verify(&world.services.store, books.parties.tenant).await.unwrap();
    assert_eq!(found.problems.len(), 1_000);
    drop(sql);
    world.end().await;
}
