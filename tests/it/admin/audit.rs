//! Every change is written down, with who made it, and what it was before and after.

use std::collections::BTreeSet;

use bursar::proto::{self, DESCRIPTORS, admin_service_server::AdminService};
use prost::Message;
use serde_json::Value;
use sqlx::Executor;
use tonic::Code;

use super::writes::{Furnished, furnish};
use crate::world::{World, with_key};

/// The rpcs of a service that change something.
fn mutating(service: &str) -> BTreeSet<String> {
    let all = prost_types::FileDescriptorSet::decode(DESCRIPTORS).unwrap();
    let services = all.file.into_iter().flat_map(|it| it.service);
    let methods = services.filter(|it| it.name() == service).flat_map(|it| it.method);
    let names = methods.map(|it| it.name().to_owned());
    names.filter(|it| !it.starts_with("Get") && !it.starts_with("List")).collect()
}

async fn entries(
    world: &World,
    key: &str,
    wanted: proto::ListAuditEntriesRequest,
) -> Vec<proto::AuditEntry> {
    let wanted = proto::ListAuditEntriesRequest { page_size: 500, ..wanted };
    world.admin.list_audit_entries(with_key(key, wanted)).await.unwrap().into_inner().audit_entries
}

/// Changes everything that there is to change.
async fn change_all(world: &World, key: &str, made: &Furnished) {
    let admin = &world.admin;
    let name = |it: &String| it.clone();
    let price =
        proto::Price { input: "9".to_owned(), output: "9".to_owned(), ..Default::default() };
    let price = proto::SetPriceRequest {
        model: "small".to_owned(),
        price: Some(price),
        ..Default::default()
    };
    admin.set_price(with_key(key, price)).await.unwrap();
    let rate = proto::FxRate {
        currency_code: "EUR".to_owned(),
        usd_per_unit: "1.10".to_owned(),
        fixing_date: "2026-01-02".to_owned(),
        ..Default::default()
    };
    admin
        .set_fx_rate(with_key(key, proto::SetFxRateRequest { fx_rate: Some(rate) }))
        .await
        .unwrap();
    let mut owner = world.superuser().await;
    owner
        .execute(
            "insert into model_bounds (tenant_id, model_id, calls, held_tokens, actual_tokens,
                worst_permille, failures, coarse_at, suspended_at)
             select tenant_id, model_id, 1, 1, 2, 2000, 1, now(), now() from models",
        )
        .await
        .unwrap();
    let model = proto::ResumeModelRequest { model: "small".to_owned(), fine: true };
    admin.resume_model(with_key(key, model)).await.unwrap();
    // Twice each: what changes nothing is no change.
    for _ in 0..2 {
        let request = proto::RevokeCredentialRequest { name: name(&made.credential) };
        admin.revoke_credential(with_key(key, request)).await.unwrap();
        let request = proto::RevokeGrantRequest { name: name(&made.grant) };
        admin.revoke_grant(with_key(key, request)).await.unwrap();
        let request = proto::ResumeSamplingRequest { name: name(&made.stop) };
        admin.resume_sampling(with_key(key, request)).await.unwrap();
    }
    let request = proto::DeleteBudgetRequest { name: name(&made.budget) };
    admin.delete_budget(with_key(key, request)).await.unwrap();
}

#[tokio::test]
async fn every_rpc_that_changes_something_leaves_a_row() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    let made = furnish(&world, key).await;
    change_all(&world, key, &made).await;
    let all = entries(&world, key, proto::ListAuditEntriesRequest::default()).await;
    let seen: BTreeSet<String> = all.iter().map(|it| it.method.clone()).collect();
    let mutating = mutating("AdminService");
    assert!(mutating.len() >= 15, "{mutating:?}");
    assert_eq!(seen, mutating);
    for it in &all {
        assert!(it.resource.starts_with(&org.tenant), "{it:?}");
        assert!(it.credential.contains("/credentials/key_") && !it.time.is_empty(), "{it:?}");
        let is_new = it.method.starts_with("Create")
            || ["SetFxRate", "StopSampling"].contains(&it.method.as_str());
        assert_eq!(it.old.is_empty(), is_new, "{it:?}");
        for row in [&it.old, &it.new].into_iter().filter(|it| !it.is_empty()) {
            assert!(serde_json::from_str::<Value>(row).unwrap().is_object(), "{row}");
        }
    }
    // Four keys with the tenant's first; each thing revoked twice, once written.
    let by = |method: &str| all.iter().filter(|it| it.method == method).count();
    assert_eq!([by("CreateTenant"), by("CreateCredential"), by("RevokeGrant")], [2, 3, 1]);
    assert_eq!([by("RevokeCredential"), by("ResumeSampling")], [1, 1]);
    let revoked = all.iter().find(|it| it.method == "RevokeGrant").unwrap();
    let [old, new]: [Value; 2] =
        [&revoked.old, &revoked.new].map(|it| serde_json::from_str(it).unwrap());
    assert!(old["revoked_at"].is_null() && new["revoked_at"].is_string());
    assert_eq!(old["default_calls"], new["default_calls"]);
    let priced = all.iter().find(|it| it.method == "SetPrice").unwrap();
    let [old, new]: [Value; 2] =
        [&priced.old, &priced.new].map(|it| serde_json::from_str(it).unwrap());
    assert_eq!([&old["price"]["input"], &new["price"]["input"]], [500_000, 9_000_000]);
    world.end().await;
}

#[tokio::test]
async fn the_audit_is_found_by_what_who_and_which_rpc_page_by_page() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    let made = furnish(&world, key).await;
    change_all(&world, key, &made).await;
    let wanted =
        proto::ListAuditEntriesRequest { resource: made.grant.clone(), ..Default::default() };
    let of_grant = entries(&world, key, wanted).await;
    let methods: Vec<&str> = of_grant.iter().map(|it| it.method.as_str()).collect();
    assert_eq!(methods, ["RevokeGrant", "CreateGrant"], "newest first");
    assert_eq!(of_grant[0].old, of_grant[1].new);
    let wanted = proto::ListAuditEntriesRequest {
        method: "CreateUser".to_owned(),
        start_time: "2020-01-01T00:00:00Z".to_owned(),
        ..Default::default()
    };
    assert_eq!(entries(&world, key, wanted.clone()).await.len(), 1);
    let past = proto::ListAuditEntriesRequest {
        start_time: String::new(),
        end_time: wanted.start_time,
        ..Default::default()
    };
    assert_eq!(entries(&world, key, past).await.len(), 0);
    let all = entries(&world, key, proto::ListAuditEntriesRequest::default()).await;
    let by = proto::ListAuditEntriesRequest {
        credential: all[0].credential.clone(),
        ..Default::default()
    };
    // All but what the platform did.
    assert_eq!(entries(&world, key, by).await.len(), all.len() - 2);
    let (mut paged, mut page_token) = (Vec::new(), String::new());
    loop {
        let request =
            proto::ListAuditEntriesRequest { page_size: 4, page_token, ..Default::default() };
        let page =
            world.admin.list_audit_entries(with_key(key, request)).await.unwrap().into_inner();
        paged.extend(page.audit_entries);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(paged, all);
    let wrong =
        proto::ListAuditEntriesRequest { resource: "limits/x".to_owned(), ..Default::default() };
    let status = world.admin.list_audit_entries(with_key(key, wrong)).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    world.end().await;
}

#[tokio::test]
async fn no_secret_is_in_the_audit_and_nobody_can_change_it() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let made = furnish(&world, &org.operator).await;
    change_all(&world, &org.operator, &made).await;
    let mut owner = world.superuser().await;
    let rows: Vec<String> = sqlx::query_scalar("select to_jsonb(a)::text from audit_entries a")
        .fetch_all(&mut owner)
        .await
        .unwrap();
    assert!(rows.len() > 15);
    let digests: Vec<String> = sqlx::query_scalar("select encode(digest, 'hex') from credentials")
        .fetch_all(&mut owner)
        .await
        .unwrap();
    let secrets = [&org.operator, &org.finance, &org.host]
        .map(|it| it.splitn(3, '_').nth(2).unwrap().to_owned());
    for row in &rows {
        for secret in digests.iter().chain(&secrets) {
            assert!(!row.contains(secret.as_str()), "{row}");
        }
        assert!(!row.contains("alice"), "what people are called must stay erasable: {row}");
    }
    owner.execute("set role bursar_app").await.unwrap();
    let own = org.tenant.strip_prefix("tenants/ten_").unwrap();
    let see = sqlx::AssertSqlSafe(format!("set bursar.tenants = '{own}'"));
    owner.execute(see).await.unwrap();
    for tampered in [
        "update audit_entries set method = ''",
        "delete from audit_entries",
        "truncate audit_entries",
    ] {
        let refused = owner.execute(tampered).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{refused}");
    }
    drop(owner);
    world.end().await;
}
