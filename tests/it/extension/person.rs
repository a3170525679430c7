//! What a person at a terminal sees of a question, and how they and their scripts answer.

use std::process::{Command, Output};

use bursar::{
    cli::{
        output,
        sample::{ask::ask, report},
    },
    proto::{CreateMessageResponse, InputAction, InputAnswer, InputRequired, Outcome},
};
use serde_json::{Value, json};

use crate::support::Broker;

fn asked() -> InputRequired {
    let integer = |title: &str, most: i64| {
        json!({ "type": "integer", "title": title, "description": format!("At most {most}."),
                "minimum": 0, "maximum": most, "default": most })
    };
    let money = json!({ "type": "string", "title": "More money, in EUR",
                        "description": "At most 0.50; a plain decimal such as 0.50." });
    let properties = json!({ "calls": integer("More calls", 10), "money": money });
    let params = json!({ "message": "May it?", "requestedSchema": { "properties": properties } });
    InputRequired {
        reason: "ENVELOPE_EXTENSION".to_owned(),
        message: "May it?\u{1b}[2J".to_owned(),
        server: "files".to_owned(),
        elicitation_json: params.to_string(),
        resume_token: "rt1_token".to_owned(),
        expire_time: "2026-12-01T12:00:00Z".to_owned(),
    }
}

#[test]
fn a_person_is_asked_until_they_have_answered() {
    let check = |typed: &str, action: InputAction, content: &str| {
        let mut shown = Vec::new();
        let answer = ask(&asked(), &mut typed.as_bytes(), &mut shown).unwrap();
        let expected = InputAnswer { action: action.into(), content_json: content.to_owned() };
        assert_eq!(answer, expected, "{typed:?}");
        String::from_utf8(shown).unwrap()
    };
    let shown = check("y\n", InputAction::Accept, "");
    assert!(shown.starts_with("May it?") && !shown.contains('\u{1b}'), "{shown:?}");
    assert!(shown.ends_with("[y]es, [n]o or [l]ess: "));
    check("perhaps\n\n YES \n", InputAction::Accept, "");
    check("n\n", InputAction::Decline, "");
    check("", InputAction::Cancel, "");
    let shown = check("l\nmany\n5\n0.25\n", InputAction::Accept, r#"{"calls":5,"money":"0.25"}"#);
    assert!(shown.contains("More calls. At most 10. (empty: all) "), "{shown}");
    check("less\n\n\n", InputAction::Accept, "{}");
    check("l\n5\n", InputAction::Cancel, "");
}

#[test]
fn a_reply_that_is_a_question_says_how_to_answer_it() {
    let reply = CreateMessageResponse {
        outcome: Outcome::InputRequired.into(),
        input_required: Some(InputRequired { message: "May it?".to_owned(), ..asked() }),
        envelope: "tenants/t/envelopes/e".to_owned(),
        ..Default::default()
    };
    let text = report::text(&reply, &output::Output::new(&mut Vec::new(), false));
    assert_eq!(
        text,
        "outcome   input required: May it?\n\
         envelope  tenants/t/envelopes/e\n\
         answer    until 2026-12-01T12:00:00Z, the same request in this envelope with \
         --answer accept or --answer decline, and --resume-token rt1_token\n"
    );
    let json = serde_json::to_value(report::json(&reply)).unwrap();
    assert_eq!((&json["outcome"], &json["text"]), (&json!("INPUT_REQUIRED"), &Value::Null));
    assert_eq!(json["resume_token"], "rt1_token");
    assert_eq!(json["question"]["server"], "files");
    let properties = &json["question"]["elicitation"]["requestedSchema"]["properties"];
    assert_eq!(properties["calls"]["maximum"], 10);
    let other = serde_json::to_value(report::json(&CreateMessageResponse::default())).unwrap();
    assert_eq!((&other["question"], &other["resume_token"]), (&Value::Null, &Value::Null));
}

fn bursar(broker: &Broker, key: &str, args: &[&str]) -> (Option<i32>, Value, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(args)
        .env("BURSAR_ENDPOINT", &broker.ready.grpc)
        .env("BURSAR_KEY", key)
        .env("BURSAR_DATA_DIR", broker.data())
        .env_remove("DATABASE_URL")
        .output()
        .unwrap();
    let said = serde_json::from_slice(&stdout).unwrap_or(Value::Null);
    (status.code(), said, String::from_utf8_lossy(&stderr).into_owned())
}

/// A user and a server with an envelope of one call, to which three more may be added, twice.
fn broker() -> Broker {
    let broker = Broker::dev(&[]);
    let operator = |args: &[&str]| bursar(&broker, &broker.ready.operator_key, args);
    operator(&["admin", "user", "create", "alice"]);
    operator(&["admin", "server", "create", "files"]);
    let grant = "admin grant create --json --user alice --server files --calls 1 --seconds 60 \
                 --money 0.50 --extend-calls 3 --extend-money 0.25 --extend-times 2";
    let (code, made, error) = operator(&grant.split(' ').collect::<Vec<_>>());
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(made["extension"], json!({ "calls": 3, "seconds": 0, "money": "0.25", "times": 2 }));
    broker
}

#[test]
fn a_script_grants_asks_and_answers() {
    let broker = broker();
    let host = |args: &[&str]| bursar(&broker, &broker.ready.host_key, args);
    let sample = |more: &[&str]| {
        let mut args = vec!["sample", "--json", "--user", "alice", "--server", "files", "Hello"];
        args.extend(more);
        host(&args)
    };
    let answer = |word: &str, token: &str| sample(&["--answer", word, "--resume-token", token]);
    let (code, first, error) = sample(&[]);
    assert_eq!((code, &first["outcome"]), (Some(0), &json!("COMPLETE")), "{error}");
    let (code, reply, _) = sample(&[]);
    assert_eq!((code, &reply["outcome"]), (Some(3), &json!("INPUT_REQUIRED")), "{reply}");
    assert_eq!((&reply["text"], &reply["charge"]), (&Value::Null, &Value::Null));
    let token = reply["resume_token"].as_str().unwrap();
    assert!(reply["question"]["message"].as_str().unwrap().contains("\"files\""));
    // Who cannot ask does not get the question.
    let (code, mute, _) = sample(&["--no-ask"]);
    assert_eq!((code, &mute["outcome"]), (Some(0), &json!("EXHAUSTED")), "{mute}");
    let more = ["--answer", "accept", "--resume-token", token, "--answer-form", r#"{"calls": 4}"#];
    let (code, _, error) = sample(&more);
    assert_eq!(code, Some(2));
    assert!(error.contains("input_answer.content_json.calls"), "{error}");
    let (code, reply, error) = answer("accept", token);
    assert_eq!((code, &reply["outcome"]), (Some(0), &json!("COMPLETE")), "{error}");
    assert_eq!(reply["left"]["calls"], 2);
    let (_, shown, _) = host(&["envelope", "show", "--json", reply["envelope"].as_str().unwrap()]);
    assert_eq!((&shown["limits"]["calls"], &shown["limits"]["money"]), (&json!(4), &json!("0.75")));
    let given = &shown["extensions"][0];
    assert_eq!((&given["accepted"], &given["asserted_by"]), (&json!(true), &json!("HOST")));
    for _ in 0..2 {
        sample(&[]);
    }
    let (code, reply, _) = sample(&[]);
    assert_eq!(code, Some(3), "{reply}");
    let token = reply["resume_token"].as_str().unwrap();
    let (code, reply, _) = answer("decline", token);
    assert_eq!((code, &reply["outcome"]), (Some(0), &json!("EXHAUSTED")));
    let (code, proof, _) =
        bursar(&broker, &broker.ready.finance_key, &["ledger", "verify", "--json"]);
    assert_eq!((code, &proof["problems"]), (Some(0), &json!([])), "{proof}");
}

#[test]
fn half_an_answer_is_a_mistake() {
    use bursar::cli::Cli;
    use clap::Parser;
    let whole = ["bursar", "sample", "Hello", "--answer", "accept", "--resume-token", "rt1_x"];
    Cli::try_parse_from(whole).unwrap();
    for wrong in [
        &["--answer", "accept"][..],
        &["--resume-token", "rt1_x"],
        &["--answer-form", "{}"],
        &["--answer", "perhaps", "--resume-token", "rt1_x"],
        &["--answer", "accept", "--resume-token", "rt1_x", "--no-ask"],
        // A new envelope is not the one that was asked about.
        &["--answer", "accept", "--resume-token", "rt1_x", "--calls", "1"],
    ] {
        let args = whole[..3].iter().chain(wrong);
        assert!(Cli::try_parse_from(args).is_err(), "{wrong:?}");
    }
}
