//! What of a request is understood, and how the rest is refused: by name.

use serde_json::{Value, json};

use super::{chat, got, weather, with};
use crate::call::world::{World, limits};

/// Each change of a fine request is refused with the name of what is wrong, and costs nothing.
async fn refused(cases: &[(Value, &str)]) {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    for (change, param) in cases {
        let got = server.ask(&with(chat("hi"), change)).await;
        let error = got.error(400);
        assert_eq!(error["param"], *param, "{change}: {}", got.text);
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["code"].is_string());
        assert_eq!(got.header("x-should-retry"), "false");
    }
    assert!(world.entries().await.is_empty());
    world.close().await;
}

fn says(content: &Value) -> Value {
    json!({ "messages": [{ "role": "user", "content": content }] })
}

fn shows(url: &str) -> Value {
    says(&json!([{ "type": "image_url", "image_url": { "url": url } }]))
}

fn calls(arguments: &str) -> Value {
    let function = json!({ "name": "weather", "arguments": arguments });
    let call = json!({ "id": "a", "type": "function", "function": function });
    json!({ "messages": [{ "role": "user", "content": "x" },
        { "role": "assistant", "tool_calls": [call] }] })
}

#[tokio::test]
async fn a_message_that_cannot_be_told_is_refused_by_its_place() {
    refused(&[
        (json!({ "messages": null }), "messages"),
        (json!({ "messages": [] }), "messages"),
        (json!({ "messages": [{ "role": "system", "content": "x" }] }), "messages"),
        (json!({ "messages": [{ "role": "function", "content": "x" }] }), "messages[0].role"),
        (says(&json!(7)), "messages[0].content"),
        (says(&json!([])), "messages[0].content"),
        (says(&json!([{ "type": "file", "file": {} }])), "messages[0].content[0].type"),
        (shows("https://example.com/a.png"), "messages[0].content[0].image_url.url"),
        (shows("file:///etc/passwd"), "messages[0].content[0].image_url.url"),
        (shows("data:image/png,abc"), "messages[0].content[0].image_url.url"),
        (shows("data:text/html;base64,YWJj"), "messages[0].content[0].image_url.url"),
        (calls("["), "messages[1].tool_calls[0].function.arguments"),
        (calls("[1]"), "messages[1].tool_calls[0].function.arguments"),
        // Nobody answers the call.
        (calls("{}"), "messages[1]"),
        (
            json!({ "messages": [{ "role": "system", "content": "x" },
                { "role": "user", "content": "x" },
                { "role": "tool", "tool_call_id": "a", "content": "x" }] }),
            "messages[2]",
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_is_not_understood_is_refused_by_name() {
    let function = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let mut strict = function("a");
    strict["function"]["strict"] = json!(true);
    refused(&[
        (json!({ "model": null }), "model"),
        (json!({ "model": "" }), "model"),
        (json!({ "max_tokens": 0 }), "max_tokens"),
        (json!({ "max_completion_tokens": 7 }), "max_tokens"),
        (json!({ "max_tokens": "many" }), "max_tokens"),
        (json!({ "max_tokens": null, "max_completion_tokens": -1 }), "max_completion_tokens"),
        (json!({ "temperature": 3 }), "temperature"),
        (json!({ "temperature": "NaN" }), "temperature"),
        (json!({ "top_p": 1.5 }), "top_p"),
        (json!({ "presence_penalty": -3 }), "presence_penalty"),
        (json!({ "seed": 0.5 }), "seed"),
        (json!({ "stop": [7] }), "stop[0]"),
        (json!({ "n": 2 }), "n"),
        (json!({ "logprobs": true }), "logprobs"),
        (json!({ "top_logprobs": 3 }), "top_logprobs"),
        (json!({ "logit_bias": { "1": 2 } }), "logit_bias"),
        (json!({ "response_format": { "type": "json_object" } }), "response_format"),
        (json!({ "store": true }), "store"),
        (json!({ "service_tier": "priority" }), "service_tier"),
        (json!({ "modalities": ["text", "audio"] }), "modalities"),
        (json!({ "reasoning_effort": "high" }), "reasoning_effort"),
        (json!({ "web_search_options": {} }), "web_search_options"),
        (json!({ "functions": [] }), "functions"),
        (json!({ "prediction": null }), "prediction"),
        (json!({ "stream_options": { "include_usage": true } }), "stream_options"),
        (json!({ "stream": true, "stream_options": { "x": 1 } }), "stream_options.x"),
        (json!({ "stream": "yes" }), "stream"),
        (json!({ "tools": [{ "type": "custom" }] }), "tools[0].type"),
        (json!({ "tools": [function("a b")] }), "tools[0].function.name"),
        (json!({ "tools": [function("a"), function("a")] }), "tools[1].function.name"),
        (json!({ "tools": [strict] }), "tools[0].function.strict"),
        (json!({ "tools": weather(), "tool_choice": function("x") }), "tool_choice.function.name"),
        (json!({ "tools": weather(), "tool_choice": "maybe" }), "tool_choice"),
        (json!({ "tool_choice": "required" }), "tool_choice"),
    ])
    .await;
}

#[tokio::test]
async fn what_says_nothing_or_what_is_anyway_so_is_taken() {
    let world = World::start().await;
    let server = world.served(limits(9, 60, 100_000_000)).await;
    let harmless = json!({
        "n": 1, "logprobs": false, "top_logprobs": null, "logit_bias": {}, "store": false,
        "metadata": null, "service_tier": "auto", "modalities": ["text"], "user": "u",
        "response_format": { "type": "text" }, "safety_identifier": "s", "prompt_cache_key": "k",
        "parallel_tool_calls": true, "tool_choice": "none", "stop": null, "seed": 3,
        "frequency_penalty": 0, "temperature": 1, "stream": false, "stream_options": null,
    });
    server.ask(&with(chat("hi"), &harmless)).await.answer();
    // Without a maximum the model's own counts.
    let body =
        json!({ "model": "scripted-small", "messages": [{ "role": "user", "content": "hi" }] });
    assert_eq!(server.ask(&body).await.answer()["choices"][0]["finish_reason"], "stop");
    world.close().await;
}

#[tokio::test]
async fn a_body_that_is_no_json_or_too_deep_or_too_long_is_refused() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    let post = |body: String| {
        let request = server.request(reqwest::Method::POST, "/v1/chat/completions");
        got(request.header("content-type", "application/json; charset=utf-8").body(body))
    };
    for body in ["", "{", "[]", "null", "\u{feff}{}"] {
        post(body.to_owned()).await.error(400);
    }
    let deep = format!("{{\"model\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    post(deep).await.error(400);
    let long = format!("{{\"model\":\"{}\"}}", "x".repeat(33 * 1_024 * 1_024));
    assert_eq!(post(long).await.error(413)["code"], "body_too_large");
    let canary = "canary-7d1f";
    let got = post(format!("{{\"model\":\"m\",\"messages\":[{{\"role\":\"{canary}\"}}]}}")).await;
    assert!(!got.text.contains(canary), "{}", got.text);
    got.error(400);
    world.close().await;
}

#[tokio::test]
async fn a_picture_is_counted_and_passed_on() {
    let world = World::start().await;
    let server = world.served(limits(5, 60, 100_000_000)).await;
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let content = json!([
        { "type": "text", "text": "What is it?" },
        { "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{png}"), "detail": "auto" } },
    ]);
    let body = with(chat(""), &json!({ "messages": [{ "role": "user", "content": content }] }));
    let got = server.ask(&body).await;
    // The demonstration's models say whether they take pictures.
    let takes = world.number("select count(*) from models where image_tokens_max > 0").await > 0;
    if takes {
        got.answer();
    } else {
        assert_eq!(got.error(403)["code"], "no_model");
    }
    world.close().await;
}
