//! `sampling/createMessage` over HTTP, as a host sends it in any revision.

use bursar::{
    admin::demo,
    proto::{CreateMessageRequest, OriginatingCall},
};
use serde_json::{Value, json};
use tonic::Code;
use tonic_types::StatusExt;

use crate::{
    call::world::{World, ask, limits},
    openai::{Got, Server, got},
};

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

impl Server {
    fn rpc(&self, body: &Value) -> reqwest::RequestBuilder {
        let request = self.request(reqwest::Method::POST, "/mcp");
        request.header("content-type", "application/json").body(body.to_string())
    }

    async fn sample(&self, body: &Value, headers: &[(&str, &str)]) -> Got {
        let request =
            headers.iter().fold(self.rpc(body), |all, (name, value)| all.header(*name, *value));
        got(request).await
    }
}

fn host(world: &World) -> Server {
    Server::new(world, world.demo.host_key.reveal())
}

/// A request whose only message scripts the answer, with more of `params` and `_meta`.
fn request(script: &Value, more: &Value, meta: &Value) -> Value {
    let text = format!("@script {script}");
    let mut params = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
        "maxTokens": 100,
        "_meta": { "dev.bursar/user": demo::USER, "dev.bursar/server": demo::SERVER },
    });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    for (name, value) in meta.as_object().unwrap() {
        params["_meta"][name] = value.clone();
    }
    json!({ "jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": params })
}

fn plain() -> Value {
    request(&json!({ "text": "hi" }), &json!({}), &json!({}))
}

#[track_caller]
fn failed(got: &Got, status: u16, code: i64) -> Value {
    assert_eq!(got.status, status, "{}", got.text);
    let body = got.json();
    assert_eq!((&body["jsonrpc"], &body["error"]["code"]), (&json!("2.0"), &json!(code)), "{body}");
    assert!(body["error"]["message"].is_string() && body.get("result").is_none());
    body["error"].clone()
}

#[tokio::test]
async fn every_revision_gets_a_result_of_its_own_shape() {
    let world = World::start().await;
    let host = host(&world);
    let tools = json!([{ "name": "weather", "inputSchema": { "type": "object" } }]);
    let calls = json!([{ "name": "weather", "input": {} }]);
    for revision in REVISIONS {
        let headers = [("mcp-protocol-version", revision)];
        let got = host.sample(&plain(), &headers).await;
        let body = got.answer();
        assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(7)));
        let result = &body["result"];
        assert_eq!(result["content"], json!({ "type": "text", "text": "hi" }));
        assert_eq!(
            (&result["role"], &result["stopReason"]),
            (&json!("assistant"), &json!("endTurn"))
        );
        assert_eq!(result["model"], "scripted-small");
        assert!(result["_meta"]["dev.bursar/budget"]["left"]["calls"].is_number());
        let mut fields: Vec<&String> = result.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["_meta", "content", "model", "role", "stopReason"]);
        assert_eq!(got.header("bursar-outcome"), "COMPLETE");
        assert!(got.header("bursar-envelope").starts_with("tenants/"));
        assert!(got.header("bursar-call").starts_with("call_"));
        // Text and a call beside each other are said only where there are tools.
        let script = json!({ "text": "Let me see.", "tool_calls": calls });
        let with_tools = request(&script, &json!({ "tools": tools }), &json!({}));
        let result = host.sample(&with_tools, &headers).await.answer()["result"].clone();
        let content = &result["content"];
        if revision < "2025-11-25" {
            assert_eq!(content["type"], "text", "{revision}");
        } else {
            assert_eq!(content.as_array().unwrap().len(), 2, "{revision}: {content}");
            assert_eq!(
                (&content[1]["type"], &result["stopReason"]),
                (&json!("tool_use"), &json!("toolUse"))
            );
        }
    }
    world.close().await;
}

#[tokio::test]
async fn a_header_that_disagrees_keeps_the_call_from_being_made() {
    let world = World::start().await;
    let host = host(&world);
    let meta = json!({
        "dev.bursar/originatingCall": { "id": 3, "method": "tools/call", "name": "Wetter für heute" },
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    });
    let body = request(&json!({ "text": "hi" }), &json!({}), &meta);
    let name = "=?base64?V2V0dGVyIGbDvHIgaGV1dGU=?=";
    let tenant = world.demo.tenant.to_string();
    let right = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "sampling/createMessage"),
        ("mcp-name", name),
        ("bursar-tenant", &tenant),
        ("bursar-user", demo::USER),
        ("bursar-server", demo::SERVER),
    ];
    host.sample(&body, &right).await.answer();
    for wrong in [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-protocol-version", ""),
        ("mcp-method", "tools/list"),
        ("mcp-method", "Sampling/createMessage"),
        ("mcp-name", "Wetter"),
        ("mcp-name", "wetter f\u{fc}r heute"),
        ("mcp-name", "=?base64?###?="),
        ("mcp-name", "=?base64?V2V0dGVy?="),
        ("mcp-param-city", "Rome"),
        ("mcp-session-id", "s"),
        ("mcp-anything", ""),
        ("bursar-user", "root"),
        ("bursar-server", "other"),
        ("bursar-tenant", "ten_00000000000070008000000000000abc"),
    ] {
        // Whatever the version says, and whether the right one is there too.
        let beside: Vec<_> =
            right.iter().copied().filter(|it| !it.0.eq_ignore_ascii_case(wrong.0)).collect();
        for headers in
            [vec![wrong], [beside, vec![wrong]].concat(), [right.to_vec(), vec![wrong]].concat()]
        {
            let error = failed(&host.sample(&body, &headers).await, 400, -32_020);
            assert_eq!(error["data"]["header"], wrong.0, "{headers:?}");
        }
    }
    // The same one twice is no agreement either, for MCP's.
    let twice =
        [("mcp-method", "sampling/createMessage"), ("mcp-method", "sampling/createMessage")];
    failed(&host.sample(&body, &twice).await, 400, -32_020);
    // A name of which the body says nothing.
    failed(&host.sample(&plain(), &[("mcp-name", "x")]).await, 400, -32_020);
    // And an unknown method is still compared first.
    let mut other = body.clone();
    other["method"] = json!("tools/call");
    failed(&host.sample(&other, &[("mcp-method", "sampling/createMessage")]).await, 400, -32_020);
    assert_eq!(world.entries().await.len(), 1);
    world.close().await;
}

#[tokio::test]
async fn the_same_headers_are_checked_by_grpc() {
    let world = World::start().await;
    let body = || CreateMessageRequest {
        originating_call: Some(OriginatingCall { name: "search".to_owned(), ..Default::default() }),
        ..ask(&json!({ "text": "hi" }))
    };
    let ask = |name: &'static str, value: &'static str| {
        let mut request = world.host(body());
        request.metadata_mut().insert(name, value.parse().unwrap());
        let mut sampling = world.sampling();
        async move { sampling.create_message(request).await }
    };
    for (name, value) in [
        ("mcp-method", "sampling/createMessage"),
        ("mcp-name", "search"),
        ("mcp-name", "=?base64?c2VhcmNo?="),
        ("mcp-protocol-version", "2025-11-25"),
    ] {
        ask(name, value).await.unwrap();
    }
    for (name, value) in [
        ("mcp-method", "tools/call"),
        ("mcp-name", "Search"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-param-x", "1"),
    ] {
        let status = ask(name, value).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{name}");
        assert_eq!(status.get_details_error_info().unwrap().reason, "HEADER_MISMATCH");
        assert_eq!(status.metadata().get("mcp-error-code").unwrap(), "-32020");
    }
    assert_eq!(world.entries().await.len(), 4);
    world.close().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_by_its_place_and_costs_nothing() {
    let world = World::start().await;
    let host = host(&world);
    let change = |more: Value, meta: Value| request(&json!({ "text": "hi" }), &more, &meta);
    for (body, field) in [
        (change(json!({ "maxTokens": null }), json!({})), "params.maxTokens"),
        (change(json!({ "maxTokens": 0 }), json!({})), "params.maxTokens"),
        (change(json!({ "messages": "x" }), json!({})), "params.messages"),
        (change(json!({ "temperature": 9 }), json!({})), "params.temperature"),
        (
            change(json!({ "modelPreferences": { "costPriority": 2 } }), json!({})),
            "params.modelPreferences.costPriority",
        ),
        (change(json!({}), json!({ "dev.bursar/user": null })), "params._meta.dev.bursar/user"),
        (change(json!({}), json!({ "dev.bursar/server": "" })), "params._meta.dev.bursar/server"),
        (
            change(json!({}), json!({ "dev.bursar/envelope": "x" })),
            "params._meta.dev.bursar/envelope",
        ),
        (
            change(json!({}), json!({ "dev.bursar/root": "http://x" })),
            "params._meta.dev.bursar/root",
        ),
        (
            change(json!({}), json!({ "dev.bursar/originatingCall": 7 })),
            "params._meta.dev.bursar/originatingCall",
        ),
    ] {
        let error = failed(&host.sample(&body, &[]).await, 400, -32_602);
        assert_eq!(error["data"]["field"], field, "{error}");
    }
    let unknown =
        change(json!({}), json!({ "io.modelcontextprotocol/protocolVersion": "1900-01-01" }));
    let error = failed(&host.sample(&unknown, &[]).await, 400, -32_022);
    assert_eq!(error["data"]["supported"], json!(REVISIONS));
    failed(&host.sample(&plain(), &[("mcp-protocol-version", "next")]).await, 400, -32_022);
    let bare = json!({ "io.modelcontextprotocol/clientCapabilities": { "sampling": {} } });
    let tools = json!([{ "name": "weather", "inputSchema": { "type": "object" } }]);
    let error =
        failed(&host.sample(&change(json!({ "tools": tools }), bare), &[]).await, 400, -32_021);
    assert_eq!(error["data"]["requiredCapabilities"], json!({ "sampling": { "tools": {} } }));
    assert!(world.entries().await.is_empty());
    world.close().await;
}

#[tokio::test]
async fn what_is_no_request_of_this_door_says_so() {
    let world = World::start().await;
    let host = host(&world);
    let mut other = plain();
    other["method"] = json!("tools/call");
    failed(&host.sample(&other, &[]).await, 404, -32_601);
    for (field, value) in [
        ("jsonrpc", json!("1.0")),
        ("id", Value::Null),
        ("id", json!({})),
        ("method", json!(7)),
        ("params", Value::Null),
    ] {
        let mut wrong = plain();
        wrong[field] = value;
        failed(&host.sample(&wrong, &[]).await, 400, -32_600);
    }
    failed(&host.sample(&json!([plain()]), &[]).await, 400, -32_600);
    let post = |body: &'static str| {
        got(host
            .request(reqwest::Method::POST, "/mcp")
            .header("content-type", "application/json")
            .body(body))
    };
    failed(&post("{").await, 400, -32_700);
    failed(&got(host.request(reqwest::Method::GET, "/mcp")).await, 405, -32_600);
    failed(&got(host.rpc(&plain()).header("origin", "http://localhost")).await, 403, -32_600);
    failed(&got(host.rpc(&plain()).header("host", "evil.example")).await, 403, -32_600);
    // An id comes back as it was written.
    for id in [json!("a"), json!(-3), json!(12_345_678_901_234_567_i64)] {
        let mut fine = plain();
        fine["id"] = id.clone();
        assert_eq!(host.sample(&fine, &[]).await.answer()["id"], id);
    }
    for (key, status) in [("nonsense", 401), (world.demo.finance_key.reveal(), 403)] {
        failed(&Server::new(&world, key).sample(&plain(), &[]).await, status, -32_603);
    }
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let token = world.mint(&envelope).await.key;
    failed(&Server::new(&world, &token).sample(&plain(), &[]).await, 401, -32_603);
    world.close().await;
}

#[tokio::test]
async fn a_refusal_is_an_error_and_the_end_of_a_budget_a_result() {
    let world = World::start().await;
    let host = host(&world);
    let stranger = json!({ "dev.bursar/server": "stranger" });
    let refused = host.sample(&request(&json!({}), &json!({}), &stranger), &[]).await;
    let error = failed(&refused, 200, -1);
    assert_eq!(error["data"], json!({ "reason": "NO_GRANT", "verdict": "ABANDON" }));
    let envelope = world.open(limits(1, 60, 100_000_000)).await;
    let body =
        request(&json!({ "text": "hi" }), &json!({}), &json!({ "dev.bursar/envelope": envelope }));
    for (text, reason, outcome) in
        [("hi", "endTurn", "COMPLETE"), ("", "budgetExhausted", "EXHAUSTED")]
    {
        let got = host.sample(&body, &[]).await;
        let result = got.answer()["result"].clone();
        assert_eq!(result["content"], json!({ "type": "text", "text": text }));
        assert_eq!(
            (&result["stopReason"], got.header("bursar-outcome")),
            (&json!(reason), outcome)
        );
        assert_eq!(got.header("bursar-envelope"), envelope);
    }
    let failing = request(&json!({ "status": 503 }), &json!({}), &json!({}));
    let error = failed(&host.sample(&failing, &[]).await, 503, -32_603);
    assert_eq!(error["data"]["reason"], "BACKEND_FAILED");
    world.close().await;
}

#[tokio::test]
async fn calls_of_one_originating_call_share_an_envelope_and_a_repeated_one_costs_nothing() {
    let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    let world = World::with(|it| it.vault_key = Some(key.to_owned().into())).await;
    let host = host(&world);
    let of_call = |id: Value| {
        let meta =
            json!({ "dev.bursar/conversation": "c", "dev.bursar/originatingCall": { "id": id } });
        request(&json!({ "text": "hi" }), &json!({}), &meta)
    };
    let first = host.sample(&of_call(json!(1)), &[]).await.header("bursar-envelope").to_owned();
    let second = host.sample(&of_call(json!("1")), &[]).await.header("bursar-envelope").to_owned();
    let other = host.sample(&of_call(json!(2)), &[]).await.header("bursar-envelope").to_owned();
    assert_eq!(first, second);
    assert_ne!(first, other);
    let booked = world.entries().await.len();
    let once = [("idempotency-key", "k-1")];
    let (a, b) = (host.sample(&plain(), &once).await, host.sample(&plain(), &once).await);
    assert_eq!((a.answer(), a.header("bursar-call")), (b.answer(), b.header("bursar-call")));
    assert_eq!(world.entries().await.len(), booked + 1);
    let mut changed = plain();
    changed["params"]["maxTokens"] = json!(50);
    let error = failed(&host.sample(&changed, &once).await, 409, -32_603);
    assert_eq!(error["data"]["reason"], "REQUEST_ID_REUSED");
    world.close().await;
}
