//! What is sent to the vendor.

use bursar::{
    backend::{Backend, Cause, Key, Prompt, anthropic::Anthropic},
    domain::{
        message::{
            Block, JsonText, Media, Message, Resource, ResourceLink, Role, Tool, ToolChoice,
            ToolResult, ToolUse,
        },
        model::Profile,
    },
};
use serde_json::{Value, json};

use super::{
    super::{call, prompt},
    answer, at, stream,
};
use crate::support::vendor::{Asked, Vendor};

async fn send(prompt: Prompt, profile: Profile) -> Asked {
    let vendor = Vendor::answering(stream(&answer(&[], "end_turn", &Value::Null))).await;
    let url = format!("{}/?beta=1", vendor.base_url);
    let key = Some(Key::parse("sk-test").unwrap());
    let backend = Anthropic::new(&url, key, profile, crate::support::http_client()).unwrap();
    call(&backend, prompt).await.unwrap();
    vendor.asked()
}

async fn sent(prompt: Prompt) -> Value {
    serde_json::from_slice(&send(prompt, Profile::default()).await.body).unwrap()
}

fn message(role: Role, content: Vec<Block>) -> Message {
    Message { role, content }
}

fn text(it: &str) -> Block {
    Block::Text(it.into())
}

fn media(mime_type: &str) -> Media {
    Media { data: vec![1, 2, 3].into(), mime_type: mime_type.into() }
}

fn tool_use(id: &str) -> Block {
    let input = JsonText::checked(r#"{"n":1}"#);
    Block::ToolUse(ToolUse { id: id.into(), name: "f".into(), input })
}

fn result(id: &str, content: Vec<Block>) -> ToolResult {
    ToolResult { tool_use_id: id.into(), content, structured: None, is_error: false }
}

fn image_part(media_type: &str) -> Value {
    json!({"type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": "AQID"}})
}

#[tokio::test]
async fn a_plain_prompt() {
    let mut plain = prompt("Hello");
    plain.system = Some("Be brief.".into());
    plain.temperature = Some(0.7);
    plain.stop = ["a", "", " \n", "b", "c", "d", "e"].map(str::to_owned).to_vec();
    let asked = send(plain, Profile::default()).await;
    assert_eq!(asked.uri.to_string(), "/v1/messages?beta=1");
    assert_eq!(asked.headers["x-api-key"], "sk-test");
    assert_eq!(asked.headers["anthropic-version"], "2023-06-01");
    assert_eq!(asked.headers["content-type"], "application/json");
    for absent in ["authorization", "accept-encoding"] {
        assert!(!asked.headers.contains_key(absent), "{absent}");
    }
    let expected = json!({
        "model": "some-model",
        "max_tokens": 1000,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        "temperature": 0.7,
        "stop_sequences": ["a", "b", "c", "d", "e"],
        "stream": true,
    });
    assert_eq!(serde_json::from_slice::<Value>(&asked.body).unwrap(), expected);
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let vendor = Vendor::answering(stream(&answer(&[], "end_turn", &Value::Null))).await;
    call(&at(&vendor), prompt("Hello")).await.unwrap();
    assert!(!vendor.asked().headers.contains_key("x-api-key"));
}

#[tokio::test]
async fn a_temperature_is_lowered_to_the_highest_there_is_or_left_out() {
    let mut hot = prompt("Hello");
    hot.temperature = Some(1.7);
    assert_eq!(sent(hot.clone()).await["temperature"], json!(1.0));
    let profile = Profile { no_temperature: true, ..Profile::default() };
    let body = send(hot, profile).await.body;
    assert!(!String::from_utf8_lossy(&body).contains("temperature"));
}

#[tokio::test]
async fn of_metadata_only_a_users_id_is_sent() {
    let mut prompt = prompt("Hello");
    let json = |it| JsonText::checked(it);
    prompt.metadata = vec![("trace".into(), json("1")), ("user_id".into(), json("\"u-1\""))];
    assert_eq!(sent(prompt.clone()).await["metadata"], json!({"user_id": "u-1"}));
    prompt.metadata = vec![("user_id".into(), json("{}")), ("x".into(), json("\"y\""))];
    assert_eq!(sent(prompt).await.get("metadata"), None);
}

#[tokio::test]
async fn tools_and_how_free_the_model_is() {
    let long = r#"{"const":123456789012345678901234567890.10}"#;
    let mut prompt = prompt("Hello");
    let tool = |name: &str, description: &str| Tool {
        name: name.into(),
        description: description.into(),
        input_schema: JsonText::checked(long),
    };
    prompt.tools = vec![tool("f", ""), tool("g", "Does.")];
    for (choice, word) in
        [(ToolChoice::Auto, "auto"), (ToolChoice::Required, "any"), (ToolChoice::None, "none")]
    {
        prompt.tool_choice = choice;
        let body = send(prompt.clone(), Profile::default()).await.body;
        let body = std::str::from_utf8(&body).unwrap();
        let tools = format!(
            r#""tools":[{{"name":"f","input_schema":{long}}},{{"name":"g","description":"Does.","input_schema":{long}}}]"#
        );
        assert!(body.contains(&tools), "{body}");
        assert!(body.contains(&format!(r#""tool_choice":{{"type":"{word}"}}"#)), "{body}");
    }
    prompt.tools.clear();
    assert_eq!(sent(prompt).await.get("tool_choice"), None);
}

#[tokio::test]
async fn results_come_first_in_the_one_turn_after_their_calls() {
    let link =
        ResourceLink { uri: "file:///l".into(), name: "l".into(), description: String::new() };
    let resource = Resource {
        uri: "file:///r".into(),
        mime_type: "text/plain".into(),
        text: Some("inside".into()),
    };
    let seen = vec![
        text("seen"),
        text(" "),
        Block::Image(media("image/png")),
        Block::ResourceLink(link),
        Block::Resource(resource),
    ];
    let structured = Some(JsonText::checked(r#"{"n":1}"#));
    let mut prompt = prompt("Hello");
    prompt.messages.extend([
        message(Role::Assistant, vec![text("I look."), tool_use("a")]),
        message(Role::Assistant, vec![tool_use("functions.f:0"), tool_use("c")]),
        message(
            Role::User,
            vec![text("And?"), Block::ToolResult(ToolResult { structured, ..result("a", seen) })],
        ),
        message(
            Role::User,
            vec![
                Block::ToolResult(ToolResult {
                    is_error: true,
                    ..result("functions.f:0", Vec::new())
                }),
                Block::ToolResult(result("c", vec![text("")])),
            ],
        ),
    ]);
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {"n": 1}});
    let said = |it: &str| json!({"type": "text", "text": it});
    let written = "id_functions-2ef-3a0";
    let expected = json!([
        {"role": "user", "content": [said("Hello")]},
        {"role": "assistant", "content": [said("I look."), call("a"), call(written), call("c")]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [
                said("seen"), image_part("image/png"), said("l\nfile:///l"),
                said("file:///r\ninside"), said("{\"n\":1}"),
            ]},
            {"type": "tool_result", "tool_use_id": written, "is_error": true},
            {"type": "tool_result", "tool_use_id": "c"},
            said("And?"),
        ]},
    ]);
    assert_eq!(sent(prompt).await["messages"], expected);
}

#[tokio::test]
async fn words_that_say_nothing_are_left_out() {
    let mut prompt = prompt("");
    prompt.system = Some("  ".into());
    prompt.messages.extend([
        message(Role::User, vec![text("Go on:"), text("\n\t ")]),
        message(Role::Assistant, vec![text(" ")]),
        message(Role::User, vec![text("Now.")]),
        message(Role::Assistant, vec![text("The answer is ")]),
    ]);
    let body = sent(prompt.clone()).await;
    assert_eq!(body.get("system"), None);
    let said = |it: &str| json!({"type": "text", "text": it});
    let expected = json!([
        {"role": "user", "content": [said("Go on:"), said("Now.")]},
        {"role": "assistant", "content": [said("The answer is")]},
    ]);
    assert_eq!(body["messages"], expected);
    prompt.messages.truncate(1);
    assert_eq!(not_sent(prompt).await, Cause::Unsupported);
}

#[tokio::test]
async fn pictures_in_the_formats_that_the_vendor_names() {
    let mut prompt = prompt("Hello");
    for (mime_type, sent_as) in [
        ("image/jpeg", "image/jpeg"),
        ("image/jpg", "image/jpeg"),
        ("IMAGE/PNG; x=y", "image/png"),
        ("image/gif", "image/gif"),
        ("image/webp", "image/webp"),
    ] {
        prompt.messages[0].content = vec![text("Look:"), Block::Image(media(mime_type))];
        let body = sent(prompt.clone()).await;
        assert_eq!(body["messages"][0]["content"][1], image_part(sent_as));
    }
}

/// What comes of a prompt that is never sent.
async fn not_sent(prompt: Prompt) -> Cause {
    let vendor = Vendor::answering(stream(&[])).await;
    let backend = at(&vendor);
    let error = call(&backend, prompt).await.unwrap_err();
    assert!(error.is_unbilled(backend.profile()));
    assert!(vendor.is_unasked(), "nothing was sent");
    error.cause
}

#[tokio::test]
async fn what_the_dialect_cannot_say_is_not_sent() {
    let nested = |block| vec![Block::ToolResult(result("a", vec![block]))];
    for (role, content) in [
        (Role::User, vec![Block::Audio(media("audio/wav"))]),
        (Role::User, vec![Block::Image(media("image/tiff"))]),
        (Role::User, vec![tool_use("a")]),
        (Role::User, nested(Block::Audio(media("audio/wav")))),
        (Role::User, nested(Block::ToolResult(result("b", Vec::new())))),
        (Role::Assistant, vec![Block::Image(media("image/png"))]),
        (Role::Assistant, nested(text("x"))),
    ] {
        let mut prompt = prompt("Hello");
        prompt.messages.push(message(role, content));
        assert_eq!(not_sent(prompt).await, Cause::Unsupported);
    }
}
