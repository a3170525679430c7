//! Envelope tokens: who makes them, what they are for, how they end.

use bursar::proto::{
    self, ListTokensRequest, MintTokenRequest, RefreshTokenRequest, RevokeTokenRequest,
    sampling_service_client::SamplingServiceClient,
};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tonic::Code;

use super::{Server, chat, with};
use crate::call::world::{World, limits, says, signed};

#[tokio::test]
async fn a_token_is_for_inference_alone() {
    let world = World::start().await;
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let key = world.mint(&envelope).await.key;
    let mut codes = Vec::new();
    let mut sampling = SamplingServiceClient::new(world.channel.clone());
    codes.push(sampling.create_message(signed(&key, says("hi"))).await.map(drop));
    macro_rules! try_all {
        ($client:expr, $($rpc:ident $request:ident,)*) => {$(
            let request = signed(&key, proto::$request::default());
            codes.push($client.$rpc(request).await.map(drop));
        )*};
    }
    try_all![
        world.envelopes(),
        open_envelope OpenEnvelopeRequest,
        get_envelope GetEnvelopeRequest,
        list_envelopes ListEnvelopesRequest,
        close_envelope CloseEnvelopeRequest,
        reserve ReserveRequest,
        settle SettleRequest,
        void VoidRequest,
        mint_token MintTokenRequest,
        list_tokens ListTokensRequest,
        refresh_token RefreshTokenRequest,
        revoke_token RevokeTokenRequest,
    ];
    try_all![world.admin(), list_users ListUsersRequest, get_tenant GetTenantRequest,];
    for it in codes {
        assert_eq!(it.unwrap_err().code(), Code::Unauthenticated);
    }
    // Only its digest is kept.
    let secret = key.rsplit('_').next().unwrap();
    let kept = format!("select count(*) from envelope_tokens t where t::text like '%{secret}%'");
    assert_eq!(world.number(&kept).await, 0);
    world.close().await;
}

#[tokio::test]
async fn a_token_ends_with_its_envelope_at_the_latest() {
    let world = World::start().await;
    let opened = world.try_open(limits(5, 60, 100_000_000)).await.unwrap();
    let mint =
        |seconds| MintTokenRequest { envelope: opened.name.clone(), seconds, ..Default::default() };
    let long = world.try_mint(mint(86_400)).await.unwrap();
    assert_eq!(long.expires_at, opened.closes_at);
    let short = world.try_mint(mint(1)).await.unwrap();
    assert!(short.expires_at < opened.closes_at);
    for seconds in [-1, 86_401] {
        let status = world.try_mint(mint(seconds)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{seconds}");
    }
    let server = Server::new(&world, &short.key);
    let refresh = |name: &str, seconds| {
        let request = RefreshTokenRequest { name: name.to_owned(), seconds };
        let (mut envelopes, request) = (world.envelopes(), world.host(request));
        async move { envelopes.refresh_token(request).await.map(tonic::Response::into_inner) }
    };
    let refreshed = refresh(&short.name, 30).await.unwrap();
    assert!(refreshed.expires_at > short.expires_at && refreshed.key.is_empty());
    // A refresh never takes away.
    assert_eq!(refresh(&short.name, 1).await.unwrap().expires_at, refreshed.expires_at);
    tokio::time::sleep(std::time::Duration::from_millis(1_200)).await;
    server.ask(&chat("hi")).await.answer();
    world.revoke_token(&short.name).await;
    server.ask(&chat("hi")).await.error(401);
    let status = refresh(&short.name, 30).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    world.close().await;
}

#[tokio::test]
async fn a_token_narrows_its_grant_and_never_widens_it() {
    let world = World::start().await;
    let envelope = world.open(limits(9, 60, 400_000_000)).await;
    let mint = |models: &[&str]| MintTokenRequest {
        envelope: envelope.clone(),
        models: models.iter().map(|it| (*it).to_owned()).collect(),
        ..Default::default()
    };
    let token = world.try_mint(mint(&["scripted-small"])).await.unwrap();
    let server = Server::new(&world, &token.key);
    let listed = server.get("/v1/models").await.answer();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    server.get("/v1/models/scripted-large").await.error(404);
    let large = with(chat("hi"), &serde_json::json!({ "model": "scripted-large" }));
    assert_eq!(server.ask(&large).await.answer()["model"], "scripted-small");
    world.regrant(|it| it.models = vec!["scripted-small".to_owned()]).await;
    let status = world.try_mint(mint(&["scripted-small", "scripted-large"])).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("models[1]"), "{}", status.message());
    world.close().await;
}

#[tokio::test]
async fn a_host_sees_its_own_tokens_and_nobody_elses() {
    let world = World::start().await;
    let envelope = world.open(limits(9, 60, 100_000_000)).await;
    let other = world.open(limits(9, 60, 100_000_000)).await;
    let mine = [world.mint(&envelope).await, world.mint(&envelope).await];
    world.mint(&other).await;
    let list = |key: &str, envelope: &str, page_token: &str| {
        let request = ListTokensRequest {
            page_size: 1,
            page_token: page_token.to_owned(),
            envelope: envelope.to_owned(),
        };
        let (mut envelopes, request) = (world.envelopes(), signed(key, request));
        async move { envelopes.list_tokens(request).await.unwrap().into_inner() }
    };
    let host = world.demo.host_key.reveal();
    let first = list(host, &envelope, "").await;
    let second = list(host, &envelope, &first.next_page_token).await;
    assert_eq!(first.tokens[0].name, mine[1].name);
    assert_eq!(second.tokens[0].name, mine[0].name);
    assert!(second.next_page_token.is_empty() && first.tokens[0].key.is_empty());
    // Another application of the same tenant.
    let credential = proto::CreateCredentialRequest {
        display_name: "another".to_owned(),
        role: proto::CredentialRole::Host.into(),
        host: "another".to_owned(),
        ..Default::default()
    };
    let made = world.admin().create_credential(world.operator(credential)).await.unwrap();
    let stranger = made.into_inner().key;
    assert!(list(&stranger, "", "").await.tokens.is_empty());
    let name = mine[0].name.clone();
    let missing = "tok_0000000000007000800000000000dead".to_owned();
    for name in [name, missing] {
        let revoke = RevokeTokenRequest { name: name.clone() };
        let refresh = RefreshTokenRequest { name, seconds: 0 };
        let mut envelopes = world.envelopes();
        let status = envelopes.revoke_token(signed(&stranger, revoke)).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::NotFound, "token not found"));
        let status = envelopes.refresh_token(signed(&stranger, refresh)).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::NotFound, "token not found"));
    }
    let theirs = MintTokenRequest { envelope: envelope.clone(), ..Default::default() };
    let status = world.envelopes().mint_token(signed(&stranger, theirs)).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    // Operators look and revoke; finance looks; neither mints.
    let (operator, finance) = (world.demo.operator_key.reveal(), world.demo.finance_key.reveal());
    assert_eq!(list(operator, "", "").await.tokens.len(), 1);
    assert_eq!(list(finance, "", "").await.tokens.len(), 1);
    for key in [operator, finance] {
        let request = MintTokenRequest { envelope: envelope.clone(), ..Default::default() };
        let status = world.envelopes().mint_token(signed(key, request)).await.unwrap_err();
        assert_eq!(status.code(), Code::PermissionDenied);
    }
    let revoke = || RevokeTokenRequest { name: mine[0].name.clone() };
    let status = world.envelopes().revoke_token(signed(finance, revoke())).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);
    world.envelopes().revoke_token(signed(operator, revoke())).await.unwrap();
    Server::new(&world, &mine[0].key).ask(&chat("hi")).await.error(401);
    Server::new(&world, &mine[1].key).ask(&chat("hi")).await.answer();
    world.close().await;
}

#[tokio::test]
async fn another_tenants_tokens_are_not_there() {
    let world = World::start().await;
    let envelope = world.open(limits(9, 60, 100_000_000)).await;
    let token = world.mint(&envelope).await;
    let other = "ten_00000000000070008000000000000abc";
    let foreign = format!("tenants/{other}/tokens/{}", token.name.rsplit('/').next().unwrap());
    let revoke = RevokeTokenRequest { name: foreign };
    let status = world.envelopes().revoke_token(world.host(revoke)).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::NotFound, "token not found"));
    let list = ListTokensRequest {
        envelope: format!("tenants/{other}/envelopes/{}", envelope.rsplit('/').next().unwrap()),
        ..Default::default()
    };
    let listed = world.envelopes().list_tokens(world.host(list)).await.unwrap().into_inner();
    assert!(listed.tokens.is_empty());
    // The tenant in a key is the only one in which it is looked for.
    let own = world.demo.tenant.uuid().simple().to_string();
    let moved = token.key.replace(&own, other.strip_prefix("ten_").unwrap());
    assert_ne!(moved, token.key);
    Server::new(&world, &moved).ask(&chat("hi")).await.error(401);
    // Whatever a query forgets: the table shows the service its tenant alone.
    let mut sql = PgConnection::connect(&world.db.url).await.unwrap();
    sql.execute("set role bursar_app").await.unwrap();
    for (tenant, rows) in [(own.as_str(), 1), (other.strip_prefix("ten_").unwrap(), 0), ("", 0)] {
        sql.execute(AssertSqlSafe(format!("set bursar.tenants = '{tenant}'"))).await.unwrap();
        let count: i64 = sqlx::query_scalar("select count(*) from envelope_tokens")
            .fetch_one(&mut sql)
            .await
            .unwrap();
        assert_eq!(count, rows, "{tenant}");
    }
    drop(sql);
    world.close().await;
}

#[tokio::test]
async fn tokens_of_an_envelope_are_bounded_and_old_ones_go() {
    let world = World::start().await;
    let envelope = world.open(limits(9, 60, 100_000_000)).await;
    let first = world.mint(&envelope).await;
    for _ in 1..100 {
        world.mint(&envelope).await;
    }
    let request = || MintTokenRequest { envelope: envelope.clone(), ..Default::default() };
    let status = world.try_mint(request()).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    world.revoke_token(&first.name).await;
    world.mint(&envelope).await;
    let age = "with it as (update envelope_tokens set created_at = now() - interval '9 days',
            expires_at = now() - interval '8 days' returning 1) select count(*) from it";
    assert_eq!(world.number(age).await, 101);
    world.mint(&envelope).await;
    assert_eq!(world.number("select count(*) from envelope_tokens").await, 82);
    world.close().await;
}

#[tokio::test]
async fn revoking_a_token_closes_the_envelope_that_was_opened_for_it() {
    let world = World::start().await;
    let envelope = world.open(limits(9, 60, 100_000_000)).await;
    let request = MintTokenRequest {
        envelope: envelope.clone(),
        concurrent_calls: Some(2),
        ..Default::default()
    };
    let token = world.try_mint(request).await.unwrap();
    world.revoke_token(&token.name).await;
    let state = world.envelope(&token.envelope).await.state();
    assert_eq!(state, proto::EnvelopeState::Closed);
    assert_eq!(world.envelope(&envelope).await.state(), proto::EnvelopeState::Open);
    // And once more does no harm.
    world.revoke_token(&token.name).await;
    world.close().await;
}
