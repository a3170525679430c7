//! What the server gets: always an MCP result that its client accepts, and nothing
//! that is not its business.

use bursar::proto::{
    self, CreateMessageRequest, CreateMessageResponse, IncludeContext, Outcome, ToolChoiceMode,
    content_block::Block,
};
use serde_json::json;

use super::world::{Change, World, ask, ask_in, limits, meta, says, stop_reason, text};

/// Text blocks and the names of tool calls, in order.
fn blocks(reply: &CreateMessageResponse) -> Vec<String> {
    let of = |it: &proto::ContentBlock| match it.block.as_ref().unwrap() {
        Block::Text(it) => it.text.clone(),
        Block::ToolUse(it) => format!("{}({})", it.name, it.input_json),
        Block::Image(_)
        | Block::Audio(_)
        | Block::ToolResult(_)
        | Block::ResourceLink(_)
        | Block::Resource(_) => panic!("not in an answer: {it:?}"),
    };
    reply.result.as_ref().unwrap().content.iter().map(of).collect()
}

const DROPPED: &str = "not on offer";

fn warns(reply: &CreateMessageResponse, of: &str) -> bool {
    reply.warnings.iter().any(|it| it.contains(of))
}

#[tokio::test]
async fn tools_are_called_only_where_they_are_on_offer() {
    let world = World::start().await;
    let calls = json!({ "text": "let me see", "tool_calls": [
        { "name": "look", "input": { "at": "sky" } }, { "name": "invented" },
    ] });
    let reply = world.sample(ask(&calls)).await.unwrap();
    assert_eq!((text(&reply), stop_reason(&reply)), ("let me see", "endTurn"));
    assert!(warns(&reply, DROPPED));

    let reply = world.sample(ask(&calls).tool("look")).await.unwrap();
    assert_eq!(blocks(&reply), ["let me see", r#"look({"at":"sky"})"#]);
    assert_eq!((stop_reason(&reply), reply.outcome()), ("toolUse", Outcome::Complete));
    assert!(warns(&reply, DROPPED));

    let none = ask(&calls).tool("look").choice(ToolChoiceMode::None);
    let reply = world.sample(none).await.unwrap();
    assert_eq!((text(&reply), stop_reason(&reply)), ("let me see", "endTurn"));
    assert!(warns(&reply, DROPPED));

    let both = ask(&calls).tool("look").tool("invented");
    let reply = world.sample(both).await.unwrap();
    assert_eq!(blocks(&reply).len(), 3);
    assert!(!warns(&reply, DROPPED));

    // Without text the calls stand alone.
    let silent = json!({ "text": "", "tool_calls": [{ "name": "look" }] });
    let reply = world.sample(ask(&silent).tool("look")).await.unwrap();
    assert_eq!(blocks(&reply), ["look({})"]);
    world.close().await;
}

#[tokio::test]
async fn an_old_revision_gets_the_single_block_it_knows() {
    let world = World::start().await;
    let calls = json!({ "text": "seen", "tool_calls": [{ "name": "look" }] });
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        let request = CreateMessageRequest {
            protocol_revision: revision.to_owned(),
            ..ask(&calls).tool("look")
        };
        let reply = world.sample(request).await.unwrap();
        assert_eq!((text(&reply), stop_reason(&reply)), ("seen", "endTurn"), "{revision}");
        assert!(warns(&reply, revision), "{:?}", reply.warnings);
    }
    world.close().await;
}

#[tokio::test]
async fn a_tool_call_that_the_hold_cuts_is_dropped_whole() {
    let world = World::start().await;
    let calls = json!({ "text": "one two", "tool_calls": [{ "name": "look" }] });
    let reply = world.sample(ask(&calls).tool("look").max(2)).await.unwrap();
    assert_eq!((blocks(&reply), stop_reason(&reply)), (vec!["one two".to_owned()], "maxTokens"));
    world.close().await;
}

#[tokio::test]
async fn the_server_sees_its_own_envelope_and_neither_money_nor_model() {
    let world = World::start().await;
    world.scripted("alias-of-it", proto::BackendProfile::default()).await;
    let envelope = world.open(limits(5, 60, 100_000_000)).await;
    let request = || ask_in(&envelope, &json!({ "text": "hi" })).hint("alias-of-it");
    let reply = world.sample(request()).await.unwrap();
    let result = reply.result.clone().unwrap();
    assert_eq!(result.model, "alias-of-it");
    assert_eq!(result.role(), proto::Role::Assistant);
    let seen = format!("{result:?}");
    for hidden in ["secret-name", "backend", "EUR", "money", "charge", "cost", "cache"] {
        assert!(!seen.contains(hidden), "{hidden} in {seen}");
    }
    let seconds = meta(&reply)["left"]["seconds"].as_i64().unwrap();
    assert!((50..=60).contains(&seconds));
    assert_eq!(
        meta(&reply),
        json!({ "outcome": "COMPLETE", "left": { "calls": 4, "seconds": seconds } })
    );
    // The host learns it all.
    let route = reply.route.unwrap();
    assert_eq!(
        (route.model.as_str(), route.backend.as_str()),
        ("alias-of-it-secret-name", "alias-of-it-backend")
    );
    assert!(!route.reasons.is_empty());
    world.regrant(|it| it.reveal_model = true).await;
    let reply = world.sample(request()).await.unwrap();
    assert_eq!(reply.result.unwrap().model, "alias-of-it-secret-name");
    world.close().await;
}

#[tokio::test]
async fn what_was_not_followed_is_said() {
    let world = World::start().await;
    let request = ask(&json!({})).max(1_000_000).params(|it| {
        it.set_include_context(IncludeContext::AllServers);
        it.metadata_json = r#"{"n": 5, "service_tier": "priority", "seed": 7}"#.to_owned();
        it.stop_sequences = vec![String::new()];
    });
    let reply = world.sample(request).await.unwrap();
    for said in ["includeContext", "service_tier", "empty stop", "from 1000000 to 8192"] {
        assert!(warns(&reply, said), "{said} in {:?}", reply.warnings);
    }
    assert!(!warns(&reply, "seed"));
    assert!(reply.limit.is_none(), "the model's own ceiling is no limit of anybody's");
    world.close().await;
}

#[tokio::test]
async fn hints_and_priorities_choose_and_the_route_says_why() {
    let world = World::start().await;
    let alias = |it: CreateMessageResponse| it.route.unwrap().alias;
    let wishes = |change: fn(&mut proto::ModelPreferences)| {
        says("hello").params(|it| {
            let mut wishes = proto::ModelPreferences::default();
            change(&mut wishes);
            it.model_preferences = Some(wishes);
        })
    };
    let hint = |it: &str| proto::ModelHint { name: it.to_owned() };
    let cases: [(&str, &str, CreateMessageRequest); 5] = [
        ("no wish", "scripted-small", says("hello")),
        ("any case", "scripted-large", says("hello").hint("LARGE")),
        ("intelligence", "scripted-large", wishes(|it| it.intelligence_priority = Some(1.0))),
        ("speed", "scripted-small", wishes(|it| it.speed_priority = Some(1.0))),
        (
            "hints in order outrank priorities",
            "scripted-large",
            says("hello").params(|it| {
                it.model_preferences = Some(proto::ModelPreferences {
                    hints: vec![hint("claude"), hint("large"), hint("small")],
                    cost_priority: Some(1.0),
                    ..Default::default()
                });
            }),
        ),
    ];
    for (name, wanted, request) in cases {
        let reply = world.sample(request).await.unwrap();
        assert!(!reply.route.as_ref().unwrap().reasons.is_empty());
        assert_eq!(alias(reply), wanted, "{name}");
    }
    world.close().await;
}
