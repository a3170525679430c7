//! What the door refuses before it looks at a request.

use serde_json::json;

use super::{Server, chat, got};
use crate::call::world::{World, limits};

#[tokio::test]
async fn a_web_page_cannot_use_it_under_any_name() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    for origin in ["http://127.0.0.1", "https://example.com", "null"] {
        let refused = got(server.post(&chat("hi")).header("origin", origin)).await;
        assert_eq!(refused.error(403)["code"], "origin_not_allowed");
        assert_eq!(refused.header("access-control-allow-origin"), "");
    }
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1"] {
        let refused = got(server.post(&chat("hi")).header("host", host)).await;
        assert_eq!(refused.error(403)["code"], "host_not_allowed", "{host}");
    }
    for host in ["localhost", "LOCALHOST:7421", "127.0.0.9", "[::1]:7421"] {
        got(server.post(&chat("hi")).header("host", host)).await.answer();
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let request = server.request(reqwest::Method::POST, "/v1/chat/completions");
        let refused = got(request.header("content-type", kind).body(chat("hi").to_string())).await;
        assert_eq!(refused.error(415)["code"], "unsupported_media_type", "{kind}");
    }
    let options = server.request(reqwest::Method::OPTIONS, "/v1/chat/completions");
    assert_eq!(got(options).await.error(405)["code"], "method_not_allowed");
    world.close().await;
}

#[tokio::test]
async fn named_hosts_are_the_only_ones_besides_the_machines_own() {
    let world = World::with(|it| it.http_hosts = vec!["Bursar.Example".to_owned()]).await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    for host in ["bursar.example", "bursar.example:443", "127.0.0.1"] {
        got(server.post(&chat("hi")).header("host", host)).await.answer();
    }
    got(server.post(&chat("hi")).header("host", "other.example")).await.error(403);
    world.close().await;
}

#[tokio::test]
async fn routing_headers_must_agree_with_the_key() {
    let world = World::start().await;
    let server = world.served(limits(9, 60, 100_000_000)).await;
    let tenant = world.demo.tenant.to_string();
    let ask = |name: &'static str, value: String| got(server.post(&chat("hi")).header(name, value));
    for (name, right) in [
        ("bursar-tenant", tenant.clone()),
        ("bursar-tenant", format!("tenants/{tenant}")),
        ("bursar-user", "demo-user".to_owned()),
        ("bursar-server", "demo-server".to_owned()),
    ] {
        ask(name, right).await.answer();
        assert_eq!(
            ask(name, "somebody-else".to_owned()).await.error(400)["code"],
            "invalid_header"
        );
    }
    let twice = server.post(&chat("hi")).header("bursar-user", "demo-user");
    got(twice.header("bursar-user", "root")).await.error(400);
    assert_eq!(world.entries().await.len(), 4);
    world.close().await;
}

#[tokio::test]
async fn whatever_is_wrong_with_a_key_looks_the_same() {
    let world = World::start().await;
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let token = world.mint(&envelope).await;
    let mut stranger = token.key.clone();
    let last = if stranger.pop() == Some('A') { 'E' } else { 'A' };
    stranger.push(last);
    let revoked = world.mint(&envelope).await;
    world.revoke_token(&revoked.name).await;
    let closed = world.open(limits(5, 60, 100_000_000)).await;
    let of_closed = world.mint(&closed).await;
    let close = bursar::proto::CloseEnvelopeRequest { name: closed };
    world.envelopes().close_envelope(world.host(close)).await.unwrap();
    let expired = world.mint(&envelope).await;
    let id = expired.name.rsplit('/').next().unwrap().strip_prefix("tok_").unwrap();
    world
        .number(&format!(
            "with it as (update envelope_tokens set created_at = now() - interval '2 s',
                expires_at = now() - interval '1 s' where token_id = '{id}' returning 1)
             select count(*) from it"
        ))
        .await;
    let mut seen = Vec::new();
    for key in [
        "nonsense",
        &stranger,
        &revoked.key,
        &of_closed.key,
        &expired.key,
        world.demo.host_key.reveal(),
        world.demo.operator_key.reveal(),
    ] {
        let server = Server::new(&world, key);
        for it in [server.ask(&chat("hi")).await, server.get("/v1/models").await] {
            assert_eq!(it.error(401)["code"], "invalid_api_key");
            assert_eq!(it.header("x-should-retry"), "false");
            seen.push(it.text);
        }
    }
    let plain = reqwest::Client::new().post(format!("{}/v1/chat/completions", world.http()));
    seen.push(got(plain.body("{")).await.text);
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
    // The one that is fine still is.
    Server::new(&world, &token.key).ask(&chat("hi")).await.answer();
    // Another consent is not the one that the token is for.
    world.regrant(|_| {}).await;
    Server::new(&world, &token.key).ask(&chat("hi")).await.error(401);
    world.close().await;
}

#[tokio::test]
async fn other_addresses_and_methods_say_so() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    for path in ["/v1/completions", "/v1/embeddings", "/v1/files/x", "/v1/responses"] {
        assert_eq!(server.get(path).await.error(404)["code"], "unknown_url", "{path}");
    }
    assert_eq!(server.get("/v1/chat/completions").await.error(405)["code"], "method_not_allowed");
    assert_eq!(json!(server.get("/livez").await.status), json!(200));
    world.close().await;
}
