//! Nothing that a server or an operator wrote comes back in an error.

use bursar::{
    domain::fault::Fault,
    proto::{self, content_block::Block as WireBlock},
    transport::grpc::convert::{admin, page::page},
};

use super::support::{media, request, tool, tool_use, with, with_params};

const CANARY: &str = "sk-CANARY-7f3a";

fn quiet<T: std::fmt::Debug>(read: Result<T, Fault>) {
    let fault = read.unwrap_err();
    let status = tonic::Status::from(fault.clone());
    let details = String::from_utf8_lossy(status.details()).into_owned();
    for shown in [
        fault.to_string(),
        format!("{fault:?}"),
        status.to_string(),
        format!("{status:?}"),
        details,
    ] {
        assert!(!shown.contains("CANARY"), "{shown}");
    }
}

#[test]
fn a_refused_request_is_not_quoted() {
    let spoiled = format!("{CANARY}\n");
    quiet(with(|it| it.user.clone_from(&spoiled)));
    quiet(with(|it| it.server.clone_from(&spoiled)));
    quiet(with(|it| it.conversation.clone_from(&spoiled)));
    quiet(with(|it| it.request_id.clone_from(&spoiled)));
    for text in ["file:///../", "https://"] {
        quiet(with(|it| it.root = format!("{text}{CANARY}")));
    }
    quiet(with(|it| CANARY.clone_into(&mut it.envelope)));
    quiet(with(|it| CANARY.clone_into(&mut it.protocol_revision)));
    for json in [CANARY.to_owned(), format!("\"{CANARY}\""), format!("{{\"a\": \"{CANARY}")] {
        quiet(with_params(|it| it.meta_json.clone_from(&json)));
        quiet(with_params(|it| it.metadata_json.clone_from(&json)));
        quiet(with_params(|it| it.tools[0].input_schema_json.clone_from(&json)));
        quiet(with_params(|it| it.messages[1].content = vec![tool_use("t1", &json)]));
    }
    quiet(with_params(|it| it.metadata_json = format!("{{\"seed\": \"{CANARY}\"}}")));
    quiet(with_params(|it| it.tools.push(tool(&format!("{CANARY} x")))));
    quiet(with_params(|it| it.messages[1].content = vec![tool_use(CANARY, "{}")]));
    quiet(with_params(|it| {
        let image = WireBlock::Image(media(CANARY, CANARY.as_bytes()));
        it.messages[0].content[0].block = Some(image);
    }));
}

#[test]
fn a_prompt_is_not_quoted_when_something_else_is_wrong() {
    let mut spoiled = request();
    let params = spoiled.params.as_mut().unwrap();
    params.messages[0].content[0].block =
        Some(WireBlock::Text(proto::TextContent { text: CANARY.to_owned() }));
    params.system_prompt = CANARY.to_owned();
    params.max_tokens = None;
    quiet(bursar::transport::grpc::convert::request::sampling_request(spoiled));
}

#[test]
fn a_key_put_in_the_wrong_place_is_not_quoted() {
    let openai = |base_url: &str, key_env: &str| {
        admin::backend(Some(proto::Backend {
            backend: "vendor".to_owned(),
            kind: proto::BackendKind::Openai.into(),
            base_url: base_url.to_owned(),
            key_env: key_env.to_owned(),
            ..Default::default()
        }))
    };
    quiet(openai("https://example.com/v1", CANARY));
    quiet(openai(&format!("https://example.com/v1?key={CANARY}"), ""));
    quiet(openai(&format!("https://user:{CANARY}@example.com/v1"), ""));
    quiet(page(0, CANARY));
}
