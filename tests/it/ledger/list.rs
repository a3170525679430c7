//! Pages of entries: complete, in order, and only for whom they are meant.

use bursar::{
    domain::ids::EntryId,
    proto::{
        self, CredentialRole, EntryKind, ListEntriesRequest, ListEntriesResponse,
        ledger_service_server::LedgerService,
    },
};
use tonic::Status;

use super::books::Books;
use crate::world::{World, with_key};

async fn list(
    world: &World,
    key: &str,
    request: ListEntriesRequest,
) -> Result<ListEntriesResponse, Status> {
    world.ledger.list_entries(with_key(key, request)).await.map(tonic::Response::into_inner)
}

async fn count(world: &World, key: &str, request: ListEntriesRequest) -> usize {
    list(world, key, request).await.unwrap().entries.len()
}

fn euro_nanos(nanos: i32) -> proto::Money {
    proto::Money { currency_code: "EUR".to_owned(), units: 0, nanos }
}

#[tokio::test]
async fn an_entry_tells_all_that_finance_asks() {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let demo = world.demo().await;
    let key = demo.finance_key.reveal();
    let request = ListEntriesRequest { call: books.settled.call.to_string(), ..Default::default() };
    let found = list(&world, key, request).await.unwrap();
    let [entry] = found.entries.as_slice() else { panic!("{found:?}") };
    let tenant = demo.tenant;
    assert_eq!(entry.name, format!("tenants/{tenant}/entries/{}", EntryId::from(books.settled.id)));
    assert_eq!(entry.kind(), EntryKind::Settle);
    let names = [&entry.user, &entry.server, &entry.host];
    assert_eq!(names, ["demo-user", "demo-server", "demo-host"]);
    assert_eq!(entry.envelope, format!("tenants/{tenant}/envelopes/{}", books.parties.envelope));
    assert_eq!(entry.usage.map(|it| (it.input, it.output)), Some((40, 60)));
    assert_eq!(
        (entry.hold.clone(), entry.charge.clone()),
        (Some(euro_nanos(5_000_000)), Some(euro_nanos(1_144_781)))
    );
    assert_eq!(entry.overrun, Some(euro_nanos(0)));
    let usd = entry.provider_usd.clone().unwrap();
    assert_eq!((usd.currency_code.as_str(), usd.nanos), ("USD", 1_234_568));
    assert_eq!((entry.estimated, entry.reported, entry.attempt), (false, false, 1));
    let sides: i32 = entry.postings.iter().map(|it| it.amount.clone().unwrap().nanos).sum();
    assert_eq!((entry.postings.len(), sides), (3, 0));
    world.end().await;
}

#[tokio::test]
async fn pages_are_newest_first_and_lose_nothing() {
    let world = World::new();
    Books::of_demo(&world).await;
    let demo = world.demo().await;
    let (mut names, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = ListEntriesRequest { page_size: 1, page_token, ..Default::default() };
        let page = list(&world, demo.operator_key.reveal(), request).await.unwrap();
        names.extend(page.entries.into_iter().map(|it| it.name));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(names.len(), 4);
    let bare: Vec<_> = names.iter().map(|it| it.rsplit('_').next().unwrap()).collect();
    assert!(bare.is_sorted_by(|a, b| a > b), "{bare:?}");
    world.end().await;
}

#[tokio::test]
async fn a_host_sees_its_own_calls_alone() {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let demo = world.demo().await;
    let all = ListEntriesRequest::default;
    assert_eq!(count(&world, demo.host_key.reveal(), all()).await, 4);
    let other = world.key(demo.operator_key.reveal(), CredentialRole::Host, "other-host").await;
    assert_eq!(count(&world, &other, all()).await, 0);
    let envelope = books.parties.envelope.to_string();
    let named = ListEntriesRequest { envelope, ..Default::default() };
    assert_eq!(count(&world, &other, named.clone()).await, 0);
    assert_eq!(count(&world, demo.host_key.reveal(), named).await, 4);
    world.end().await;
}

#[tokio::test]
async fn filters_narrow_and_a_name_that_is_unknown_finds_nothing() {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let demo = world.demo().await;
    let key = demo.finance_key.reveal();
    let user = |it: &str| ListEntriesRequest { user: it.to_owned(), ..Default::default() };
    let server = |it: &str| ListEntriesRequest { server: it.to_owned(), ..Default::default() };
    assert_eq!(count(&world, key, user("demo-user")).await, 4);
    assert_eq!(count(&world, key, user("nobody")).await, 0);
    assert_eq!(count(&world, key, server("demo-server")).await, 4);
    assert_eq!(count(&world, key, server("nothing")).await, 0);
    let call = books.expired.call.to_string();
    let late = ListEntriesRequest { call, ..Default::default() };
    let late = list(&world, key, late).await.unwrap().entries;
    let kinds: Vec<_> = late.iter().map(proto::Entry::kind).collect();
    assert_eq!(kinds, [EntryKind::LateSettle, EntryKind::Expire]);
    assert_eq!(late[0].corrects, late[1].name);
    world.end().await;
}

#[tokio::test]
async fn another_tenant_sees_nothing_whatever_it_names() {
    let world = World::new();
    let books = Books::of_demo(&world).await;
    let org = world.org("Other", "EUR").await;
    let tenant = books.parties.tenant;
    for key in [&org.host, &org.finance, &org.operator] {
        for envelope in [
            String::new(),
            books.parties.envelope.to_string(),
            format!("tenants/{tenant}/envelopes/{}", books.parties.envelope),
        ] {
            let request = ListEntriesRequest { envelope, ..Default::default() };
            assert_eq!(list(&world, key, request).await.unwrap(), ListEntriesResponse::default());
        }
        let call = books.settled.call.to_string();
        let request = ListEntriesRequest { call, ..Default::default() };
        assert_eq!(list(&world, key, request).await.unwrap(), ListEntriesResponse::default());
    }
    world.end().await;
}
