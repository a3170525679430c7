//! Answers that are given whole.

use bursar::proto::{EntryKind, Outcome};
use serde_json::{Value, json};

use super::{Server, chat, got, scripted, weather, with};
use crate::call::world::{World, limits, nanos};

#[tokio::test]
async fn an_answer_is_openais_and_is_booked_like_any_call() {
    let world = World::start().await;
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let server = Server::new(&world, &world.mint(&envelope).await.key);
    let usage = json!({ "input": 7, "cache_read": 3, "output": 4, "reasoning": 2 });
    let body = scripted(&json!({ "text": "It is blue.", "usage": usage }));
    let got = server.ask(&body).await;
    let answer = got.answer();
    assert_eq!(got.header("content-type"), "application/json");
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "scripted-small");
    assert!(answer["created"].as_i64().unwrap() > 1_700_000_000);
    assert_eq!(
        answer["choices"],
        json!([{
            "index": 0,
            "message": { "role": "assistant", "content": "It is blue.", "refusal": null },
            "logprobs": null,
            "finish_reason": "stop",
        }])
    );
    // What came from a cache is not said.
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 6, "total_tokens": 16 });
    assert_eq!(answer["usage"], usage);
    assert_eq!(answer["_meta"]["dev.bursar/budget"]["left"]["calls"], 4);
    let entry = world.entry().await;
    assert_eq!((entry.kind(), entry.envelope), (EntryKind::Settle, envelope.clone()));
    assert_eq!(got.header("x-request-id"), entry.call);
    assert_eq!(entry.call.replace("call_", "chatcmpl-"), answer["id"].as_str().unwrap());
    assert!(nanos(entry.charge.as_ref()) > 0);
    assert_eq!(world.envelope(&envelope).await.left.unwrap().calls, 4);
    // Neither who answered nor what it cost.
    for secret in ["EUR", "charge", "backend", "money", "scripted-large", "cache"] {
        assert!(!got.text.contains(secret), "{secret}: {}", got.text);
    }
    world.close().await;
}

#[tokio::test]
async fn all_messages_reach_the_model_in_their_order() {
    use crate::support::vendor::{Answer, Vendor};
    let world = World::start().await;
    let reply = json!({ "choices": [{ "index": 0, "delta": { "content": "ok" },
        "finish_reason": "stop" }] });
    let vendor =
        Vendor::answering(Answer::sse(&[&format!("data: {reply}\n\n"), "data: [DONE]\n\n"])).await;
    world.vendor(&vendor.base_url, bursar::proto::BackendProfile::default()).await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    let body = json!({
        "model": "vendor",
        "max_completion_tokens": 50,
        "seed": 7,
        "top_p": 0.5,
        "stop": ["END"],
        "temperature": 0.25,
        "user": "whoever",
        "tools": weather(),
        "tool_choice": "auto",
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [
                { "type": "text", "text": "What is this?" },
            ] },
            { "role": "developer", "content": [{ "type": "text", "text": "And kind." }] },
            { "role": "assistant", "content": null, "refusal": null, "annotations": [],
              "tool_calls": [
                { "id": "a", "type": "function",
                  "function": { "name": "weather", "arguments": "{\"place\":\"Rome\"}" } },
                { "id": "b", "type": "function", "function": { "name": "weather", "arguments": "" } },
            ] },
            { "role": "tool", "tool_call_id": "a", "content": "sun" },
            { "role": "tool", "tool_call_id": "b", "content": [{ "type": "text", "text": "rain" }] },
            { "role": "user", "content": "Thanks." },
        ],
    });
    let answer = server.ask(&body).await.answer();
    assert_eq!(answer["choices"][0]["message"]["content"], "ok");
    assert_eq!(answer["model"], "vendor");
    let asked: Value = serde_json::from_slice(&vendor.bodies()[0]).unwrap();
    let roles: Vec<&str> = asked["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    assert_eq!(asked["messages"][0]["content"], "Be brief.\n\nAnd kind.");
    assert_eq!(asked["messages"][2]["tool_calls"][1]["function"]["arguments"], "{}");
    assert_eq!(asked["messages"][4]["tool_call_id"], "b");
    assert_eq!((&asked["seed"], &asked["top_p"]), (&json!(7), &json!(0.5)));
    assert_eq!(asked["temperature"], 0.25);
    assert_eq!(asked["tools"][0]["function"]["name"], "weather");
    assert_eq!(asked.get("user"), None);
    world.close().await;
}

#[tokio::test]
async fn a_loop_of_tools_goes_on_with_what_the_tool_said() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    let calls = json!([
        { "name": "weather", "input": { "place": "Rome" } },
        { "name": "weather", "input": { "place": "Oslo" } },
    ]);
    let body = with(scripted(&json!({ "tool_calls": calls })), &json!({ "tools": weather() }));
    let answer = server.ask(&body).await.answer();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    let calls = choice["message"]["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1]["type"], "function");
    assert_eq!(calls[1]["function"]["name"], "weather");
    let arguments: Value =
        serde_json::from_str(calls[1]["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({ "place": "Oslo" }));
    // The answer goes back as it came.
    let mut messages = body["messages"].as_array().unwrap().clone();
    messages.push(choice["message"].clone());
    for call in calls {
        messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": "sun" }));
    }
    messages.push(json!({ "role": "user", "content": r#"@script {"text": "Sunny."}"# }));
    let answer = server.ask(&with(body, &json!({ "messages": messages }))).await.answer();
    assert_eq!(answer["choices"][0]["message"]["content"], "Sunny.");
    world.close().await;
}

#[tokio::test]
async fn who_wants_one_tool_call_or_one_tool_gets_no_other() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    let two = json!([{ "name": "weather", "input": {} }, { "name": "weather", "input": {} }]);
    let more = json!({ "tools": weather(), "parallel_tool_calls": false });
    let answer = server.ask(&with(scripted(&json!({ "tool_calls": two })), &more)).await.answer();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"].as_array().unwrap().len(), 1);
    let mut tools = weather();
    let other = json!({ "type": "function", "function": { "name": "other" } });
    tools.as_array_mut().unwrap().push(other);
    let choice = json!({ "type": "function", "function": { "name": "other" } });
    let both = json!([{ "name": "weather", "input": {} }, { "name": "other", "input": {} }]);
    let more = json!({ "tools": tools, "tool_choice": choice });
    let answer = server.ask(&with(scripted(&json!({ "tool_calls": both })), &more)).await.answer();
    let calls = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["function"]["name"], "other");
    world.close().await;
}

#[tokio::test]
async fn the_same_request_again_under_its_key_costs_nothing() {
    let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    let world = World::with(|it| it.vault_key = Some(key.to_owned().into())).await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    let body = scripted(&json!({ "text": "once" }));
    let again = || got(server.post(&body).header("idempotency-key", "k-1"));
    let (first, second) = (again().await.answer(), again().await.answer());
    assert_eq!(first["choices"], second["choices"]);
    assert_eq!(world.entries().await.len(), 1);
    // Streamed it would be another request.
    let streamed = with(body.clone(), &json!({ "stream": true }));
    let other = got(server.post(&streamed).header("idempotency-key", "k-1")).await;
    assert_eq!(other.error(409)["code"], "request_id_reused");
    assert_eq!(other.header("x-should-retry"), "false");
    // Another token has keys of its own.
    let stranger = world.served(limits(5, 60, 100_000_000)).await;
    got(stranger.post(&streamed).header("idempotency-key", "k-1")).await.events();
    assert_eq!(world.entries().await.len(), 2);
    world.close().await;
}

#[tokio::test]
async fn an_alias_means_that_model_and_any_other_name_is_a_wish() {
    let world = World::start().await;
    let server = world.served(limits(9, 60, 400_000_000)).await;
    for (asked, answered) in [
        ("scripted-large", "scripted-large"),
        ("scripted-small", "scripted-small"),
        ("gpt-4o-mini", "scripted-small"),
        ("claude-opus", "scripted-large"),
    ] {
        let answer = server.ask(&with(chat("hello"), &json!({ "model": asked }))).await.answer();
        assert_eq!(answer["model"], answered, "{asked}");
    }
    let listed = server.get("/v1/models").await.answer();
    let ids: Vec<&str> =
        listed["data"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(
        (ids, &listed["object"]),
        (vec!["scripted-large", "scripted-small"], &json!("list"))
    );
    let one = server.get("/v1/models/scripted-small").await.answer();
    assert_eq!((&one["id"], &one["object"]), (&json!("scripted-small"), &json!("model")));
    let none = server.get("/v1/models/nothing").await;
    assert_eq!(none.error(404)["code"], "model_not_found");
    world.close().await;
}

#[tokio::test]
async fn an_ordinary_call_of_the_host_and_one_by_token_share_the_envelope() {
    let world = World::start().await;
    let envelope = world.open(limits(2, 60, 100_000_000)).await;
    let server = Server::new(&world, &world.mint(&envelope).await.key);
    let of_host = crate::call::world::ask_in(&envelope, &json!({ "text": "hi" }));
    assert_eq!(world.sample(of_host.clone()).await.unwrap().outcome(), Outcome::Complete);
    server.ask(&chat("hi")).await.answer();
    assert_eq!(world.sample(of_host).await.unwrap().outcome(), Outcome::Exhausted);
    assert_eq!(server.ask(&chat("hi")).await.error(402)["limit"]["kind"], "CALLS");
    world.close().await;
}
