//! `bursar guard probe`, against servers that look at headers in different ways.

use std::process::{Command, Output};

use axum::{
    Json, Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};

use crate::call::world::World;

/// An endpoint that answers as `with` says, on a thread of its own.
fn serve(with: fn(&HeaderMap, &Value) -> Response) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let answer = move |headers: HeaderMap, body: Bytes| async move {
                with(&headers, &serde_json::from_slice(&body).unwrap())
            };
            axum::serve(listener, Router::new().route("/mcp", post(answer))).await.unwrap();
        });
    });
    at
}

fn probe(url: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(["guard", "probe", url])
        .args(more)
        .env("PROBE_TOKEN", "secret-of-the-test")
        .output()
        .unwrap()
}

fn said(it: &Output) -> Value {
    serde_json::from_slice(&it.stdout).unwrap_or_else(|_| panic!("not JSON: {it:?}"))
}

fn verdicts(said: &Value) -> Vec<(String, String)> {
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let traps = said["traps"].as_array().unwrap();
    traps.iter().map(|it| (text(&it["trap"]), text(&it["verdict"]))).collect()
}

fn error(status: StatusCode, code: i64) -> Response {
    let error = json!({ "code": code, "message": "no" });
    (status, Json(json!({ "jsonrpc": "2.0", "id": 1, "error": error }))).into_response()
}

/// Looks at the body alone.
fn careless(_: &HeaderMap, body: &Value) -> Response {
    assert!(body["params"]["name"].as_str().unwrap().starts_with("bursar-probe-"));
    error(StatusCode::OK, -32_602)
}

/// Compares, but only where the header says that the new revision is spoken.
fn gullible(headers: &HeaderMap, body: &Value) -> Response {
    let is_new = headers.get("mcp-protocol-version").is_some_and(|it| it == "2026-07-28");
    if is_new { strict(headers, body) } else { careless(headers, body) }
}

/// Compares whatever is there.
fn strict(headers: &HeaderMap, body: &Value) -> Response {
    let version = &body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    let agrees = |name: &str, value: &Value| {
        let mut all = headers.get_all(name).iter();
        let first = all.next().and_then(|it| it.to_str().ok());
        all.next().is_none() && first == value.as_str()
    };
    let fine = agrees("mcp-name", &body["params"]["name"])
        && agrees("mcp-method", &body["method"])
        && agrees("mcp-protocol-version", version);
    if fine { careless(headers, body) } else { error(StatusCode::BAD_REQUEST, -32_020) }
}

/// Lets nobody in.
fn closed(_: &HeaderMap, _: &Value) -> Response {
    (StatusCode::UNAUTHORIZED, "no").into_response()
}

/// Answers by a stream of events that never ends.
fn streaming(headers: &HeaderMap, _: &Value) -> Response {
    assert_eq!(headers["authorization"], "Bearer secret-of-the-test");
    let event =
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}\n\n";
    let first = futures_util::stream::iter([Ok::<_, std::convert::Infallible>(event)]);
    let all = futures_util::StreamExt::chain(first, futures_util::stream::pending());
    let body = axum::body::Body::from_stream(all);
    ([("content-type", "text/event-stream")], body).into_response()
}

#[test]
fn it_tells_a_server_that_compares_from_one_that_does_not() {
    let executed = |it: &Output| {
        let all = verdicts(&said(it)).into_iter().skip(1);
        all.filter(|(_, verdict)| verdict == "EXECUTED").map(|(trap, _)| trap).collect::<Vec<_>>()
    };
    let it = probe(&serve(strict), &["--json"]);
    assert_eq!(it.status.code(), Some(0), "{it:?}");
    assert_eq!(said(&it)["verdict"], "CHECKED");
    assert_eq!(executed(&it), Vec::<String>::new());

    let it = probe(&serve(careless), &["--json"]);
    assert_eq!((it.status.code(), &said(&it)["verdict"]), (Some(1), &json!("EXECUTED")));
    assert_eq!(executed(&it).len(), verdicts(&said(&it)).len() - 1);

    let it = probe(&serve(gullible), &["--json"]);
    assert_eq!((it.status.code(), &said(&it)["verdict"]), (Some(1), &json!("EXECUTED")));
    assert_eq!(executed(&it), ["another revision", "a downgrade"]);

    let it = probe(&serve(streaming), &["--json", "--bearer-env", "PROBE_TOKEN"]);
    assert_eq!(said(&it)["verdict"], "EXECUTED");
    assert!(!String::from_utf8_lossy(&it.stdout).contains("secret-of-the-test"));
}

#[test]
fn where_nothing_can_be_found_out_it_says_so() {
    let it = probe(&serve(closed), &["--json"]);
    assert_eq!((it.status.code(), &said(&it)["verdict"]), (Some(3), &json!("UNKNOWN")));
    for (url, more) in [
        ("http://127.0.0.1:1/mcp", &[][..]),
        ("ftp://127.0.0.1/mcp", &[]),
        ("http://user:secret@127.0.0.1:1/mcp", &[]),
        ("http://127.0.0.1:1/mcp", &["--bearer-env", "NO_SUCH_VARIABLE"]),
    ] {
        let it = probe(url, more);
        assert_eq!(it.status.code(), Some(2), "{url}");
        let why = String::from_utf8_lossy(&it.stderr);
        assert_eq!(why.trim().lines().count(), 1, "{why}");
        assert!(!why.contains("secret"), "{why}");
    }
    let table = probe(&serve(careless), &[]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("decorative") && table.contains("another name"), "{table}");
}

/// What is asked of others is true of our own door.
#[test]
fn our_own_door_refuses_every_disagreement() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let world = runtime.block_on(World::start());
    let url = format!("{}/mcp", world.http());
    let key = world.demo.host_key.reveal().to_owned();
    let it = Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(["guard", "probe", &url, "--json", "--bearer-env", "HOST_KEY"])
        .env("HOST_KEY", key)
        .output()
        .unwrap();
    // It knows no tools, so nothing can be executed; what is compared is refused all the same.
    let seen = verdicts(&said(&it));
    assert!(seen.iter().all(|(_, verdict)| verdict != "EXECUTED"), "{seen:?}");
    let checked = seen.iter().filter(|(_, verdict)| verdict == "CHECKED").count();
    assert!(checked >= 6, "{seen:?}");
    runtime.block_on(world.close());
}
