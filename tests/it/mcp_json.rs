//! MCP's JSON is read in every revision's form, refused by path, and written so
//! that the revision's clients accept it.

use bursar::proto::{
    ContentBlock, CreateMessageResult, IncludeContext, MediaContent, Role, SamplingParams,
    TextContent, ToolChoiceMode, ToolResultContent, ToolUseContent,
    content_block::Block,
    embedded_resource::Contents,
    mcp_json::{DEPTH_MAX, INPUT_BYTES_MAX, ITEMS_MAX, params_from_json, result_to_json},
};
use proptest::prelude::*;
use serde_json::{Value, json, value::RawValue};

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../fixtures/mcp/", $name, ".json"))
    };
}

fn read(text: &str) -> SamplingParams {
    params_from_json(text).unwrap()
}

fn block(params: &SamplingParams, message: usize, block: usize) -> &Block {
    params.messages[message].content[block].block.as_ref().unwrap()
}

fn text_of(params: &SamplingParams, message: usize) -> &str {
    let Block::Text(it) = block(params, message, 0) else { panic!("not a text") };
    &it.text
}

#[test]
fn the_newest_revisions_examples_are_read() {
    let basic = read(fixture!("2026-07-28-basic-request"));
    assert_eq!(basic.messages[0].role(), Role::User);
    assert_eq!(text_of(&basic, 0), "What is the capital of France?");
    let preferences = basic.model_preferences.unwrap();
    assert_eq!(preferences.hints[0].name, "claude-3-sonnet");
    assert_eq!(preferences.intelligence_priority, Some(0.8));
    assert_eq!(preferences.cost_priority, None);
    assert_eq!(basic.system_prompt, "You are a helpful assistant.");
    assert_eq!(basic.max_tokens, Some(100));
    assert!(basic.tool_choice.is_none() && basic.tools.is_empty());

    let tools = read(fixture!("2026-07-28-request-with-tools"));
    assert_eq!(tools.tools[0].name, "get_weather");
    assert_eq!(tools.tool_choice.unwrap().mode(), ToolChoiceMode::Auto);
    let schema: Value = serde_json::from_str(&tools.tools[0].input_schema_json).unwrap();
    assert_eq!(schema["required"], json!(["city"]));

    let follow_up = read(fixture!("2026-07-28-follow-up-with-tool-results"));
    assert!(matches!(block(&follow_up, 1, 1), Block::ToolUse(it) if it.id == "call_def456"));
    assert!(matches!(block(&follow_up, 2, 0), Block::ToolResult(it)
        if it.tool_use_id == "call_abc123" && it.structured_content_json.is_empty()));
}

#[test]
fn the_older_revisions_requests_are_read() {
    let oldest = read(fixture!("2024-11-05-image"));
    assert!(matches!(block(&oldest, 0, 0), Block::Image(it)
        if it.data == b"\x89PNG\r\n\x1a\n" && it.mime_type == "image/png"));
    assert_eq!(oldest.include_context(), IncludeContext::ThisServer);
    assert_eq!(oldest.max_tokens, Some(100), "100.0 is a whole number");
    assert_eq!(oldest.stop_sequences, ["END"]);
    let preferences = oldest.model_preferences.unwrap();
    assert_eq!((preferences.cost_priority, preferences.speed_priority), (Some(1.0), Some(0.0)));
    assert_eq!(preferences.hints.len(), 2, "a hint without a name is kept");
    assert_eq!(oldest.metadata_json, r#"{"ticket": 9007199254740993}"#);

    let audio = read(fixture!("2025-03-26-audio"));
    assert!(matches!(block(&audio, 0, 0), Block::Audio(it) if it.data == b"RIFF"));
    assert_eq!(audio.max_tokens, Some(100), "1e2 is a whole number");
    assert_eq!(audio.meta_json, r#"{"progressToken": 9007199254740993}"#);

    let meta = read(fixture!("2025-06-18-meta"));
    assert_eq!(meta.system_prompt, "", "null stands for absent");
    assert_eq!(meta.temperature, Some(1.0));
    assert_eq!(meta.include_context(), IncludeContext::None);
    assert!(meta.meta_json.contains("traceparent"));
}

#[test]
fn what_real_servers_send_is_read() {
    assert_eq!(read(fixture!("server-everything")).temperature, Some(0.7));
    assert_eq!(read(fixture!("server-devmcp")).max_tokens, Some(512));
}

#[test]
fn every_block_is_read_and_no_number_loses_a_digit() {
    let params = read(fixture!("2025-11-25-every-block"));
    let Block::ToolUse(tool_use) = block(&params, 0, 0) else { panic!("a tool use") };
    assert_eq!(
        tool_use.input_json,
        r#"{"row": 9007199254740993, "ratio": 0.10000000000000000001, "nested": {"z": 1, "a": 2}}"#
    );
    assert_eq!(tool_use.meta_json, r#"{"vendor/sig": 18446744073709551617}"#);
    assert_eq!(params.messages[1].meta_json, r#"{"k": "v"}"#);
    let Block::ToolResult(result) = block(&params, 1, 0) else { panic!("a tool result") };
    assert!(result.is_error);
    assert_eq!(result.structured_content_json, r#"{"row": 9007199254740993}"#);
    let inner: Vec<&Block> = result.content.iter().map(|it| it.block.as_ref().unwrap()).collect();
    assert!(matches!(inner[0], Block::Text(it) if it.text == "not found"));
    assert!(matches!(inner[1], Block::Image(_)));
    assert!(matches!(inner[2], Block::Audio(it) if it.data == b"RIFF"));
    assert!(matches!(inner[3], Block::ResourceLink(it)
        if it.uri == "file:///a.txt" && it.name == "a.txt" && it.mime_type == "text/plain"));
    assert!(matches!(inner[4], Block::Resource(it)
        if it.contents == Some(Contents::Text("bee".to_owned()))));
    assert!(matches!(inner[5], Block::Resource(it)
        if it.contents == Some(Contents::Blob(vec![0, 1, 2]))));
    assert!(params.tools[0].input_schema_json.contains("9007199254740993"));
    assert_eq!(params.tool_choice.unwrap().mode(), ToolChoiceMode::Required);
}

#[test]
fn structured_content_may_be_any_json_even_null() {
    let with = |json: &str| {
        let text = format!(
            r#"{{"maxTokens": 1, "messages": [{{"role": "user", "content": {{
                "type": "tool_result", "toolUseId": "a", "content": [],
                "structuredContent": {json}}}}}]}}"#
        );
        let params = read(&text);
        let Block::ToolResult(it) = block(&params, 0, 0) else { panic!("a tool result") };
        it.structured_content_json.clone()
    };
    for json in ["null", "[1, 2]", "\"x\"", "12345678901234567890"] {
        assert_eq!(with(json), json);
    }
}

/// Params with one message of this content.
fn with_content(content: &str) -> String {
    format!(r#"{{"maxTokens": 1, "messages": [{{"role": "user", "content": {content}}}]}}"#)
}

/// Params with one text message and these further fields.
fn with_fields(fields: &str) -> String {
    let messages = r#""messages": [{"role": "user", "content": {"type": "text", "text": "t"}}]"#;
    format!("{{{messages}, {fields}}}")
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn a_wrong_field_is_named_by_its_path() {
    let text = |it: &str| with_content(it);
    let fields = |it: &str| with_fields(it);
    let result = |it: &str| {
        text(&format!(r#"{{"type": "tool_result", "toolUseId": "a", "content": [{it}]}}"#))
    };
    let cases = [
        ("not json".to_owned(), "", "is not valid (line 1, column 2)"),
        ("[]".to_owned(), "", "must be an object, not an array"),
        (r#"{"maxTokens": 1}"#.to_owned(), "messages", "is required"),
        (
            r#"{"maxTokens": 1, "messages": {}}"#.to_owned(),
            "messages",
            "must be an array, not an object",
        ),
        (
            r#"{"maxTokens": 1, "messages": [7]}"#.to_owned(),
            "messages[0]",
            "must be an object, not a number",
        ),
        (text(r#"{"type": 5}"#), "messages[0].content.type", "must be a string, not a number"),
        (text(r#"{"text": "t"}"#), "messages[0].content.type", "is required"),
        (
            text(r#"{"type": "video"}"#),
            "messages[0].content.type",
            "must be text, image, audio, tool_use or tool_result",
        ),
        (
            text(r#"[{"type": "text", "text": "t"}, {"type": "text"}]"#),
            "messages[0].content[1].text",
            "is required",
        ),
        (
            text(r#"{"type": "image", "data": "@@@", "mimeType": "image/png"}"#),
            "messages[0].content.data",
            "must be base64",
        ),
        (
            text(r#"{"type": "audio", "data": "AAAA"}"#),
            "messages[0].content.mimeType",
            "is required",
        ),
        (
            text(r#"{"type": "tool_use", "id": "a", "name": "b", "input": []}"#),
            "messages[0].content.input",
            "must be an object, not an array",
        ),
        (
            text(r#"{"type": "resource_link", "uri": "u", "name": "n"}"#),
            "messages[0].content.type",
            "must be text, image, audio, tool_use or tool_result",
        ),
        (
            text(r#"{"type": "text", "text": "\ud800"}"#),
            "messages[0].content.text",
            "must be valid Unicode",
        ),
        (
            result(r#"{"type": "tool_use"}"#),
            "messages[0].content.content[0].type",
            "must be text, image, audio, resource_link or resource",
        ),
        (
            result(r#"{"type": "resource", "resource": {"uri": "u"}}"#),
            "messages[0].content.content[0].resource.text",
            "is required",
        ),
        (fields(r#""x": 1"#), "maxTokens", "is required"),
        (fields(r#""maxTokens": 1.5"#), "maxTokens", "must be a whole number"),
        (fields(r#""maxTokens": "1""#), "maxTokens", "must be a number, not a string"),
        (fields(r#""maxTokens": 1e30"#), "maxTokens", "is too large"),
        (fields(r#""maxTokens": NaN"#), "", "is not valid (line 1, column 89)"),
        (
            fields(r#""maxTokens": 1, "temperature": true"#),
            "temperature",
            "must be a number, not a boolean",
        ),
        (fields(r#""maxTokens": 1, "temperature": 1e999"#), "temperature", "is too large"),
        (
            fields(r#""maxTokens": 1, "modelPreferences": {"hints": [{"name": 1}]}"#),
            "modelPreferences.hints[0].name",
            "must be a string, not a number",
        ),
        (
            fields(r#""maxTokens": 1, "includeContext": "some""#),
            "includeContext",
            "must be none, thisServer or allServers",
        ),
        (
            fields(r#""maxTokens": 1, "stopSequences": ["a", null]"#),
            "stopSequences[1]",
            "must be a string, not null",
        ),
        (
            fields(r#""maxTokens": 1, "metadata": "m""#),
            "metadata",
            "must be an object, not a string",
        ),
        (
            fields(r#""maxTokens": 1, "tools": [{"name": "a"}]"#),
            "tools[0].inputSchema",
            "is required",
        ),
        (
            fields(r#""maxTokens": 1, "toolChoice": {"mode": "any"}"#),
            "toolChoice.mode",
            "must be auto, required or none",
        ),
    ];
    for (json, path, problem) in cases {
        let refused = params_from_json(&json).expect_err(&json);
        assert_eq!((refused.path.as_str(), refused.problem.as_str()), (path, problem), "{json}");
    }
}

#[test]
fn a_problem_reads_as_one_line_and_quotes_nothing() {
    let secret = with_content(r#"{"type": "hunter2"}"#);
    let refused = params_from_json(&secret).unwrap_err().to_string();
    assert!(refused.starts_with("messages[0].content.type: must be"), "{refused}");
    assert!(!refused.contains("hunter2"));
    assert_eq!(
        params_from_json("1").unwrap_err().to_string(),
        "the JSON must be an object, not a number"
    );
}

#[test]
fn nesting_length_and_size_have_limits() {
    let nested = |depth: usize| {
        let input = format!("{}{}", r#"{"a":"#.repeat(depth), "1".to_owned() + &"}".repeat(depth));
        with_content(&format!(
            r#"{{"type": "tool_use", "id": "a", "name": "b", "input": {input}}}"#
        ))
    };
    // The params, the messages, the message and the block are four levels.
    assert!(params_from_json(&nested(DEPTH_MAX - 4)).is_ok());
    let too_deep = params_from_json(&nested(DEPTH_MAX - 3)).unwrap_err();
    assert_eq!(too_deep.problem, "must nest at most 64 deep");
    let bomb = "[".repeat(1_000_000);
    assert_eq!(params_from_json(&bomb).unwrap_err().problem, "must nest at most 64 deep");
    let brackets = with_content(&format!(r#"{{"type": "text", "text": "\"{}"}}"#, "[".repeat(100)));
    assert!(params_from_json(&brackets).is_ok(), "brackets in a text are text");

    let many = format!(r#"{{"maxTokens": 1, "messages": [{}0]}}"#, "0,".repeat(ITEMS_MAX));
    let too_many = params_from_json(&many).unwrap_err();
    assert_eq!(
        (too_many.path.as_str(), too_many.problem.as_str()),
        ("messages", "must have at most 65536 items")
    );

    let large = " ".repeat(INPUT_BYTES_MAX + 1);
    assert_eq!(params_from_json(&large).unwrap_err().problem, "must be at most 33554432 bytes");
}

proptest! {
    /// Whatever a server sends, it is read or refused; nothing breaks.
    #[test]
    fn a_damaged_request_is_read_or_refused(
        at in 0_usize..2_000, cut in 0_usize..40, with in "[\\[\\]{}\",:0-9a-z\\\\ \\-+.\u{e9}]{0,8}",
    ) {
        let whole: Vec<char> = fixture!("2025-11-25-every-block").chars().collect();
        let at = at.min(whole.len());
        let after = (at + cut).min(whole.len());
        let damaged: String =
            whole[..at].iter().copied().chain(with.chars()).chain(whole[after..].iter().copied()).collect();
        match params_from_json(&damaged) {
            // What was read can be passed on: the text that is kept is JSON.
            Ok(params) => {
                for block in params.messages.iter().flat_map(|it| &it.content) {
                    if let Some(Block::ToolUse(it)) = &block.block {
                        let input: Result<&RawValue, _> = serde_json::from_str(&it.input_json);
                        let is_object = input.is_ok_and(|it| it.get().starts_with('{'));
                        prop_assert!(is_object);
                    }
                }
            }
            Err(refused) => prop_assert!(!refused.problem.is_empty()),
        }
    }
}

// Results.

fn of(block: Block) -> ContentBlock {
    ContentBlock { block: Some(block) }
}

fn text(text: &str) -> ContentBlock {
    of(Block::Text(TextContent { text: text.to_owned() }))
}

fn tool_use(id: &str, input: &str) -> ContentBlock {
    of(Block::ToolUse(ToolUseContent {
        id: id.to_owned(),
        name: "get_weather".to_owned(),
        input_json: input.to_owned(),
        meta_json: String::new(),
    }))
}

fn result(content: Vec<ContentBlock>) -> CreateMessageResult {
    CreateMessageResult {
        role: Role::Assistant.into(),
        content,
        model: "claude-3-sonnet-20240307".to_owned(),
        stop_reason: "endTurn".to_owned(),
        meta_json: String::new(),
    }
}

fn written(result: &CreateMessageResult, revision: &str) -> Value {
    serde_json::from_str(&result_to_json(result, revision).unwrap()).unwrap()
}

#[test]
fn a_text_result_is_the_official_example_in_every_revision() {
    let expected: Value = serde_json::from_str(fixture!("2026-07-28-text-response")).unwrap();
    let result = result(vec![text("The capital of France is Paris.")]);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", ""] {
        assert_eq!(written(&result, revision), expected, "{revision}");
    }
}

#[test]
fn tool_calls_are_the_official_example_and_only_where_the_revision_has_them() {
    let expected: Value = serde_json::from_str(fixture!("2026-07-28-tool-use-response")).unwrap();
    let blocks = vec![
        tool_use("call_abc123", r#"{"city": "Paris"}"#),
        tool_use("call_def456", r#"{"city": "London"}"#),
    ];
    let result = CreateMessageResult { stop_reason: "toolUse".to_owned(), ..result(blocks) };
    assert_eq!(written(&result, "2025-11-25"), expected);
    assert!(result_to_json(&result, "2025-06-18").is_err());
    let single = CreateMessageResult { content: result.content[..1].to_vec(), ..result };
    assert!(written(&single, "2025-11-25")["content"].is_object());
    let refused = result_to_json(&single, "2025-06-18").unwrap_err();
    assert_eq!(refused.to_string(), "content[0]: is not in this revision of MCP");
}

#[test]
fn several_texts_are_an_array_or_one_text_by_revision() {
    let result = result(vec![text("a"), text("b")]);
    assert_eq!(written(&result, "2025-11-25")["content"].as_array().unwrap().len(), 2);
    assert_eq!(written(&result, "2025-06-18")["content"], json!({"type": "text", "text": "ab"}));
}

#[test]
fn a_result_is_valid_even_with_nothing_to_say() {
    let result = CreateMessageResult {
        stop_reason: String::new(),
        meta_json: r#"{"dev.bursar/budget": {"left": 9007199254740993}}"#.to_owned(),
        ..result(Vec::new())
    };
    let json = result_to_json(&result, "2025-11-25").unwrap();
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["content"], json!({"type": "text", "text": ""}));
    assert!(value.get("stopReason").is_none());
    assert!(json.contains(r#""_meta":{"dev.bursar/budget": {"left": 9007199254740993}}"#));
}

#[test]
fn a_tool_input_goes_through_unchanged() {
    let params = read(fixture!("2025-11-25-every-block"));
    let Block::ToolUse(original) = block(&params, 0, 0) else { panic!("a tool use") };
    let json = result_to_json(&result(params.messages[0].content.clone()), "").unwrap();
    assert!(json.contains(&original.input_json) && json.contains(&original.meta_json));
    // Read again as the assistant's next turn, it is the same.
    let value: &RawValue = serde_json::from_str(&json).unwrap();
    let again = read(&format!(r#"{{"maxTokens": 1, "messages": [{value}]}}"#));
    assert_eq!(again.messages[0].content, params.messages[0].content);
}

#[test]
fn media_become_base64_and_sound_needs_its_revision() {
    let media = MediaContent { data: b"RIFF".to_vec(), mime_type: "audio/wav".to_owned() };
    let sound = result(vec![of(Block::Audio(media.clone()))]);
    assert_eq!(
        written(&sound, "2025-03-26")["content"],
        json!({"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"})
    );
    assert!(result_to_json(&sound, "2024-11-05").is_err());
    let picture = result(vec![of(Block::Image(media))]);
    assert_eq!(written(&picture, "2024-11-05")["content"]["type"], "image");
}

#[test]
fn what_no_result_may_hold_is_refused() {
    let broken = result_to_json(&result(vec![tool_use("a", "{")]), "").unwrap_err();
    assert_eq!(broken.to_string(), "content[0].input: must be a JSON object");
    assert!(result_to_json(&result(vec![tool_use("a", "")]), "").is_err());
    let nested = of(Block::ToolResult(ToolResultContent::default()));
    assert!(result_to_json(&result(vec![nested]), "").is_err());
    let meta = CreateMessageResult { meta_json: "[]".to_owned(), ..result(vec![text("t")]) };
    assert_eq!(result_to_json(&meta, "").unwrap_err().path, "_meta");
}
