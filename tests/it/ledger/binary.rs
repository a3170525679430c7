//! Finance's commands as a person runs them, against a real broker.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;

use crate::support::Broker;

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

#[track_caller]
fn text(it: &Output) -> String {
    assert_eq!(it.status.code(), Some(0), "{it:?}");
    String::from_utf8(it.stdout.clone()).unwrap()
}

#[track_caller]
fn said(it: &Output) -> Value {
    serde_json::from_str(&text(it)).unwrap()
}

#[test]
fn finance_reads_explains_takes_away_and_proves_a_month() {
    let broker = Broker::dev(&[]);
    let finance = |args: &[&str]| bursar(&broker, &broker.ready.finance_key, args);
    for prompt in ["one", "two and more words", "three"] {
        text(&bursar(&broker, &broker.ready.host_key, &["sample", prompt]));
    }
    let report = text(&finance(&["ledger", "report"]));
    assert!(report.contains("demo-server  demo-user"), "{report}");
    assert!(report.contains('\u{2588}') && report.contains("total"), "{report}");
    let csv = text(&finance(&["ledger", "report", "--by", "model", "--format", "csv"]));
    assert!(csv.starts_with("model,currency,entries,"), "{csv}");
    let page = text(&finance(&["ledger", "report", "--format", "markdown", "--compare"]));
    assert!(page.starts_with("| server | user | calls | tokens |"), "{page}");
    let json = said(&finance(&["ledger", "report", "--json", "--by", "none"]));
    assert_eq!(
        (&json["rows"][0]["sums"]["calls"], &json["total"]["entries"]),
        (&3.into(), &3.into())
    );
    let month = json["as_of"].as_str().unwrap()[..7].to_owned();

    let listed = said(&finance(&["ledger", "query", "--json"]));
    for entry in listed["entries"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        let explained = said(&finance(&["ledger", "explain", name, "--json"]));
        assert_eq!(
            (&explained["matches"], &explained["entry"]["name"]),
            (&true.into(), &entry["name"])
        );
        let words = text(&finance(&["ledger", "explain", name]));
        assert!(words.contains("tokens at") && words.contains("equal to the nano"), "{words}");
    }

    for format in ["focus-1.2", "focus-1.4", "journal"] {
        let file = broker.dir.path().join(format!("{format}.csv"));
        let path = file.to_str().unwrap();
        let args =
            ["ledger", "export", "--format", format, "--month", &month, "--out", path, "--json"];
        let manifest = said(&finance(&args));
        assert_eq!(manifest["entries"], 3, "{manifest}");
        assert_eq!(manifest["bytes"], fs::metadata(&file).unwrap().len());
    }
    let journal = broker.dir.path().join("journal.csv");
    let path = journal.to_str().unwrap();
    let proof = said(&finance(&["ledger", "verify", "--export", path, "--json"]));
    assert_eq!((&proof["ok"], &proof["entries"]), (&true.into(), &3.into()));
    let changed = fs::read_to_string(&journal).unwrap().replacen(",settle,", ",void,", 1);
    fs::write(&journal, changed).unwrap();
    let proof = finance(&["ledger", "verify", "--export", path]);
    assert_eq!(proof.status.code(), Some(1), "{proof:?}");

    // This month runs.
    let closing = finance(&["ledger", "close", "--month", &month, "--json"]);
    let closing_said: Value = serde_json::from_slice(&closing.stdout).unwrap();
    assert_eq!((closing.status.code(), &closing_said["closed"]), (Some(1), &false.into()));
    let wrong = finance(&["ledger", "close", "--month", "2026-1"]);
    assert!(
        String::from_utf8_lossy(&wrong.stderr).contains("must be a month such as"),
        "{wrong:?}"
    );
}
