//! Each rpc is for its roles alone, and says nothing to anybody else.

use bursar::proto::{self, admin_service_server::AdminService};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::every::{bearer, every};
use crate::world::{World, with_key};

/// The secret part of a key.
fn secret(key: &str) -> &str {
    // What follows the tenant, underscores of its own included.
    key.splitn(3, '_').nth(2).unwrap_or(key)
}

fn assert_quiet(status: &Status, canary: &str) {
    let details = String::from_utf8_lossy(status.details()).into_owned();
    for shown in [status.to_string(), format!("{status:?}"), details] {
        assert!(!shown.contains(canary), "{shown}");
    }
}

#[tokio::test]
async fn every_rpc_refuses_every_wrong_role() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let keys = [
        ("platform", world.platform().await),
        ("operator", org.operator),
        ("finance", org.finance),
        ("host", org.host),
    ];
    for (role, key) in keys {
        for (rpc, right, answer) in every(&world, &bearer(&key)).await {
            let code = answer.as_ref().err().map(Status::code);
            if right.role(role) {
                let fine = [None, Some(Code::InvalidArgument)].contains(&code);
                assert!(fine, "{rpc} by {role}: {answer:?}");
            } else {
                assert_eq!(code, Some(Code::PermissionDenied), "{rpc} by {role}");
            }
            if let Err(status) = answer {
                assert_quiet(&status, secret(&key));
            }
        }
    }
    world.end().await;
}

#[tokio::test]
async fn without_exactly_one_valid_key_every_rpc_answers_alike() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let key = &org.operator;
    let mut stranger = key.clone();
    let last = if stranger.pop() == Some('A') { 'E' } else { 'A' };
    stranger.push(last);
    let twice = [bearer(key), bearer(key)].concat();
    let plain = |text: &str| vec![("authorization", text.to_owned())];
    let mut texts = Vec::new();
    for headers in [
        Vec::new(),
        twice,
        bearer("nonsense"),
        bearer(&stranger),
        bearer(&"x".repeat(10_000)),
        plain(key),
        plain(&format!("Basic {key}")),
        plain(&format!("Bearer  {key}")),
    ] {
        for (rpc, _, answer) in every(&world, &headers).await {
            let status = answer.unwrap_err();
            assert_eq!(status.code(), Code::Unauthenticated, "{rpc} {headers:?}");
            assert_quiet(&status, secret(key));
            texts.push((status.message().to_owned(), status.details().to_vec()));
        }
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
    world.end().await;
}

#[tokio::test]
async fn headers_that_repeat_the_tenant_must_agree_with_the_key() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let other = world.org("Other", "EUR").await;
    let said = |tenant: &str| {
        let mut headers = bearer(&org.finance);
        headers.push(("bursar-tenant", tenant.to_owned()));
        headers
    };
    let bare = org.tenant.strip_prefix("tenants/").unwrap();
    for fine in [bare, &org.tenant] {
        let answers = every(&world, &said(fine)).await;
        assert!(answers.iter().any(|(rpc, _, it)| *rpc == "verify_ledger" && it.is_ok()));
    }
    let mut both = said(bare);
    both.push(("bursar-tenant", other.tenant.clone()));
    for wrong in [said(&other.tenant), said(""), both] {
        for (rpc, _, answer) in every(&world, &wrong).await {
            let status = answer.unwrap_err();
            assert_eq!(status.code(), Code::InvalidArgument, "{rpc}");
            assert_eq!(status.get_details_error_info().unwrap().reason, "HEADER_MISMATCH");
            assert_eq!(status.metadata().get("mcp-error-code").unwrap(), "-32020");
            assert_quiet(&status, &other.tenant);
        }
    }
    world.end().await;
}

#[test]
fn headers_that_repeat_user_and_server_must_agree_with_the_body() {
    use bursar::transport::grpc::auth::parties_agree;
    let mut metadata = tonic::metadata::MetadataMap::new();
    parties_agree(&metadata, "alice", "files").unwrap();
    metadata.insert("bursar-user", "alice".parse().unwrap());
    metadata.insert("bursar-server", "files".parse().unwrap());
    parties_agree(&metadata, "alice", "files").unwrap();
    for (user, server, field) in
        [("bob", "files", "bursar-user"), ("alice", "web", "bursar-server")]
    {
        let status = parties_agree(&metadata, user, server).unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(status.get_details_error_info().unwrap().reason, "HEADER_MISMATCH");
        assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, field);
    }
}

#[tokio::test]
async fn who_comes_too_fast_is_told_when_to_come_back() {
    let world = World::shedding(2);
    let operator = world.demo().await.operator_key;
    let mut last = Ok(());
    for _ in 0..8 {
        let request = with_key(operator.reveal(), proto::GetTenantRequest {});
        last = world.admin.get_tenant(request).await.map(|_| ());
    }
    let status = last.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.get_details_retry_info().unwrap().retry_delay.is_some());
    world.end().await;
}

#[tokio::test]
async fn a_key_in_any_text_field_is_never_quoted_back() {
    let world = World::new();
    let org = world.org("Acme", "EUR").await;
    let canary = secret(&org.operator);
    let spoiled = format!("{}\n", org.operator);
    let named = || spoiled.clone();
    let key = &org.operator;
    let admin = &world.admin;
    let budget = proto::Budget { user: named(), time_zone: named(), ..Default::default() };
    let model = proto::Model { alias: named(), backend: named(), ..Default::default() };
    let failed = [
        admin
            .create_user(with_key(key, proto::CreateUserRequest { user: named() }))
            .await
            .map(drop),
        admin
            .revoke_grant(with_key(key, proto::RevokeGrantRequest { name: named() }))
            .await
            .map(drop),
        admin
            .create_budget(with_key(key, proto::CreateBudgetRequest { budget: Some(budget) }))
            .await
            .map(drop),
        admin
            .create_model(with_key(key, proto::CreateModelRequest { model: Some(model) }))
            .await
            .map(drop),
        admin
            .set_price(with_key(
                key,
                proto::SetPriceRequest { model: named(), ..Default::default() },
            ))
            .await
            .map(drop),
    ];
    for answer in failed {
        assert_quiet(&answer.unwrap_err(), canary);
    }
    world.end().await;
}
