//! Tenants cannot see each other: what is foreign looks like what is missing.

use bursar::{
    domain::ids::{BudgetId, CredentialId, GrantId, Id, StopId},
    proto::{self, admin_service_server::AdminService},
};
use sqlx::{AssertSqlSafe, Executor};
use tonic::{Code, Status};

use super::writes::{Furnished, furnish};
use crate::world::{World, with_key};

fn same(foreign: &Status, missing: &Status) {
    assert_eq!(foreign.code(), Code::NotFound);
    assert_eq!(foreign.code(), missing.code());
    assert_eq!(foreign.message(), missing.message());
    assert_eq!(foreign.details(), missing.details());
}

fn fresh<I: Id + std::fmt::Display>(world: &World) -> String {
    world.services.clock.id::<I>().to_string()
}

fn bare(name: &str) -> String {
    name.rsplit('/').next().unwrap().to_owned()
}

#[tokio::test]
async fn lists_show_nothing_of_another_tenant() {
    let world = World::new();
    let acme = world.org("Acme", "EUR").await;
    furnish(&world, &acme.operator).await;
    let other = world.org("Other", "EUR").await;
    let (admin, key) = (&world.admin, &other.operator);
    macro_rules! empty {
        ($($rpc:ident $request:ident $field:ident,)*) => {$(
            let request = with_key(key, proto::$request::default());
            let found = admin.$rpc(request).await.unwrap().into_inner().$field;
            assert!(found.is_empty(), "{found:?}");
            let request = with_key(&acme.operator, proto::$request::default());
            assert!(!admin.$rpc(request).await.unwrap().into_inner().$field.is_empty());
        )*};
    }
    empty![
        list_users ListUsersRequest users,
        list_servers ListServersRequest servers,
        list_grants ListGrantsRequest grants,
        list_budgets ListBudgetsRequest budgets,
        list_backends ListBackendsRequest backends,
        list_models ListModelsRequest models,
        list_stops ListStopsRequest stops,
    ];
    let request = with_key(key, proto::ListAuditEntriesRequest::default());
    let own = admin.list_audit_entries(request).await.unwrap().into_inner().audit_entries;
    // Its own tenant and three keys.
    assert_eq!(own.len(), 4);
    assert!(own.iter().all(|it| it.name.starts_with(&other.tenant)), "{own:?}");
    let request = with_key(key, proto::ListCredentialsRequest::default());
    let own = admin.list_credentials(request).await.unwrap().into_inner().credentials;
    assert_eq!(own.len(), 3);
    assert!(own.iter().all(|it| it.name.starts_with(&other.tenant)), "{own:?}");
    world.end().await;
}

#[tokio::test]
async fn a_name_of_another_tenant_is_not_found_like_one_that_never_was() {
    let world = World::new();
    let acme = world.org("Acme", "EUR").await;
    let Furnished { credential, grant, budget, stop } = furnish(&world, &acme.operator).await;
    let other = world.org("Other", "EUR").await;
    let (admin, key) = (&world.admin, &other.operator);
    macro_rules! alike {
        ($($rpc:ident $request:ident $name:ident $id:ident,)*) => {$(
            let call = |name: String| admin.$rpc(with_key(key, proto::$request { name }));
            let missing = call(fresh::<$id>(&world)).await.unwrap_err();
            same(&call($name.clone()).await.unwrap_err(), &missing);
            same(&call(bare(&$name)).await.unwrap_err(), &missing);
        )*};
    }
    alike![
        revoke_credential RevokeCredentialRequest credential CredentialId,
        revoke_grant RevokeGrantRequest grant GrantId,
        delete_budget DeleteBudgetRequest budget BudgetId,
        resume_sampling ResumeSamplingRequest stop StopId,
    ];
    let price = || {
        Some(proto::Price { input: "1".to_owned(), output: "1".to_owned(), ..Default::default() })
    };
    let set = |model: &str| {
        let model = model.to_owned();
        admin.set_price(with_key(
            key,
            proto::SetPriceRequest { model, price: price(), price_source: None },
        ))
    };
    same(&set("small").await.unwrap_err(), &set("nothing").await.unwrap_err());
    // And all of it is still there for its own tenant.
    let mine = proto::RevokeCredentialRequest { name: credential };
    admin.revoke_credential(with_key(&acme.operator, mine)).await.unwrap();
    world.end().await;
}

#[tokio::test]
async fn what_another_tenant_has_can_be_neither_named_nor_is_it_in_the_way() {
    let world = World::new();
    let acme = world.org("Acme", "EUR").await;
    furnish(&world, &acme.operator).await;
    let other = world.org("Other", "EUR").await;
    let budget = proto::Budget {
        user: "alice".to_owned(),
        period: proto::Period::Day.into(),
        calls: Some(1),
        ..Default::default()
    };
    let request = proto::CreateBudgetRequest { budget: Some(budget) };
    let status = world.admin.create_budget(with_key(&other.operator, request)).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    furnish(&world, &other.operator).await;
    world.end().await;
}

/// Whatever a query forgets: the tables themselves show a service its tenant alone.
#[tokio::test]
async fn no_table_shows_the_service_a_row_of_another_tenant() {
    let world = World::new();
    let acme = world.org("Acme", "EUR").await;
    furnish(&world, &acme.operator).await;
    let mut sql = world.superuser().await;
    let tables: Vec<String> = sqlx::query_scalar(
        "select table_name::text from information_schema.columns
         where table_schema = 'public' and column_name = 'tenant_id' order by 1",
    )
    .fetch_all(&mut sql)
    .await
    .unwrap();
    assert!(tables.len() >= 17, "{tables:?}");
    sql.execute("set role bursar_app").await.unwrap();
    let mut seen = [0, 0, 0];
    let own = acme.tenant.strip_prefix("tenants/ten_").unwrap();
    for (at, tenant) in [own, "00000000-0000-7000-8000-0000000000bb", ""].into_iter().enumerate() {
        sql.execute(AssertSqlSafe(format!("set bursar.tenants = '{tenant}'"))).await.unwrap();
        // Partitions are reached by way of their parent alone.
        for table in tables.iter().filter(|it| !it.starts_with("entries_")) {
            let count = AssertSqlSafe(format!("select count(*) from {table}"));
            let rows: i64 = sqlx::query_scalar(count).fetch_one(&mut sql).await.unwrap();
            seen[at] += rows;
        }
    }
    // Four keys, and one each of tenant, host, user, server, backend, model, price,
    // grant, budget and stop; and twelve changes. And the price once more, as a tariff.
    assert_eq!(seen, [27, 0, 0]);
    drop(sql);
    world.end().await;
}
