//! A good request to spoil, and what to expect of a bad one.

use bursar::{
    domain::{fault::Fault, message::Block, request::SamplingRequest},
    proto::{self, content_block::Block as WireBlock},
    transport::grpc::convert::request::sampling_request,
};
use tonic::Code;
use tonic_types::StatusExt;

pub(super) fn block(it: WireBlock) -> proto::ContentBlock {
    proto::ContentBlock { block: Some(it) }
}

pub(super) fn text(it: &str) -> proto::ContentBlock {
    block(WireBlock::Text(proto::TextContent { text: it.to_owned() }))
}

pub(super) fn media(mime_type: &str, data: &[u8]) -> proto::MediaContent {
    proto::MediaContent { data: data.to_vec(), mime_type: mime_type.to_owned() }
}

pub(super) fn tool_use(id: &str, input: &str) -> proto::ContentBlock {
    block(WireBlock::ToolUse(proto::ToolUseContent {
        id: id.to_owned(),
        name: "look_up".to_owned(),
        input_json: input.to_owned(),
        ..Default::default()
    }))
}

pub(super) fn tool_result(id: &str, content: Vec<proto::ContentBlock>) -> proto::ContentBlock {
    block(WireBlock::ToolResult(proto::ToolResultContent {
        tool_use_id: id.to_owned(),
        content,
        ..Default::default()
    }))
}

pub(super) fn message(
    role: proto::Role,
    content: Vec<proto::ContentBlock>,
) -> proto::SamplingMessage {
    proto::SamplingMessage { role: role.into(), content, meta_json: String::new() }
}

pub(super) fn tool(name: &str) -> proto::Tool {
    proto::Tool {
        name: name.to_owned(),
        description: "Looks a word up.".to_owned(),
        input_schema_json: r#"{"type":"object"}"#.to_owned(),
    }
}

/// A question, a tool call, its result and a tool on offer.
pub(super) fn request() -> proto::CreateMessageRequest {
    proto::CreateMessageRequest {
        user: "alice".to_owned(),
        server: "weather".to_owned(),
        params: Some(proto::SamplingParams {
            messages: vec![
                message(proto::Role::User, vec![text("What is the weather?")]),
                message(proto::Role::Assistant, vec![tool_use("t1", "{}")]),
                message(proto::Role::User, vec![tool_result("t1", vec![text("Rain.")])]),
            ],
            max_tokens: Some(100),
            tools: vec![tool("look_up")],
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The good request with a change.
pub(super) fn with(change: impl FnOnce(&mut proto::CreateMessageRequest)) -> Read {
    let mut request = request();
    change(&mut request);
    sampling_request(request)
}

/// The good request with a change of its params.
pub(super) fn with_params(change: impl FnOnce(&mut proto::SamplingParams)) -> Read {
    with(|it| change(it.params.as_mut().unwrap()))
}

/// The good request with a block appended to its first message.
pub(super) fn with_block(it: WireBlock) -> Read {
    with_params(|params| params.messages[0].content.push(block(it)))
}

/// The good request with a block inside its tool result.
pub(super) fn with_nested(it: WireBlock) -> Read {
    with_params(|params| {
        params.messages[2] = message(proto::Role::User, vec![tool_result("t1", vec![block(it)])]);
    })
}

pub(super) type Read = Result<SamplingRequest, Fault>;

/// What the last block of a message became.
pub(super) fn last_block(read: Read, message: usize) -> Block {
    read.unwrap().params.messages[message].content.last().unwrap().clone()
}

/// Asserts that a reading failed as INVALID_ARGUMENT by exactly this field.
#[track_caller]
pub(super) fn refused<T: std::fmt::Debug>(read: Result<T, Fault>, field: &str) {
    let status = tonic::Status::from(read.unwrap_err());
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    let details = status.get_error_details();
    let violations = &details.bad_request().unwrap().field_violations;
    let fields: Vec<&str> = violations.iter().map(|it| it.field.as_str()).collect();
    assert_eq!(fields, [field], "{status}");
    assert!(!violations[0].description.is_empty());
    assert_eq!(details.error_info().unwrap().metadata["field"], field);
    assert_eq!(status.metadata().get("mcp-error-code").unwrap(), "-32602");
}
