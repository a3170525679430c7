//! Prompts, answers and keys are nowhere but where they belong, however much is
//! logged and whatever goes wrong.

use std::{
    process::{Command, Output},
    time::Duration,
};

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use crate::support::{
    Broker,
    vendor::{After, Answer, Vendor},
};

const PROMPT: &str = "canary-prompt-5e1f";
const SYSTEM: &str = "canary-system-77ab";
const ANSWER: &str = "canary-answer-90cd";
const VENDOR_KEY: &str = "sk-canary-key-31ee";

fn sample(broker: &Broker) -> Output {
    let prompt = format!("Tell me of {PROMPT}");
    Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(["sample", "--json", "--system", SYSTEM, &prompt])
        .env("BURSAR_ENDPOINT", &broker.ready.grpc)
        .env("BURSAR_KEY", &broker.ready.host_key)
        .env("BURSAR_DATA_DIR", broker.dir.path().join("data"))
        .output()
        .unwrap()
}

/// Every row of every table, as text.
async fn rows(url: &str) -> String {
    let mut owner = PgConnection::connect(url).await.unwrap();
    let tables = "select tablename::text from pg_tables where schemaname = 'public'";
    let mut all = String::new();
    for table in sqlx::query(tables).fetch_all(&mut owner).await.unwrap() {
        let table: String = table.get(0);
        let text = format!("select coalesce(string_agg(t::text, E'\\n'), '') from {table} t");
        let text: String =
            sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(&mut owner).await.unwrap();
        all.push_str(&text);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_secret_is_logged_or_kept() {
    let echo = json!({ "error": { "message": format!("{VENDOR_KEY} {PROMPT} {ANSWER}"),
        "code": 400 } });
    let delta = |text: &str| {
        json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }).to_string()
    };
    let chunk = format!("data: {}\n\n", delta(ANSWER));
    let garbage = format!("data: {{\"{ANSWER}\n\n");
    let answers = vec![
        Answer::events(&[&delta(ANSWER)]),
        Answer::json(400, &echo.to_string()),
        Answer::json(404, "<html>canary-answer-90cd</html>"),
        Answer::sse(&[&chunk]).then(After::Break),
        Answer::sse(&[&garbage]),
        // Tried again, with the same answer.
        Answer::sse(&[&format!("data: {echo}\n\n")]),
        // Longer than a call waits; then it is left alone for so long.
        Answer::json(503, &echo.to_string()).header("retry-after", "6"),
        Answer::json(401, &echo.to_string()),
    ];
    let turns = answers.len();
    let vendor = Vendor::answering_in_turn(answers).await;
    let broker = tokio::task::block_in_place(|| {
        Broker::dev_in(
            &[
                "--backend-url",
                &vendor.base_url,
                "--backend-model",
                "local-model",
                "--price-input",
                "1",
                "--price-output",
                "2",
            ],
            &[("OPENAI_API_KEY", VENDOR_KEY), ("BURSAR_LOG", "trace")],
        )
    });
    let mut errors = String::new();
    for turn in 0..turns {
        if turn + 1 == turns {
            tokio::time::sleep(Duration::from_millis(6_500)).await;
        }
        let output = tokio::task::block_in_place(|| sample(&broker));
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        if turn == 0 || turn == 3 {
            assert!(out.contains(ANSWER), "the answer does arrive: {out} {err}");
        } else {
            assert_eq!(output.status.code(), Some(2), "{turn}: {out} {err}");
            errors.push_str(&out);
        }
        errors.push_str(&err);
    }
    let (log, kept) = (broker.log(), rows(&broker.ready.database_url).await);
    assert!(log.contains("TRACE"), "it does log");
    assert!(kept.contains("demo-user"), "it does keep");
    let secrets =
        [PROMPT, SYSTEM, ANSWER, VENDOR_KEY, &broker.ready.host_key, &broker.ready.operator_key];
    for (place, text) in [("an error", &errors), ("the log", &log), ("a table", &kept)] {
        for secret in secrets {
            // The welcome on standard output may tell a person the key to use.
            let lines: Vec<&str> = text
                .lines()
                .filter(|it| it.contains(secret) && !it.trim_start().starts_with("bursar "))
                .collect();
            assert!(
                lines.is_empty(),
                "{secret} in {place}: {}",
                &lines[0][..lines[0].len().min(400)]
            );
        }
    }
    tokio::task::block_in_place(|| drop(broker));
}
