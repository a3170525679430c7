//! Numbers, wishes, tools and metadata.

use bursar::{domain::message::ToolChoice, proto};

use super::support::{Read, refused, tool, with, with_params};

fn wishes(it: proto::ModelPreferences) -> Read {
    with_params(|params| params.model_preferences = Some(it))
}

fn hints(names: &[&str]) -> Read {
    let hints = names.iter().map(|it| proto::ModelHint { name: (*it).to_owned() }).collect();
    wishes(proto::ModelPreferences { hints, ..Default::default() })
}

fn metadata(json: &str) -> Read {
    with_params(|it| json.clone_into(&mut it.metadata_json))
}

#[test]
fn params_are_required() {
    refused(with(|it| it.params = None), "params");
}

#[test]
fn max_tokens_is_required_and_in_range() {
    for bad in [None, Some(0), Some(-1), Some(i64::MIN), Some(1 << 53), Some(i64::MAX)] {
        refused(with_params(|it| it.max_tokens = bad), "params.max_tokens");
    }
    for good in [1, 999_999_999, (1 << 53) - 1] {
        let read = with_params(|it| it.max_tokens = Some(good)).unwrap();
        assert_eq!(i64::try_from(read.params.max_tokens).unwrap(), good);
    }
}

#[test]
fn numbers_that_are_none_and_numbers_out_of_range_are_refused_by_name() {
    let never = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -1e-9, 1e308, f64::MIN];
    for bad in never {
        refused(with_params(|it| it.temperature = Some(bad)), "params.temperature");
    }
    refused(with_params(|it| it.temperature = Some(2.001)), "params.temperature");
    for bad in never.into_iter().chain([1.0001]) {
        let some = Some(bad);
        let cost = proto::ModelPreferences { cost_priority: some, ..Default::default() };
        refused(wishes(cost), "params.model_preferences.cost_priority");
        let speed = proto::ModelPreferences { speed_priority: some, ..Default::default() };
        refused(wishes(speed), "params.model_preferences.speed_priority");
        let ability = proto::ModelPreferences { intelligence_priority: some, ..Default::default() };
        refused(wishes(ability), "params.model_preferences.intelligence_priority");
    }
}

#[test]
fn negative_zero_is_zero() {
    let cost = proto::ModelPreferences { cost_priority: Some(-0.0), ..Default::default() };
    let read = wishes(cost).unwrap();
    assert_eq!(read.params.preferences.cost.unwrap().thousandths(), 0);
    let read = with_params(|it| it.temperature = Some(-0.0)).unwrap();
    assert!(read.params.temperature.unwrap().is_sign_positive());
}

#[test]
fn hints_keep_their_order_and_empty_ones_are_dropped_with_a_warning() {
    let read = hints(&["small", "", "large"]).unwrap();
    assert_eq!(read.params.preferences.hints, ["small", "large"]);
    assert_eq!(read.warnings.len(), 1);
    assert!(hints(&["small"]).unwrap().warnings.is_empty());
    refused(hints(&["m"; 33]), "params.model_preferences.hints");
    let long = "m".repeat(257);
    refused(hints(&["small", &long]), "params.model_preferences.hints[1].name");
}

#[test]
fn stop_sequences_are_bounded_and_empty_ones_are_dropped_with_a_warning() {
    let stop = |texts: &[&str]| {
        with_params(|it| it.stop_sequences = texts.iter().map(|it| (*it).to_owned()).collect())
    };
    let read = stop(&["END", "", "\n"]).unwrap();
    assert_eq!(read.params.stop, ["END", "\n"]);
    assert_eq!(read.warnings.len(), 1);
    refused(stop(&["x"; 65]), "params.stop_sequences");
    refused(stop(&["x", &"x".repeat(1_025)]), "params.stop_sequences[1]");
}

#[test]
fn include_context_is_treated_as_none_with_a_warning() {
    for wide in [proto::IncludeContext::ThisServer, proto::IncludeContext::AllServers] {
        let read = with_params(|it| it.include_context = wide.into()).unwrap();
        assert!(read.warnings[0].starts_with("includeContext is treated as none"));
    }
    for quiet in [0, 1, 99] {
        assert!(with_params(|it| it.include_context = quiet).unwrap().warnings.is_empty());
    }
}

#[test]
fn an_empty_system_prompt_is_none() {
    assert_eq!(with(|_| ()).unwrap().params.system, None);
    let read = with_params(|it| it.system_prompt = "Be brief.".to_owned()).unwrap();
    assert_eq!(read.params.system.as_deref(), Some("Be brief."));
}

#[test]
fn tools_are_bounded_named_well_and_named_once() {
    let tools = |tools: Vec<proto::Tool>| with_params(|it| it.tools = tools);
    for bad in ["", "a b", "a\u{e9}", "a\"", &"a".repeat(129)] {
        refused(tools(vec![tool("good"), tool(bad)]), "params.tools[1].name");
    }
    refused(tools(vec![tool("twice"), tool("twice")]), "params.tools[1].name");
    let many = (0..257).map(|it| tool(&format!("t{it}"))).collect();
    refused(tools(many), "params.tools");
    assert_eq!(tools(vec![tool("a-Z_0.9/b")]).unwrap().params.tools[0].name, "a-Z_0.9/b");
}

#[test]
fn a_schema_with_references_passes_as_it_was_written() {
    let schema = r#"{ "$ref": "https://example.com/s.json", "maximum": 9007199254740993 }"#;
    let read = with_params(|it| schema.clone_into(&mut it.tools[0].input_schema_json)).unwrap();
    assert_eq!(read.params.tools[0].input_schema.as_str(), schema);
}

#[test]
fn a_tool_choice_is_kept_unless_it_demands_tools_that_are_not_there() {
    let choice = |mode: i32, drop_tools: bool| {
        with_params(|it| {
            it.tool_choice = Some(proto::ToolChoice { mode });
            if drop_tools {
                it.tools.clear();
            }
        })
    };
    for (mode, wanted) in [
        (0, ToolChoice::Auto),
        (1, ToolChoice::Auto),
        (2, ToolChoice::Required),
        (3, ToolChoice::None),
    ] {
        assert_eq!(choice(mode, false).unwrap().params.tool_choice, Some(wanted));
    }
    refused(choice(2, true), "params.tool_choice.mode");
    refused(choice(4, false), "params.tool_choice.mode");
    let read = choice(3, true).unwrap();
    assert_eq!(read.params.tool_choice, Some(ToolChoice::None));
    assert!(!read.params.wants_single_block());
}

#[test]
fn tools_are_refused_where_the_host_did_not_declare_them() {
    let declared = |sampling_tools: bool, keep_tools: bool| {
        with(|it| {
            let sampling = true;
            let declared =
                proto::ClientCapabilities { sampling, sampling_tools, ..Default::default() };
            it.client_capabilities = Some(declared);
            let params = it.params.as_mut().unwrap();
            if !keep_tools {
                params.tools.clear();
            }
        })
    };
    refused(declared(false, true), "params.tools");
    assert_eq!(declared(true, true).unwrap().params.tools.len(), 1);
    assert!(declared(false, false).unwrap().params.tools.is_empty());
    let choice_alone = with(|it| {
        it.client_capabilities = Some(proto::ClientCapabilities::default());
        let params = it.params.as_mut().unwrap();
        params.tools.clear();
        params.tool_choice = Some(proto::ToolChoice { mode: 1 });
    });
    refused(choice_alone, "params.tools");
}

#[test]
fn before_tools_existed_they_are_ignored_with_a_warning() {
    let read = with(|it| {
        it.protocol_revision = "2025-06-18".to_owned();
        it.client_capabilities = Some(proto::ClientCapabilities::default());
        it.params.as_mut().unwrap().tool_choice = Some(proto::ToolChoice { mode: 2 });
    });
    let read = read.unwrap();
    assert!(read.params.wants_single_block());
    assert_eq!(read.warnings.len(), 1);
}

#[test]
fn metadata_that_multiplies_cost_or_reaches_other_data_is_dropped() {
    let read = metadata(
        r#"{"n": 5, "best_of": 3, "service_tier": "priority", "store": true, "stream": false,
            "tools": [], "previous_response_id": "x", "web_search_options": {}, "user": "u",
            "logprobs": true, "file_ids": ["f"], "TOP_P": 1,
            "seed": -7, "top_p": 0.5, "presence_penalty": -2, "frequency_penalty": null}"#,
    );
    let read = read.unwrap();
    let kept: Vec<(&str, &str)> =
        read.params.metadata.iter().map(|(name, it)| (name.as_str(), it.as_str())).collect();
    assert_eq!(kept, [("presence_penalty", "-2"), ("seed", "-7"), ("top_p", "0.5")]);
    assert_eq!(read.warnings.len(), 1);
    assert!(read.warnings[0].contains("best_of"), "{:?}", read.warnings);
    assert!(read.warnings[0].ends_with("and 2 more"), "{:?}", read.warnings);
}

#[test]
fn the_warning_about_metadata_is_short_whatever_the_names() {
    let names: Vec<String> =
        (0..100).map(|it| format!("\"{it:03}{}\":1", "x".repeat(500))).collect();
    let read = metadata(&format!("{{{}}}", names.join(","))).unwrap();
    assert_eq!(read.warnings.len(), 1);
    assert!(read.warnings[0].len() < 1_000, "{}", read.warnings[0].len());
}

#[test]
fn allowed_metadata_out_of_range_is_refused() {
    for bad in [
        r#"{"top_p": 1.5}"#,
        r#"{"top_p": -0.1}"#,
        r#"{"top_p": 1e400}"#,
        r#"{"top_p": "0.5"}"#,
        r#"{"seed": 1.5}"#,
        r#"{"seed": 99999999999999999999}"#,
        r#"{"presence_penalty": 2.1}"#,
        r#"{"frequency_penalty": [1]}"#,
    ] {
        refused(metadata(bad), "params.metadata_json");
    }
}
