//! What is sent to a vendor.

use bursar::{
    backend::{Backend, Cause, Key, Prompt, openai::OpenAi},
    domain::{
        message::{
            Block, JsonText, Media, Message, Resource, ResourceLink, Role, Tool, ToolChoice,
            ToolResult, ToolUse,
        },
        model::Profile,
    },
};
use serde_json::{Value, json};

use super::{call, dialects::at, prompt};
use crate::support::vendor::{Answer, Asked, Vendor};

async fn send(prompt: Prompt, profile: Profile) -> Asked {
    let vendor = Vendor::answering(Answer::events(&[])).await;
    let url = format!("{}/?api-version=1", vendor.base_url);
    let key = Some(Key::parse("sk-test").unwrap());
    let backend = OpenAi::new(&url, key, profile, crate::support::http_client()).unwrap();
    call(&backend, prompt).await.unwrap();
    vendor.asked()
}

async fn sent(prompt: Prompt, profile: Profile) -> Value {
    serde_json::from_slice(&send(prompt, profile).await.body).unwrap()
}

fn message(role: Role, content: Vec<Block>) -> Message {
    Message { role, content }
}

fn media(mime_type: &str) -> Media {
    Media { data: vec![1, 2, 3].into(), mime_type: mime_type.into() }
}

#[tokio::test]
async fn a_plain_prompt() {
    let mut plain = prompt("Hello");
    plain.system = Some("Be brief.".into());
    plain.temperature = Some(0.7);
    let asked = send(plain, Profile::default()).await;
    assert_eq!(asked.uri.to_string(), "/v1/chat/completions?api-version=1");
    assert_eq!(asked.headers["authorization"], "Bearer sk-test");
    assert!(!asked.headers.contains_key("accept-encoding"));
    let expected = json!({
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello"},
        ],
        "max_tokens": 1000,
        "temperature": 0.7,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(serde_json::from_slice::<Value>(&asked.body).unwrap(), expected);
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let vendor = Vendor::answering(Answer::events(&[])).await;
    call(&at(&vendor), prompt("Hello")).await.unwrap();
    assert!(!vendor.asked().headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_profile_changes_what_is_sent() {
    let mut warm = prompt("Hello");
    warm.temperature = Some(0.2);
    warm.max_tokens = u64::MAX;
    warm.stop = ["a", "", "b", "c", "d", "e"].map(str::to_owned).to_vec();
    let body = sent(warm.clone(), Profile::default()).await;
    assert_eq!(body["stop"], json!(["a", "b", "c", "d"]));
    let profile = Profile {
        max_completion_tokens: true,
        no_stream_options: true,
        no_temperature: true,
        ..Profile::default()
    };
    let body = sent(warm, profile).await;
    assert_eq!(body["max_completion_tokens"], json!(u32::MAX));
    for absent in
        ["max_tokens", "stream_options", "temperature", "tools", "tool_choice", "metadata"]
    {
        assert_eq!(body.get(absent), None, "{absent}");
    }
    assert_eq!(body["stream"], json!(true));
}

#[tokio::test]
async fn long_numbers_are_sent_as_they_were_written() {
    let long = r#"{"const":123456789012345678901234567890.10}"#;
    let mut prompt = prompt("Hello");
    let tool = Tool {
        name: "f".into(),
        description: String::new(),
        input_schema: JsonText::checked(long),
    };
    prompt.tools = vec![tool];
    prompt.tool_choice = ToolChoice::Required;
    let parameter = |name: &str, value: &str| (name.to_owned(), JsonText::checked(value));
    prompt.metadata =
        vec![parameter("m", long), parameter("seed", "7"), parameter("top_p", "0.25")];
    let body = send(prompt, Profile::default()).await.body;
    let body = std::str::from_utf8(&body).unwrap();
    let tools =
        format!(r#""tools":[{{"type":"function","function":{{"name":"f","parameters":{long}}}}}]"#);
    assert!(body.contains(&tools), "{body}");
    assert!(body.contains(&format!(r#""metadata":{{"m":{long}}}"#)), "{body}");
    assert!(body.contains(r#""seed":7"#) && body.contains(r#""top_p":0.25"#), "{body}");
    assert!(body.contains(r#""tool_choice":"required""#), "{body}");
}

#[tokio::test]
async fn tools_and_their_results() {
    let input = r#"{"n":12345678901234567890123}"#;
    let call = ToolUse { id: "a".into(), name: "f".into(), input: JsonText::checked(input) };
    let link =
        ResourceLink { uri: "file:///l".into(), name: "l".into(), description: String::new() };
    let resource = Resource {
        uri: "file:///r".into(),
        mime_type: "text/plain".into(),
        text: Some("inside".into()),
    };
    let result = |id: &str, content, structured: Option<&str>, is_error| {
        Block::ToolResult(ToolResult {
            tool_use_id: id.into(),
            content,
            structured: structured.map(JsonText::checked),
            is_error,
        })
    };
    let mut prompt = prompt("Hello");
    prompt.messages.push(message(
        Role::Assistant,
        vec![
            Block::Text("I look.".into()),
            Block::ToolUse(call.clone()),
            Block::ToolUse(ToolUse { id: "b".into(), ..call }),
        ],
    ));
    prompt.messages.push(message(
        Role::User,
        vec![
            result(
                "a",
                vec![
                    Block::Text("seen".into()),
                    Block::Image(media("image/png")),
                    Block::ResourceLink(link),
                    Block::Resource(resource),
                ],
                Some(input),
                false,
            ),
            result("b", vec![Block::Text(input.into())], Some(input), true),
        ],
    ));
    let body = sent(prompt, Profile::default()).await;
    let function = json!({"name": "f", "arguments": input});
    assert_eq!(
        body["messages"][1],
        json!({
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": function},
                {"id": "b", "type": "function", "function": function},
            ],
        })
    );
    let text = format!("seen\nl\nfile:///l\nfile:///r\ninside\n{input}");
    assert_eq!(body["messages"][2], json!({"role": "tool", "tool_call_id": "a", "content": text}));
    let text = format!("Error:\n{input}");
    assert_eq!(body["messages"][3], json!({"role": "tool", "tool_call_id": "b", "content": text}));
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}});
    assert_eq!(body["messages"][4], json!({"role": "user", "content": [image]}));
}

#[tokio::test]
async fn pictures_and_sounds() {
    let mut prompt = prompt("Hello");
    let content = &mut prompt.messages[0].content;
    content.push(Block::Image(media("image/jpeg")));
    content.push(Block::Audio(media("audio/x-wav")));
    content.push(Block::Audio(media("audio/mpeg; x=y")));
    let body = sent(prompt, Profile::default()).await;
    let audio =
        |format| json!({"type": "input_audio", "input_audio": {"data": "AQID", "format": format}});
    assert_eq!(
        body["messages"][0]["content"],
        json!([
            {"type": "text", "text": "Hello"},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AQID"}},
            audio("wav"),
            audio("mp3"),
        ])
    );
}

#[tokio::test]
async fn what_the_dialect_cannot_say_is_not_sent() {
    let mut prompt = prompt("Hello");
    prompt.messages[0].content.push(Block::Audio(media("audio/x-unheard-of")));
    let backend = OpenAi::new(
        "http://127.0.0.1:1/v1",
        None,
        Profile::default(),
        crate::support::http_client(),
    );
    let backend = backend.unwrap();
    let error = call(&backend, prompt).await.unwrap_err();
    assert_eq!(error.cause, Cause::Unsupported);
    assert!(error.is_unbilled(backend.profile()));
}
