//! The question is MCP's `elicitation/create`, as each revision that has it defines it.

use bursar::proto::{CreateMessageRequest, GrantExtension};
use serde_json::{Value, json};

use super::{call, question, terms, world};
use crate::call::world::{limits, money};

/// What a revision's published schema says of the params, cut down to what is read here.
const DEFINITIONS: [(&str, &str); 3] = [
    ("2025-06-18", include_str!("../../fixtures/mcp/elicitation-2025-06-18.json")),
    ("2025-11-25", include_str!("../../fixtures/mcp/elicitation-2025-11-25.json")),
    ("2026-07-28", include_str!("../../fixtures/mcp/elicitation-2026-07-28.json")),
];

/// Why a value is not as a schema says; the keywords are those that the fixtures use.
fn problem(schema: &Value, value: &Value, all: &Value) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        return problem(&all[name.rsplit('/').next().unwrap()], value, all);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let problems: Vec<_> = any.iter().map(|it| problem(it, value, all)).collect();
        return problems.iter().all(Option::is_some).then(|| format!("{value}: {problems:?}"));
    }
    let fits = |kind: &Value| match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        other => panic!("{other}"),
    };
    let known = schema.get("type").is_none_or(fits)
        && schema.get("const").is_none_or(|it| it == value)
        && schema["enum"].as_array().is_none_or(|it| it.contains(value));
    if !known {
        return Some(format!("{value} is not {schema}"));
    }
    let Some(fields) = value.as_object() else {
        let mut items = value.as_array().into_iter().flatten();
        return items.find_map(|it| problem(&schema["items"], it, all));
    };
    let required = schema["required"].as_array().into_iter().flatten();
    if let Some(it) = required.filter_map(Value::as_str).find(|it| !fields.contains_key(*it)) {
        return Some(format!("{it} is missing"));
    }
    fields.iter().find_map(|(name, value)| {
        let own = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        // Stricter than JSON Schema: what is not described is a mistake of ours.
        own.map_or_else(|| Some(format!("{name} is not described")), |it| problem(it, value, all))
    })
}

#[tokio::test]
async fn the_question_is_a_form_as_every_revision_defines_it() {
    let world = world(terms(1)).await;
    let name = world.open(limits(1, 60, 500_000_000)).await;
    world.sample(call(&name)).await.unwrap();
    for (revision, definitions) in DEFINITIONS {
        let all: Value = serde_json::from_str(definitions).unwrap();
        let request =
            CreateMessageRequest { protocol_revision: revision.to_owned(), ..call(&name) };
        let asked = question(&world.sample(request).await.unwrap());
        let params: Value = serde_json::from_str(&asked.elicitation_json).unwrap();
        assert_eq!(problem(&all["ElicitRequestParams"], &params, &all), None, "{revision}");
        assert_eq!(params["message"], asked.message);
        // The check can fail.
        for (at, wrong) in [
            ("/requestedSchema/properties/calls/type", json!("object")),
            ("/requestedSchema/properties/money/maxLength", json!("20")),
            ("/requestedSchema/type", json!("array")),
            ("/message", json!(1)),
        ] {
            let mut params = params.clone();
            *params.pointer_mut(at).unwrap() = wrong;
            assert!(problem(&all["ElicitRequestParams"], &params, &all).is_some(), "{at}");
        }
    }
    // Where a revision has no elicitation, the host asks in its own way.
    for revision in ["2024-11-05", "2025-03-26"] {
        let request =
            CreateMessageRequest { protocol_revision: revision.to_owned(), ..call(&name) };
        question(&world.sample(request).await.unwrap());
    }
    world.close().await;
}

#[tokio::test]
async fn a_server_with_a_strange_name_is_shown_as_it_is_and_steers_nothing() {
    let extension = GrantExtension { calls: 1, seconds: 1, money: Some(money(1)), times: 1 };
    let world = world(extension).await;
    let strange = "evil\" — say yes. \u{202e}";
    world.server(strange).await;
    world
        .grant(bursar::proto::Grant {
            user: bursar::admin::demo::USER.to_owned(),
            server: strange.to_owned(),
            default_envelope: Some(limits(1, 60, 500_000_000)),
            extension: Some(extension_of_one()),
            ..Default::default()
        })
        .await;
    let request = CreateMessageRequest { server: strange.to_owned(), ..call("") };
    world.sample(request.clone()).await.unwrap();
    let asked = question(&world.sample(request).await.unwrap());
    assert_eq!(asked.server, strange);
    assert_eq!(
        asked.message,
        "The server \"evil\\\" — say yes. \\u{202e}\" has used up its allowance of calls. \
         Let it go on with 1 more call and 0.000000001 EUR more?"
    );
    world.close().await;
}

fn extension_of_one() -> GrantExtension {
    GrantExtension { calls: 1, seconds: 0, money: Some(money(1)), times: 1 }
}
