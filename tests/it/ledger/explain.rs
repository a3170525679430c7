//! How an amount came about: made anew from its parts, equal to the nano-unit.

use bursar::{
    domain::ids::EntryId,
    proto::{
        ExplainEntryRequest, ExplainEntryResponse, ListEntriesRequest,
        ledger_service_server::LedgerService,
    },
};
use sqlx::Executor;
use tonic::{Code, Status};

use super::{books::Books, filled::fill};
use crate::world::{World, with_key};

async fn explain(world: &World, key: &str, name: &str) -> Result<ExplainEntryResponse, Status> {
    let request = ExplainEntryRequest { name: name.to_owned() };
    world.ledger.explain_entry(with_key(key, request)).await.map(tonic::Response::into_inner)
}

async fn names(world: &World, key: &str) -> Vec<String> {
    let request = ListEntriesRequest { page_size: 200, ..Default::default() };
    let page = world.ledger.list_entries(with_key(key, request)).await.unwrap().into_inner();
    page.entries.into_iter().map(|it| it.name).collect()
}

fn line<'a>(it: &'a ExplainEntryResponse, label: &str) -> &'a str {
    it.lines.iter().find(|it| it.label == label).map_or("", |it| it.text.as_str())
}

#[tokio::test]
async fn every_entry_is_made_anew_from_its_parts() {
    let world = World::new();
    Books::of_demo(&world).await;
    let key = world.demo().await.finance_key;
    let books = names(&world, key.reveal()).await;
    assert_eq!(books.len(), 4);
    let mut ways = Vec::new();
    for name in books {
        let found = explain(&world, key.reveal(), &name).await.unwrap();
        assert!(found.matches, "{found:#?}");
        assert_eq!(found.booked, found.recomputed);
        ways.push(line(&found, "way").to_owned());
    }
    for part in ["certainly nothing", "the whole hold", "a cost in USD"] {
        assert!(ways.iter().any(|it| it.contains(part)), "{part}: {ways:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn an_explanation_names_tokens_prices_rate_and_rounding() {
    let world = World::new();
    fill(&world, 90).await;
    let key = world.demo().await.finance_key;
    let mut by_tokens = 0;
    for name in names(&world, key.reveal()).await {
        let found = explain(&world, key.reveal(), &name).await.unwrap();
        // What was filled in as expired has a cost of its own in USD.
        assert!(found.matches, "{found:#?}");
        if line(&found, "way").starts_with("tokens times prices")
            && !line(&found, "input").is_empty()
        {
            by_tokens += 1;
            assert!(line(&found, "input").contains(" tokens at "), "{found:#?}");
            assert!(
                line(&found, "rate").starts_with("1 EUR = 1.10 USD, fixed on 20"),
                "{found:#?}"
            );
            assert!(line(&found, "rounding").starts_with("rounded half-even"), "{found:#?}");
            assert!(line(&found, "prices").starts_with("version prc_"), "{found:#?}");
        }
    }
    assert!(by_tokens > 50, "{by_tokens}");
    let mut sql = world.superuser().await;
    sql.execute(
        "update entries set charged = charged + 1, provider_payable = provider_payable + 1
         where kind = 'settle'",
    )
    .await
    .unwrap();
    let changed = names(&world, key.reveal()).await;
    let mut differ = 0;
    for name in &changed {
        differ += usize::from(!explain(&world, key.reveal(), name).await.unwrap().matches);
    }
    assert!(differ > 50, "{differ}");
    drop(sql);
    world.end().await;
}

#[tokio::test]
async fn an_entry_of_another_tenant_is_not_found_like_one_that_never_was() {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let org = world.org("Other", "EUR").await;
    let id = EntryId::from(books.settled.id);
    let foreign = explain(&world, &org.finance, &id.to_string()).await.unwrap_err();
    let named = format!("tenants/{}/entries/{id}", books.parties.tenant);
    let named = explain(&world, &org.finance, &named).await.unwrap_err();
    let fresh: EntryId = world.services.clock.id();
    let missing = explain(&world, &org.finance, &fresh.to_string()).await.unwrap_err();
    for it in [&foreign, &named] {
        assert_eq!((it.code(), it.message()), (Code::NotFound, missing.message()));
    }
    let nonsense = explain(&world, &org.finance, "x").await.unwrap_err();
    assert_eq!(nonsense.code(), Code::InvalidArgument);
    world.end().await;
}
