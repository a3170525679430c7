//! Reports say what the entries say, whatever they are parted by.

use bursar::{
    domain::{
        ids::TenantId,
        report::{Dimension, Filter, Grain, Position, Row},
    },
    ledger::{
        report::{Wanted, month_of, report},
        verify,
    },
    proto::{
        self, ReportDimension, ReportEntriesRequest, ReportFilter, ReportGrain,
        ledger_service_server::LedgerService,
    },
};
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, PgConnection};
use tonic::Code;
use tonic_types::StatusExt;

use super::{
    books::Books,
    filled::{BATCHES, fill, number},
};
use crate::world::{World, with_key};

const DIMENSIONS: [(Dimension, &str); 8] = [
    (Dimension::User, "user_id"),
    (Dimension::Server, "server_id"),
    (Dimension::Host, "host_id"),
    (Dimension::Model, "model_id"),
    (Dimension::Backend, "backend_id"),
    (Dimension::Root, "root_id"),
    (Dimension::Kind, "kind"),
    (Dimension::Envelope, "envelope_id"),
];

const GRAINS: [(Option<Grain>, &str); 5] = [
    (None, "'2026-09-01'::timestamp"),
    (Some(Grain::Day), "date_trunc('day', booked_at at time zone 'UTC')"),
    (Some(Grain::Week), "date_trunc('week', booked_at at time zone 'UTC')"),
    (Some(Grain::Month), "date_trunc('month', booked_at at time zone 'UTC')"),
    (Some(Grain::Hour), "date_trunc('hour', booked_at at time zone 'UTC')"),
];

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn wanted(by: Vec<Dimension>, grain: Option<Grain>) -> Wanted {
    let (start, end) = (at("2026-09-01T00:00:00Z"), at("2026-12-01T00:00:00Z"));
    Wanted { by, grain, start, end, compare: false, filter: Filter::default() }
}

/// All rows, page by page.
async fn all(world: &World, tenant: TenantId, wanted: &Wanted, most: i64) -> Vec<Row> {
    let (mut rows, mut after): (Vec<Row>, Option<Position>) = (Vec::new(), None);
    loop {
        let page = report(&world.services.store, tenant, wanted, (after, most)).await.unwrap();
        let Some(last) = page.rows.last() else { return rows };
        after = Some(last.position);
        rows.extend(page.rows);
    }
}

type Line = (i64, i64, i64, i64, i64);

fn lines(rows: &[Row]) -> Vec<Line> {
    let line = |it: &Row| {
        let sums = it.sums;
        (it.position.bucket, sums.entries, sums.input + sums.output, sums.charged, sums.overrun)
    };
    let mut lines: Vec<_> = rows.iter().map(line).collect();
    lines.sort_unstable();
    lines
}

/// The same straight from the entries.
async fn straight(sql: &mut PgConnection, by: &[&str], bucket: &str) -> Vec<Line> {
    let by = [&[""], by].concat().join(", ");
    let query = format!(
        "select (extract(epoch from {bucket}) * 1000000)::bigint, count(*), sum(input + output)::bigint,
            sum(charged)::bigint, sum(overrun)::bigint
         from entries where booked_at >= '2026-09-01Z' and booked_at < '2026-12-01Z'
         group by {bucket}{by}"
    );
    let mut lines: Vec<Line> = sqlx::query_as(AssertSqlSafe(query)).fetch_all(sql).await.unwrap();
    lines.sort_unstable();
    lines
}

#[tokio::test]
async fn any_combination_of_dimensions_and_time_adds_up_to_the_entries() {
    let world = World::new();
    let tenant = fill(&world, BATCHES).await;
    let mut sql = world.superuser().await;
    for (nth, (grain, bucket)) in GRAINS.into_iter().enumerate() {
        for set in (nth..1 << DIMENSIONS.len()).step_by(if nth == 0 { 3 } else { 23 }) {
            let chosen = DIMENSIONS.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            let (by, columns): (Vec<_>, Vec<_>) = chosen.map(|(_, it)| *it).unzip();
            let rows = all(&world, tenant, &wanted(by, grain), 5_000).await;
            assert_eq!(
                lines(&rows),
                straight(&mut sql, &columns, bucket).await,
                "{columns:?} {grain:?}"
            );
        }
    }
    drop(sql);
    world.end().await;
}

#[tokio::test]
async fn sums_that_grow_batch_by_batch_are_those_of_the_entries() {
    let world = World::new();
    let tenant = fill(&world, BATCHES).await;
    let mut sql = world.superuser().await;
    // As if the ledger had grown between reports.
    for last in [1, 2, 50, 399, i64::from(BATCHES)] {
        let grown = "update batches set last_no = $1";
        sqlx::query(grown).bind(last).execute(&mut sql).await.unwrap();
        let whole = wanted(Vec::new(), None);
        let found = report(&world.services.store, tenant, &whole, (None, 1)).await.unwrap();
        assert_eq!(found.through_batch, last);
        let count = "select count(*) from entries e, batches b where e.batch_no <= b.last_no";
        assert_eq!(found.total.entries, number(&mut sql, count).await);
    }
    let verified = verify(&world.services.store, tenant).await.unwrap();
    assert!(verified.is_ok(), "{:#?}", verified.problems);
    for tamper in [
        "update rollups set charged = charged + 1, provider_payable = provider_payable + 1
         where ctid = (select min(ctid) from rollups)",
        "delete from rollups where ctid = (select max(ctid) from rollups)",
    ] {
        sqlx::query(tamper).execute(&mut sql).await.unwrap();
        let verified = verify(&world.services.store, tenant).await.unwrap();
        let named = verified.problems.iter().any(|it| it.starts_with("a sum of 2026-"));
        assert!(named, "{:#?}", verified.problems);
    }
    drop(sql);
    world.end().await;
}

#[tokio::test]
async fn pages_are_the_dearest_first_and_lose_nothing() {
    let world = World::new();
    let tenant = fill(&world, 300).await;
    let wanted = wanted(vec![Dimension::User, Dimension::Server, Dimension::Model], None);
    let whole = all(&world, tenant, &wanted, 5_000).await;
    assert!(whole.len() > 20, "{}", whole.len());
    for most in [1, 7] {
        assert_eq!(all(&world, tenant, &wanted, most).await, whole);
    }
    let costs: Vec<i64> = whole.iter().map(|it| it.sums.charged + it.sums.overrun).collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");
    world.end().await;
}

#[tokio::test]
async fn a_month_is_compared_with_the_month_before() {
    let world = World::new();
    let tenant = fill(&world, BATCHES).await;
    let mut sql = world.superuser().await;
    let (start, end) = month_of(at("2026-10-20T00:00:00Z")).unwrap();
    let october = Wanted { start, end, compare: true, ..wanted(vec![Dimension::User], None) };
    let found = report(&world.services.store, tenant, &october, (None, 100)).await.unwrap();
    let now = "select sum(charged)::bigint from entries where booked_at >= '2026-10-01Z' and booked_at < '2026-11-01Z'";
    let before = "select sum(charged + overrun)::bigint from entries where booked_at >= '2026-09-01Z' and booked_at < '2026-10-01Z'";
    assert_eq!(found.total.charged, number(&mut sql, now).await);
    assert_eq!(found.before, number(&mut sql, before).await);
    assert_eq!(found.rows.iter().map(|it| it.before).sum::<i64>(), found.before);
    drop(sql);
    world.end().await;
}

/// A truth that comes later replaces the estimate: its tokens count once.
#[tokio::test]
async fn a_later_truth_counts_by_the_difference_that_it_makes() {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let (start, end) = (at("2000-01-01T00:00:00Z"), at("2100-01-01T00:00:00Z"));
    let by = vec![Dimension::Kind];
    let wanted = Wanted { start, end, ..wanted(by, None) };
    let found = report(&world.services.store, books.parties.tenant, &wanted, (None, 9)).await;
    let found = found.unwrap();
    let total = found.total;
    // One settled and one expired call of 40 and 60 tokens each; the void counts nothing.
    assert_eq!((total.input, total.output, total.calls, total.entries), (80, 120, 2, 4));
    assert_eq!(total.charged, 2 * 1_144_781);
    assert_eq!(total.pico_usd, 2 * 1_234_567_890);
    assert_eq!(total.estimated, 1);
    world.end().await;
}

fn over_the_wire() -> ReportEntriesRequest {
    ReportEntriesRequest {
        dimensions: vec![ReportDimension::User.into(), ReportDimension::Server.into()],
        start_time: "2026-09-01T00:00:00Z".to_owned(),
        end_time: "2026-12-01T00:00:00Z".to_owned(),
        ..Default::default()
    }
}

#[tokio::test]
async fn names_and_filters_are_those_that_people_know() {
    let world = World::new();
    fill(&world, 300).await;
    let demo = world.demo().await;
    let ask = |filter: ReportFilter| {
        let request = ReportEntriesRequest { filter: Some(filter), ..over_the_wire() };
        world.ledger.report_entries(with_key(demo.finance_key.reveal(), request))
    };
    let all = ask(ReportFilter::default()).await.unwrap().into_inner();
    assert_eq!(all.rows.len(), 28);
    let one = ReportFilter { user: "user-3".to_owned(), ..Default::default() };
    let one = ask(one).await.unwrap().into_inner();
    assert!(one.rows.iter().all(|it| it.user == "user-3" && it.server.starts_with("server-")));
    assert_eq!(one.rows.len(), 4);
    for nobody in [
        ReportFilter { user: "nobody".to_owned(), ..Default::default() },
        ReportFilter { root: "file:///nowhere".to_owned(), ..Default::default() },
        ReportFilter { kind: proto::EntryKind::Correction.into(), ..Default::default() },
    ] {
        let none = ask(nobody).await.unwrap().into_inner();
        assert_eq!((none.rows.len(), none.total.unwrap().entries), (0, 0));
    }
    world.end().await;
}

#[tokio::test]
async fn a_request_that_makes_no_sense_is_refused_with_the_fields_name() {
    let world = World::new();
    let key = world.demo().await.finance_key;
    let twice = vec![ReportDimension::User.into(), ReportDimension::User.into()];
    for (field, request) in [
        ("dimensions[1]", ReportEntriesRequest { dimensions: twice, ..over_the_wire() }),
        ("dimensions[0]", ReportEntriesRequest { dimensions: vec![99], ..over_the_wire() }),
        ("grain", ReportEntriesRequest { grain: 99, ..over_the_wire() }),
        ("page_size", ReportEntriesRequest { page_size: -1, ..over_the_wire() }),
        ("page_token", ReportEntriesRequest { page_token: "AAAA".to_owned(), ..over_the_wire() }),
        ("start_time", ReportEntriesRequest { start_time: String::new(), ..over_the_wire() }),
        ("end_time", ReportEntriesRequest { end_time: "soon".to_owned(), ..over_the_wire() }),
        (
            "end_time",
            ReportEntriesRequest { end_time: "2026-09-01T00:00:00Z".to_owned(), ..over_the_wire() },
        ),
        (
            "compare",
            ReportEntriesRequest {
                compare: true,
                grain: ReportGrain::Day.into(),
                ..over_the_wire()
            },
        ),
        (
            "filter.envelope",
            ReportEntriesRequest {
                filter: Some(ReportFilter { envelope: "x".to_owned(), ..Default::default() }),
                ..over_the_wire()
            },
        ),
    ] {
        let status =
            world.ledger.report_entries(with_key(key.reveal(), request)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{field}");
        assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, field);
    }
    world.end().await;
}

#[tokio::test]
async fn another_tenant_is_told_of_nothing() {
    let world = World::new();
    let tenant = fill(&world, 50).await;
    let org = world.org("Other", "EUR").await;
    let envelope = format!("tenants/{tenant}/envelopes/env_{}", "0".repeat(32));
    for filter in [ReportFilter::default(), ReportFilter { envelope, ..Default::default() }] {
        let request = ReportEntriesRequest { filter: Some(filter), ..over_the_wire() };
        let found = world.ledger.report_entries(with_key(&org.finance, request)).await.unwrap();
        let found = found.into_inner();
        assert_eq!((found.rows.len(), found.through_batch), (0, 0));
    }
    world.end().await;
}
