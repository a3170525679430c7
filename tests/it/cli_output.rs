//! What a person and a script see of the command line.

use std::{
    path::PathBuf,
    process::{Output as Ended, Stdio},
};

use bursar::{
    cli::{
        Cli, ledger,
        output::Output,
        sample::report,
        target::{Ready, Role, Target, data_dir_of},
        words,
    },
    proto::{Charge, CreateMessageResponse, Cut, Money, VerifyLedgerResponse},
};
use clap::{CommandFactory, Parser};
use serde_json::{Value, json};

use crate::fake_service::{Fake, KEY, complete, euros, exhausted, partial, refused};

fn shown(reply: &CreateMessageResponse) -> String {
    report::text(reply, &Output::new(&mut Vec::new(), false))
}

fn as_json(reply: &CreateMessageResponse) -> Value {
    serde_json::to_value(report::json(reply)).unwrap()
}

#[test]
fn the_commands_fit_together() {
    Cli::command().debug_assert();
}

#[test]
fn shells_complete_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = std::process::Command::new(env!("CARGO_BIN_EXE_bursar"))
            .args(["completion", shell])
            .output()
            .unwrap();
        assert!(said.status.success(), "{said:?}");
        let script = String::from_utf8(said.stdout).unwrap();
        for word in ["envelope", "admin", "whole-tenant"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn a_person_reads_how_a_call_ended_and_what_it_cost() {
    let expected = "\
outcome   complete
route     scripted-small via scripted/small-1 (cheapest that fits)
tokens    12 in, 5 out
charge    0.0045 EUR
left      19 calls, 112 s, 0.4955 EUR
envelope  tenants/t/envelopes/e
";
    assert_eq!(shown(&complete()), expected);
}

#[test]
fn a_person_reads_which_limit_cut_the_answer() {
    let text = shown(&partial());
    assert!(text.starts_with(
        "outcome   partial: cut at the envelope's money limit \
         (held 0.00, settled 0.48, limit 0.50 EUR)\n"
    ));
    assert!(text.contains("charge    ~0.48 EUR\n"), "{text}");
    assert!(text.ends_with("warning   max_tokens was lowered to 16\n"), "{text}");
    assert!(shown(&exhausted()).starts_with("outcome   exhausted: nothing fits the envelope's"));
    assert_eq!(
        shown(&refused()),
        "outcome   refused: no grant lets this server sample for this user (NO_GRANT)\n"
    );
    let idle = CreateMessageResponse { cut: Cut::Idle.into(), limit: None, ..partial() };
    assert!(shown(&idle).starts_with("outcome   partial: cut because the model fell silent\n"));
}

#[test]
fn an_overrun_is_said_and_a_terminal_is_not_steered() {
    let reply = CreateMessageResponse {
        charge: Some(Charge { overrun: Some(euros(10_000_000)), ..partial().charge.unwrap() }),
        warnings: vec!["\u{1b}[2Jgone\n".to_owned()],
        ..complete()
    };
    let text = shown(&reply);
    assert!(text.contains("~0.48 EUR (and 0.01 EUR beyond the limits, borne by the tenant)"));
    assert!(!text.contains('\u{1b}'));
    let coloured = report::text(&reply, &Output::new(&mut Vec::new(), true));
    assert!(coloured.contains("\u{1b}[32mcomplete\u{1b}[0m"), "{coloured}");
}

/// What a script may count on in every reply.
pub(crate) const KEYS: [&str; 11] = [
    "text",
    "outcome",
    "stop_reason",
    "cut",
    "limit",
    "usage",
    "charge",
    "left",
    "envelope",
    "route",
    "warnings",
];

#[test]
fn a_script_finds_every_key_in_every_outcome() {
    for reply in [complete(), partial(), exhausted(), refused(), CreateMessageResponse::default()] {
        let json = as_json(&reply);
        for key in KEYS {
            assert!(json.get(key).is_some(), "{key} in {json}");
        }
    }
    let json = as_json(&partial());
    assert_eq!(json["outcome"], "PARTIAL");
    assert_eq!(json["cut"], "BUDGET");
    assert_eq!(json["stop_reason"], "maxTokens");
    assert_eq!(
        json["limit"],
        json!({"name": "tenants/t/envelopes/e", "kind": "MONEY", "held": "0.00",
               "settled": "0.48", "overrun": "0.00", "limit": "0.50", "resets_at": null, "share": false})
    );
    assert_eq!(json["left"]["money"], "0.4955");
    assert_eq!(json["left"]["calls"], 19);
    let charge = &json["charge"];
    assert_eq!((&charge["amount"], &charge["currency"]), (&json!("0.48"), &json!("EUR")));
    assert_eq!(charge["estimated"], true);
    let none = as_json(&refused());
    assert_eq!(
        (&none["text"], &none["charge"], &none["cut"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(none["refusal"]["reason"], "NO_GRANT");
    assert_eq!(as_json(&exhausted())["text"], "");
}

#[test]
fn money_is_read_and_shown_exactly() {
    let money = |text: &str| words::money(text).map(|it| (it.units, it.nanos, it.currency_code));
    assert_eq!(money("0.50"), Ok((0, 500_000_000, String::new())));
    assert_eq!(money("12 EUR"), Ok((12, 0, "EUR".to_owned())));
    assert_eq!(money("0.000000001USD"), Ok((0, 1, "USD".to_owned())));
    for wrong in ["", "-1", "1e3", "NaN", "0.0000000001", "1 eur", "1,5", "99999999999"] {
        assert!(money(wrong).is_err(), "{wrong}");
    }
    let shown =
        |units, nanos| words::decimal(&Money { currency_code: String::new(), units, nanos });
    assert_eq!(shown(0, 4_500_000), "0.0045");
    assert_eq!(shown(-1, -500_000_000), "-1.50");
    assert_eq!(shown(i64::MAX, 0), "out of range");
}

#[test]
fn a_verification_says_whether_the_ledger_adds_up() {
    let show = |ok: bool, problems: &[&str], json: bool| {
        let problems = problems.iter().map(|it| (*it).to_owned()).collect();
        let verified = VerifyLedgerResponse { ok, entries: 7, problems };
        let mut out = Vec::new();
        ledger::show_verified(&verified, json, &mut Output::new(&mut out, false)).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(show(true, &[], true), "{\"ok\":true,\"entries\":7,\"problems\":[]}\n");
    assert_eq!(show(true, &[], false), "the ledger adds up: 7 entries, no problems\n");
    let bad = show(false, &["entry 1 does not balance"], false);
    assert!(bad.contains("1 problems\n  entry 1 does not balance\n"), "{bad}");
}

fn ready() -> Ready {
    Ready::from_json(
        r#"{"grpc": "http://127.0.0.1:7000", "http": "x", "tenant": "t", "host_key": "h",
            "operator_key": "o", "finance_key": "f", "user": "alice", "server": "files",
            "database_url": "x"}"#,
    )
    .unwrap()
}

fn target(endpoint: Option<&str>, key: Option<&str>) -> Target {
    Target { endpoint: endpoint.map(str::to_owned), key: key.map(str::to_owned) }
}

#[test]
fn a_running_dev_service_is_found_with_the_key_of_the_role() {
    for (role, key) in [(Role::Host, "h"), (Role::Finance, "f"), (Role::Operator, "o")] {
        let found = target(None, None).resolve(role, Some(&ready())).unwrap();
        assert_eq!((found.endpoint.as_str(), found.key.as_str()), ("http://127.0.0.1:7000", key));
        assert_eq!(found.user.as_deref(), Some("alice"));
    }
    let given = target(None, Some("mine")).resolve(Role::Host, Some(&ready())).unwrap();
    assert_eq!(given.key, "mine");
}

#[test]
fn a_dev_key_is_never_sent_to_another_service() {
    let elsewhere = target(Some("https://example.com"), None);
    let refused = elsewhere.resolve(Role::Host, Some(&ready())).err().unwrap();
    assert!(format!("{refused:?}").contains("--key KEY or BURSAR_KEY"));
    let both = target(Some("https://example.com"), Some("k"));
    assert_eq!(both.resolve(Role::Host, Some(&ready())).unwrap().user, None);
    let nothing = target(None, None).resolve(Role::Host, None).err().unwrap();
    assert!(format!("{nothing:?}").contains("start one with `bursar dev`"));
}

#[test]
fn an_endpoint_without_a_scheme_is_told_what_it_lacks() {
    let bare = target(Some("127.0.0.1:17420"), None);
    let refused = format!("{:?}", bare.resolve(Role::Host, Some(&ready())).err().unwrap());
    assert!(refused.contains("--endpoint http://127.0.0.1:17420"), "{refused}");
    assert!(!refused.contains("--key"), "{refused}");
}

#[test]
fn the_data_directory_is_where_the_user_keeps_data() {
    let with = |is_root, variables: &[(&str, &str)]| {
        let find = |name: &str| {
            variables.iter().find(|(it, _)| *it == name).map(|(_, value)| PathBuf::from(value))
        };
        data_dir_of(is_root, find)
    };
    assert_eq!(with(true, &[("HOME", "/root")]), Some("/var/lib/bursar".into()));
    assert_eq!(with(false, &[("HOME", "/h")]), Some("/h/.local/share/bursar".into()));
    let xdg = [("HOME", "/h"), ("XDG_DATA_HOME", "/x")];
    assert_eq!(with(false, &xdg), Some("/x/bursar".into()));
    assert_eq!(with(false, &[]), None);
    assert_eq!(with(true, &[("BURSAR_DATA_DIR", "/d")]), Some("/d".into()));
}

#[test]
fn an_administrators_flags_are_read() {
    let lines = [
        "admin user create alice",
        "admin server create files --json",
        "admin grant create --user a --server s --calls 20 --seconds 120 --money 0.50 --model m",
        "admin budget create --period month --tokens 100",
        "admin budget list --limit 5",
        "admin user list",
        "admin server list --limit 5",
        "admin grant list --json",
        "admin backend list",
        "admin model list",
        "admin budget delete tenants/t/budgets/b",
        "admin backend create local --base-url http://127.0.0.1:1/v1",
        "admin model create m --backend local --context-tokens 8192 --max-output-tokens 1024 \
         --price-input 0 --price-output 0",
        "admin price set m --input 0.15 --output 0.60",
        "admin fx set EUR 1.10 --date 2026-07-28",
        "admin credential create --role host --host desktop",
        "admin credential revoke tenants/t/credentials/c",
        "admin tenant create --display-name Acme --currency EUR",
    ];
    for line in lines {
        let parsed = Cli::try_parse_from(["bursar"].into_iter().chain(line.split_whitespace()));
        assert!(parsed.is_ok(), "{line}: {parsed:?}");
    }
    let wrong = [
        "admin budget create --period month",
        "admin credential create --role host",
        "admin backend create local",
        "admin price set m --input 0.15",
        "admin grant create --user a --server s --calls 0 --seconds 1 --money 1",
        "sample",
        "sample --envelope e --calls 3 hello",
        "sample --money -1 hello",
    ];
    for line in wrong {
        let parsed = Cli::try_parse_from(["bursar"].into_iter().chain(line.split_whitespace()));
        assert!(parsed.is_err(), "{line}");
    }
}

// The binary itself, against a service.

async fn bursar(fake: &Fake, arguments: &[&str]) -> Ended {
    run(&format!("http://{}", fake.address), KEY, arguments).await
}

async fn run(endpoint: &str, key: &str, arguments: &[&str]) -> Ended {
    tokio::process::Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(arguments)
        .env_clear()
        .env("BURSAR_ENDPOINT", endpoint)
        .env("BURSAR_KEY", key)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap()
}

fn out(ended: &Ended) -> String {
    String::from_utf8(ended.stdout.clone()).unwrap()
}

fn err(ended: &Ended) -> String {
    String::from_utf8(ended.stderr.clone()).unwrap()
}

const WHO: [&str; 4] = ["--user", "alice", "--server", "files"];

fn sample<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["sample"], &WHO[..], arguments].concat()
}

#[tokio::test]
async fn a_script_gets_one_json_object_and_an_exit_status() {
    let fake = Fake::start().await;
    for (prompt, outcome, status) in [
        ("hello", "COMPLETE", 0),
        ("partial", "PARTIAL", 0),
        ("exhausted", "EXHAUSTED", 0),
        ("refused", "REFUSED", 3),
    ] {
        let ended = bursar(&fake, &sample(&["--json", prompt])).await;
        assert_eq!(ended.status.code(), Some(status), "{}", err(&ended));
        assert_eq!(out(&ended).lines().count(), 1);
        let json: Value = serde_json::from_str(&out(&ended)).unwrap();
        assert_eq!(json["outcome"], outcome);
        assert!(KEYS.iter().all(|key| json.get(key).is_some()), "{json}");
        assert_eq!(err(&ended), "");
    }
}

#[tokio::test]
async fn a_person_sees_the_text_and_then_the_account() {
    let fake = Fake::start().await;
    let ended = bursar(&fake, &sample(&["Why is the sky blue?"])).await;
    assert!(out(&ended).starts_with("Blue.\n\noutcome   complete\n"), "{}", out(&ended));
    assert_eq!(ended.status.code(), Some(0));
    let requests = fake.seen.requests.lock().unwrap();
    assert_eq!((requests[0].user.as_str(), requests[0].server.as_str()), ("alice", "files"));
    assert_eq!(requests[0].params.as_ref().unwrap().max_tokens, Some(256));
}

#[tokio::test]
async fn a_script_can_follow_the_text_event_by_event() {
    let fake = Fake::start().await;
    let ended = bursar(&fake, &sample(&["--json", "--stream", "hello"])).await;
    let lines: Vec<Value> =
        out(&ended).lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(lines[0]["event"], "started");
    let text: String = lines
        .iter()
        .filter(|it| it["event"] == "text")
        .map(|it| it["text"].as_str().unwrap())
        .collect();
    assert_eq!(text, "Blue.");
    assert_eq!(lines.last().unwrap()["outcome"], "COMPLETE");
    assert_eq!(lines.last().unwrap()["text"], "Blue.");
}

#[tokio::test]
async fn an_envelope_is_opened_before_the_call_and_used_by_it() {
    let fake = Fake::start().await;
    let flags = ["--calls", "3", "--seconds", "30", "--money", "0.05 EUR", "--request-id", "r1"];
    let ended = bursar(&fake, &sample(&[&flags[..], &["--json", "hello"]].concat())).await;
    assert_eq!(ended.status.code(), Some(0), "{}", err(&ended));
    let openings = fake.seen.openings.lock().unwrap();
    let limits = openings[0].limits.clone().unwrap();
    assert_eq!((limits.calls, limits.seconds), (Some(3), Some(30)));
    assert_eq!(limits.money, Some(euros(50_000_000)));
    let requests = fake.seen.requests.lock().unwrap();
    assert_eq!(requests[0].envelope, "tenants/t/envelopes/new");
    assert_eq!(requests[0].request_id, "r1");
    assert_ne!(openings[0].request_id, "r1", "one id cannot name two requests");
}

#[tokio::test]
async fn a_params_file_is_sent_whole_and_flags_win_over_it() {
    let fake = Fake::start().await;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp/server-everything.json");
    let flags = ["--file", file, "--model-hint", "large", "--model-hint", "small", "--json"];
    let ended = bursar(&fake, &sample(&flags)).await;
    assert_eq!(ended.status.code(), Some(0), "{}", err(&ended));
    let ended = bursar(&fake, &sample(&["--file", file, "--max-tokens", "9", "and now?"])).await;
    assert_eq!(ended.status.code(), Some(0), "{}", err(&ended));
    let requests = fake.seen.requests.lock().unwrap();
    let params: Vec<_> = requests.iter().map(|it| it.params.clone().unwrap()).collect();
    assert_eq!((params[0].max_tokens, params[1].max_tokens), (Some(64), Some(9)));
    assert_eq!(params[0].temperature, Some(0.7));
    let hints: Vec<String> = params[0]
        .model_preferences
        .iter()
        .flat_map(|it| &it.hints)
        .map(|it| it.name.clone())
        .collect();
    assert_eq!(hints, ["large", "small"]);
    assert_eq!((params[0].messages.len(), params[1].messages.len()), (1, 2));
}

#[tokio::test]
async fn an_error_is_one_line_that_says_how_to_mend_it_and_never_the_key() {
    let fake = Fake::start().await;
    let endpoint = format!("http://{}", fake.address);
    let cases = [
        (
            bursar(&fake, &sample(&["invalid"])).await,
            "INVALID_ARGUMENT: a bad field [INVALID]; params.max_tokens: is too large",
        ),
        (bursar(&fake, &sample(&["shed"])).await, "RESOURCE_EXHAUSTED: too many; try again in 2 s"),
        (bursar(&fake, &["sample", "--json", "hello"]).await, "give --user ID"),
        (bursar(&fake, &["envelope", "show", "e"]).await, "NOT_FOUND: envelope not found"),
        (
            run(&endpoint, "bk_wrong", &sample(&["hello"])).await,
            "UNAUTHENTICATED: a valid API key is required; check --key or BURSAR_KEY",
        ),
        (
            run("http://127.0.0.1:1", "bk_wrong", &sample(&["hello"])).await,
            "is bursar running there?",
        ),
        (
            run("127.0.0.1:1", "bk_wrong", &sample(&["hello"])).await,
            "give --endpoint http://127.0.0.1:1",
        ),
        (run(&endpoint, "bk_wr\u{f6}ng\n", &sample(&["hello"])).await, "the key has characters"),
        (bursar(&fake, &sample(&["--file", "/nowhere.json"])).await, "cannot read /nowhere.json"),
    ];
    for (ended, expected) in cases {
        let err = err(&ended);
        assert_eq!(ended.status.code(), Some(2), "{err}");
        assert!(err.contains(expected) && err.lines().count() == 1, "{expected}: {err}");
        assert!(!err.contains("bk_"), "{err}");
        assert_eq!(out(&ended).trim(), "");
    }
    let usage = bursar(&fake, &["sample", "--no-such-flag"]).await;
    assert_eq!(usage.status.code(), Some(2));
}

#[tokio::test]
async fn envelopes_and_entries_are_shown_and_verification_decides_the_exit_status() {
    let fake = Fake::start().await;
    let ended = bursar(&fake, &["envelope", "list", "--limit", "1200", "--json"]).await;
    let json: Value = serde_json::from_str(&out(&ended)).unwrap();
    assert_eq!(json["envelopes"].as_array().unwrap().len(), 1_200);
    assert_eq!(json["envelopes"][1_199]["name"], "e1199");

    let open = [&["envelope", "open", "--calls", "3", "--money", "0.1 EUR"], &WHO[..]].concat();
    let expected = "\
name      tenants/t/envelopes/new
user      alice
server    files
limits    calls 3, money 0.10
currency  EUR
";
    assert_eq!(out(&bursar(&fake, &open).await), expected);

    let ended = bursar(&fake, &["ledger", "query", "--user", "alice"]).await;
    let table = out(&ended);
    assert!(table.starts_with("booked at  kind    user   server"), "{table}");
    assert!(table.contains("SETTLE  alice  -       -      0.0045  EUR"), "{table}");

    let ended = bursar(&fake, &["ledger", "verify", "--json"]).await;
    assert_eq!(ended.status.code(), Some(1));
    let json: Value = serde_json::from_str(&out(&ended)).unwrap();
    assert_eq!(json, json!({"ok": false, "entries": 7, "problems": ["entry 1 does not balance"]}));
}

#[tokio::test]
async fn a_reader_that_goes_away_ends_the_command_quietly() {
    let fake = Fake::start().await;
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(["envelope", "list", "--limit", "10000", "--json"])
        .env_clear()
        .env("BURSAR_ENDPOINT", format!("http://{}", fake.address))
        .env("BURSAR_KEY", KEY)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().await.unwrap();
    assert_eq!((ended.status.code(), err(&ended).as_str()), (Some(0), ""));
}
