//! Messages, blocks and JSON texts.

use bursar::{
    domain::message::{Block, Media, Resource, ResourceLink},
    proto::{self, Role, content_block::Block as WireBlock, embedded_resource::Contents},
};

use super::support::{
    Read, block, last_block, media, message, refused, text, tool_result, tool_use, with_block,
    with_nested, with_params,
};

#[test]
fn a_conversation_has_messages_and_a_message_has_a_role_and_blocks() {
    refused(with_params(|it| it.messages.clear()), "params.messages");
    let many = || vec![message(Role::User, vec![text("a")]); 2_001];
    refused(with_params(|it| it.messages = many()), "params.messages");
    for role in [0, 3, -1] {
        refused(with_params(|it| it.messages[1].role = role), "params.messages[1].role");
    }
    refused(with_params(|it| it.messages[1].content.clear()), "params.messages[1].content");
    let blocks = || vec![text("a"); 1_001];
    refused(with_params(|it| it.messages[0].content = blocks()), "params.messages[0].content");
    let none = proto::ContentBlock { block: None };
    refused(with_params(|it| it.messages[0].content.push(none)), "params.messages[0].content[1]");
}

#[test]
fn text_passes_as_it_is() {
    let odd = "naïve \u{0} 日本 \u{1f600}\r\n";
    let read = with_block(WireBlock::Text(proto::TextContent { text: odd.to_owned() }));
    assert_eq!(last_block(read, 0), Block::Text(odd.to_owned()));
}

#[test]
fn media_pass_by_their_own_type_alone() {
    let wanted = |mime: &str| Media { data: vec![1, 2].into(), mime_type: mime.to_owned() };
    let image = with_block(WireBlock::Image(media("image/png", &[1, 2])));
    assert_eq!(last_block(image, 0), Block::Image(wanted("image/png")));
    let audio = with_block(WireBlock::Audio(media("audio/wav", &[1, 2])));
    assert_eq!(last_block(audio, 0), Block::Audio(wanted("audio/wav")));
    let codecs = with_block(WireBlock::Audio(media("audio/wav; codecs=1", &[1, 2])));
    assert_eq!(last_block(codecs, 0), Block::Audio(wanted("audio/wav")));
    let path = "params.messages[0].content[1]";
    for bad in ["", "image", "image/", "audio/wav", "text/html", "image/png,x;base64", "image/a b"]
    {
        let read = with_block(WireBlock::Image(media(bad, &[1])));
        refused(read, &format!("{path}.image.mime_type"));
    }
    let read = with_block(WireBlock::Audio(media("image/png", &[1])));
    refused(read, &format!("{path}.audio.mime_type"));
    let read = with_block(WireBlock::Image(media("image/png", &[])));
    refused(read, &format!("{path}.image.data"));
    let read = with_block(WireBlock::Audio(media("audio/wav", &[])));
    refused(read, &format!("{path}.audio.data"));
}

#[test]
fn texts_and_media_are_bounded_together() {
    let half = vec![0; 24 * 1024 * 1024];
    let image = || block(WireBlock::Image(media("image/png", &half)));
    let read = with_params(|it| it.messages[0].content.extend([image(), image()]));
    refused(read, "params.messages[0].content[2].image.data");
    let read = with_params(|it| it.messages[0].content = vec![image()]);
    assert!(read.is_ok());
}

#[test]
fn tool_calls_and_results_keep_their_json_to_the_letter() {
    let input = r#"{"n": 9007199254740993, "e": 1.0e5}"#;
    let read = with_params(|it| it.messages[1].content = vec![tool_use("t1", input)]);
    let Block::ToolUse(used) = last_block(read, 1) else { panic!("not a tool call") };
    assert_eq!((used.id.as_str(), used.input.as_str()), ("t1", input));
    let read = with_params(|it| {
        it.messages[2].content = vec![block(WireBlock::ToolResult(proto::ToolResultContent {
            tool_use_id: "t1".to_owned(),
            structured_content_json: "[1, 2]".to_owned(),
            is_error: true,
            ..Default::default()
        }))];
    });
    let Block::ToolResult(result) = last_block(read, 2) else { panic!("not a result") };
    assert!(result.is_error && result.content.is_empty());
    assert_eq!(result.structured.unwrap().as_str(), "[1, 2]");
}

#[test]
fn resources_pass_inside_of_tool_results_and_blobs_lose_their_bytes() {
    let nested = |it| {
        let Block::ToolResult(mut result) = last_block(with_nested(it), 2) else {
            panic!("not a result")
        };
        result.content.remove(0)
    };
    let uri = "https://example.com/a".to_owned();
    let link = proto::ResourceLink { uri: uri.clone(), name: "a".to_owned(), ..Default::default() };
    let wanted =
        ResourceLink { uri: uri.clone(), name: "a".to_owned(), description: String::new() };
    assert_eq!(nested(WireBlock::ResourceLink(link)), Block::ResourceLink(wanted));
    let wired = |contents| {
        let mime_type = "text/plain".to_owned();
        WireBlock::Resource(proto::EmbeddedResource { uri: uri.clone(), mime_type, contents })
    };
    let wanted = |text| {
        let mime_type = "text/plain".to_owned();
        Block::Resource(Resource { uri: uri.clone(), mime_type, text })
    };
    let words = "words".to_owned();
    assert_eq!(nested(wired(Some(Contents::Text(words.clone())))), wanted(Some(words)));
    assert_eq!(nested(wired(Some(Contents::Blob(vec![1])))), wanted(None));
    assert!(matches!(nested(WireBlock::Image(media("image/png", &[1]))), Block::Image(_)));
    let path = "params.messages[2].content[0].tool_result.content[0]";
    refused(with_nested(wired(None)), &format!("{path}.resource"));
    let nowhere = WireBlock::ResourceLink(proto::ResourceLink::default());
    refused(with_nested(nowhere), &format!("{path}.resource_link.uri"));
}

#[test]
fn blocks_out_of_place_are_refused() {
    let user = "params.messages[0].content[1]";
    let link = || WireBlock::ResourceLink(proto::ResourceLink::default());
    let resource = || WireBlock::Resource(proto::EmbeddedResource::default());
    refused(with_block(link()), &format!("{user}.resource_link"));
    refused(with_block(resource()), &format!("{user}.resource"));
    refused(with_block(tool_use("t9", "{}").block.unwrap()), &format!("{user}.tool_use"));
    let result = tool_result("t1", Vec::new());
    let read = with_params(|it| it.messages[1].content.push(result.clone()));
    refused(read, "params.messages[1].content[1].tool_result");
    let nested = "params.messages[2].content[0].tool_result.content[0]";
    refused(with_nested(result.block.unwrap()), &format!("{nested}.tool_result"));
    refused(with_nested(tool_use("t9", "{}").block.unwrap()), &format!("{nested}.tool_use"));
}

#[test]
fn tool_calls_and_results_have_ids_and_names() {
    let path = "params.messages[1].content[0].tool_use";
    let read = with_params(|it| it.messages[1].content = vec![tool_use("", "{}")]);
    refused(read, &format!("{path}.id"));
    let nameless = proto::ToolUseContent {
        id: "t1".to_owned(),
        input_json: "{}".to_owned(),
        ..Default::default()
    };
    let read = with_params(|it| it.messages[1].content = vec![block(WireBlock::ToolUse(nameless))]);
    refused(read, &format!("{path}.name"));
    let read = with_params(|it| it.messages[2].content = vec![tool_result("", Vec::new())]);
    refused(read, "params.messages[2].content[0].tool_result.tool_use_id");
}

type Place = (&'static str, fn(&mut proto::SamplingParams, &str));

/// Every JSON text of a request that must be an object, and how to set it.
const OBJECTS: [Place; 5] = [
    ("params.messages[1].content[0].tool_use.input_json", |it, json| {
        it.messages[1].content = vec![tool_use("t1", json)];
    }),
    ("params.tools[0].input_schema_json", |it, json| {
        json.clone_into(&mut it.tools[0].input_schema_json);
    }),
    ("params.metadata_json", |it, json| json.clone_into(&mut it.metadata_json)),
    ("params.meta_json", |it, json| json.clone_into(&mut it.meta_json)),
    ("params.messages[0].meta_json", |it, json| json.clone_into(&mut it.messages[0].meta_json)),
];

fn structured(json: &str) -> Read {
    with_params(|it| {
        it.messages[2].content = vec![block(WireBlock::ToolResult(proto::ToolResultContent {
            tool_use_id: "t1".to_owned(),
            structured_content_json: json.to_owned(),
            ..Default::default()
        }))];
    })
}

fn deep(levels: usize) -> String {
    format!("{}{}", r#"{"a":"#.repeat(levels - 1) + "{}", "}".repeat(levels - 1))
}

#[test]
fn json_that_is_none_too_deep_or_too_long_is_refused_wherever_it_stands() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1024 * 1024));
    let bottomless = "[".repeat(1_000_000);
    let bad = ["{", "{}x", "{'a':1}", "nul", "{\"a\":NaN}", &long, &deep(65), &bottomless];
    let structured_path = "params.messages[2].content[0].tool_result.structured_content_json";
    for json in bad {
        for (path, set) in OBJECTS {
            refused(with_params(|it| set(it, json)), path);
        }
        refused(structured(json), structured_path);
    }
}

#[test]
fn json_must_be_an_object_where_mcp_says_so() {
    for json in ["[]", "1", "null", "\"{}\"", " [ ] "] {
        for (path, set) in OBJECTS {
            refused(with_params(|it| set(it, json)), path);
        }
        assert!(structured(json).is_ok());
    }
}

#[test]
fn deep_json_within_bounds_and_brackets_in_strings_pass() {
    let brackets = format!(r#"{{"a":"\\\"{}"}}"#, "[{".repeat(200));
    for json in [&deep(64), &brackets, "\n\t {} "] {
        for (path, set) in OBJECTS {
            assert!(with_params(|it| set(it, json)).is_ok(), "{path} {json:.20}");
        }
    }
}

#[test]
fn what_must_be_there_is_not_empty() {
    for (path, set) in &OBJECTS[..2] {
        refused(with_params(|it| set(it, "")), path);
    }
    for (_, set) in &OBJECTS[2..] {
        assert!(with_params(|it| set(it, "")).is_ok());
    }
}
