//! The real binary: `bursar dev` and what a person does with it.

use std::{
    process::{Command, Output},
    time::{Duration, Instant},
};

use bursar::proto::sampling_service_client::SamplingServiceClient;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{
    price::{exact, hold},
    world::{ask, signed},
};
use crate::support::{Broker, wait_for};

/// Runs the command as the demonstration's host, or as whoever holds `key`.
fn bursar(broker: &Broker, key: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(args)
        .env("BURSAR_ENDPOINT", &broker.ready.grpc)
        .env("BURSAR_KEY", key)
        .env("BURSAR_DATA_DIR", broker.data())
        .env_remove("DATABASE_URL")
        .output()
        .unwrap()
}

fn said(it: &Output) -> Value {
    serde_json::from_slice(&it.stdout).unwrap_or_else(|_| panic!("not JSON: {it:?}"))
}

#[track_caller]
fn verified(broker: &Broker) -> Value {
    let proof = bursar(broker, &broker.ready.finance_key, &["ledger", "verify", "--json"]);
    let said = said(&proof);
    assert_eq!(proof.status.code(), Some(0), "{said}");
    assert_eq!((&said["ok"], &said["problems"]), (&json!(true), &json!([])));
    said
}

/// One number or text of the database, by its owner.
fn query(broker: &Broker, sql: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut owner = PgConnection::connect(&broker.ready.database_url).await.unwrap();
        let sql = format!("select ({sql})::text");
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut owner).await.unwrap()
    })
}

fn execute(broker: &Broker, sql: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut owner = PgConnection::connect(&broker.ready.database_url).await.unwrap();
        sqlx::query(sql).execute(&mut owner).await.unwrap();
    });
}

/// A call that is under way in a thread of its own.
fn begin(
    broker: &Broker,
    script: &Value,
) -> std::thread::JoinHandle<Result<String, tonic::Status>> {
    let (url, key) = (broker.ready.grpc.clone(), broker.ready.host_key.clone());
    let request = signed(&key, ask(script));
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = SamplingServiceClient::connect(url).await.unwrap();
            let reply = client.create_message(request).await?.into_inner();
            Ok(super::world::text(&reply).to_owned())
        })
    });
    wait_for(|| query(broker, "select count(*) from holds") == "1");
    thread
}

#[test]
fn sampling_from_a_terminal_shows_every_key_and_an_exit_status_for_scripts() {
    let broker = Broker::dev(&[]);
    let host = broker.ready.host_key.as_str();
    let sample = |args: &[&str]| bursar(&broker, host, &[&["sample", "--json"], args].concat());

    let complete = sample(&["hello there"]);
    assert_eq!(complete.status.code(), Some(0), "{complete:?}");
    let complete = said(&complete);
    for key in crate::cli_output::KEYS {
        assert!(complete.get(key).is_some(), "{key} is missing");
    }
    assert_eq!((&complete["outcome"], &complete["cut"]), (&json!("COMPLETE"), &Value::Null));
    let amount = format!("0.{:09}", exact(2, 6));
    assert_eq!(
        complete["charge"],
        json!({ "amount": amount, "currency": "EUR", "estimated": false, "overrun": "0.00" })
    );

    let partial =
        sample(&[r#"@script {"text": "one two", "fault": "disconnect", "fault_after": 1}"#]);
    assert_eq!(partial.status.code(), Some(0));
    let partial = said(&partial);
    assert_eq!((&partial["outcome"], &partial["text"]), (&json!("PARTIAL"), &json!("one ")));

    let opened = sample(&["--calls", "1", "hello"]);
    let envelope = said(&opened)["envelope"].as_str().unwrap().to_owned();
    let exhausted = sample(&["--envelope", &envelope, "hello"]);
    assert_eq!(exhausted.status.code(), Some(0));
    let exhausted = said(&exhausted);
    assert_eq!(exhausted["outcome"], "EXHAUSTED");
    assert_eq!(exhausted["limit"]["name"], envelope.as_str());
    let limit = exhausted["limit"].as_object().unwrap();
    for key in ["name", "kind", "held", "settled", "limit", "resets_at"] {
        assert!(limit.contains_key(key), "limit.{key} is missing");
    }

    let refused = sample(&["--user", "nobody", "hello"]);
    assert_eq!(refused.status.code(), Some(3));
    let refused = said(&refused);
    for key in crate::cli_output::KEYS {
        assert!(refused.get(key).is_some(), "{key} is missing");
    }
    assert_eq!((&refused["outcome"], &refused["text"]), (&json!("REFUSED"), &Value::Null));

    for args in [&[r#"@script {"status": 503}"#][..], &["--envelope", "nonsense", "hi"]] {
        let failed = sample(args);
        assert_eq!(failed.status.code(), Some(2), "{failed:?}");
        assert_eq!(String::from_utf8_lossy(&failed.stderr).trim().lines().count(), 1);
        assert!(failed.stdout.is_empty());
    }
    let no_key = bursar(&broker, "bursar_wrong", &["sample", "--json", "hi"]);
    assert_eq!(no_key.status.code(), Some(2));
    verified(&broker);
}

#[test]
fn a_kill_in_the_middle_of_a_call_loses_no_money() {
    let mut broker = Broker::dev(&[]);
    let script = json!({ "text": "one two", "stall_after": 1 });
    let call = begin(&broker, &script);
    broker.kill();
    assert!(call.join().unwrap().is_err());
    broker.again();
    // The hold is still there, and its amount is not to be had by others.
    assert_eq!(query(&broker, "select count(*) from holds"), "1");
    let bound = super::price::bound_of(&script);
    let held = "select held from limits where kind = 'money' and envelope_id is not null";
    assert_eq!(query(&broker, held), hold(bound, 100).to_string());
    verified(&broker);
    // What the clock would do within two minutes.
    execute(&broker, "update holds set expires_at = now()");
    wait_for(|| query(&broker, "select count(*) from holds") == "0");
    assert_eq!(verified(&broker)["entries"], 1);
    let entry = "select kind || ' ' || certainty || ' ' || charged from entries";
    assert_eq!(query(&broker, entry), format!("expire estimated {}", hold(bound, 100)));
    assert_eq!(query(&broker, held), "0");
}

#[test]
fn a_request_to_end_lets_the_running_call_end_first() {
    let mut broker = Broker::dev(&[]);
    let call = begin(&broker, &json!({ "text": "one two", "first_delay_ms": 1_500 }));
    let began = Instant::now();
    let status = broker.terminate();
    assert!(began.elapsed() > Duration::from_secs(1), "it waited");
    assert_eq!(call.join().unwrap().unwrap(), "one two");
    assert_eq!(status.code(), Some(0), "{}", broker.log());
    broker.again();
    assert_eq!(verified(&broker)["entries"], 1);
    assert_eq!(query(&broker, "select count(*) from holds"), "0");
}

#[test]
fn a_second_one_on_the_same_data_says_so_and_changes_nothing() {
    let broker = Broker::dev(&[]);
    let second = bursar(&broker, "", &["dev", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(2), "{second:?}");
    let why = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(why.contains("in use"), "{why}");
    assert_eq!(bursar(&broker, &broker.ready.host_key, &["sample", "hi"]).status.code(), Some(0));
}

#[test]
fn an_operator_sees_what_the_demonstration_set_up() {
    let broker = Broker::dev(&[]);
    let list = |subject: &str, json: &[&str]| {
        let args = [&["admin", subject, "list"], json].concat();
        let listed = bursar(&broker, &broker.ready.operator_key, &args);
        assert_eq!(listed.status.code(), Some(0), "{listed:?}");
        listed
    };
    for (subject, words) in [
        ("user", &["demo-user"][..]),
        ("server", &["demo-server"]),
        ("grant", &["demo-user", "demo-server"]),
        ("backend", &["scripted", "SCRIPTED"]),
        ("model", &["PRICE.INPUT", "CONTEXT", "scripted-small", "scripted-large"]),
    ] {
        let table = String::from_utf8(list(subject, &[]).stdout).unwrap();
        for word in words {
            assert!(table.to_uppercase().contains(&word.to_uppercase()), "{word}: {table}");
        }
    }
    let models = said(&list("model", &["--json"]));
    let first = &models["models"][0];
    let decimal = first["price"]["input"].as_str().unwrap();
    let table = String::from_utf8(list("model", &[]).stdout).unwrap();
    assert!(table.contains(decimal), "{decimal}: {table}");
}

#[test]
fn the_commands_of_production_work_on_its_database() {
    let broker = Broker::dev(&[]);
    let url = broker.ready.database_url.as_str();
    let run = |args: &[&str]| bursar(&broker, &broker.ready.host_key, args);
    let migrated = run(&["migrate", "--database-url", url]);
    assert_eq!(migrated.status.code(), Some(0), "{migrated:?}");
    let doctor = run(&["doctor", "--json", "--database-url", url]);
    let findings = said(&doctor);
    assert!(!findings.to_string().contains(url), "the URL holds a password as a rule");
    let nowhere = run(&["doctor", "--database-url", "postgresql://127.0.0.1:1/nowhere"]);
    assert_ne!(nowhere.status.code(), Some(0));
    // Another replica on the same database, without the scripted backend.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(["serve", "--database-url", url, "--http", "127.0.0.1:0"])
        .args(["--grpc", &port.to_string()])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let asked = || {
        Command::new(env!("CARGO_BIN_EXE_bursar"))
            .args(["sample", "--json", "hi", "--key", &broker.ready.host_key])
            .args(["--user", &broker.ready.user, "--server", &broker.ready.server])
            .args(["--endpoint", &format!("http://{port}")])
            .output()
            .unwrap()
    };
    wait_for(|| asked().status.code() == Some(3));
    // A model that cannot be had in production is no model.
    assert_eq!(said(&asked())["refusal"]["reason"], "NO_MODEL");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(serve.id().try_into().unwrap()),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(serve.wait().unwrap().code(), Some(0));
}
