//! Answers with another status than success, and no answers at all.

use std::time::Duration;

use bursar::{
    backend::{Cause, Error, Key, openai::OpenAi},
    domain::model::Profile,
};
use tokio::{io::AsyncReadExt, net::TcpListener};

use super::{call, dialects::at, prompt};
use crate::support::vendor::{After, Answer, Vendor};

async fn refused(answer: Answer) -> Error {
    let vendor = Vendor::answering(answer).await;
    call(&at(&vendor), prompt("Hello")).await.unwrap_err()
}

#[tokio::test]
async fn the_status_survives_whatever_the_body_is() {
    for body in [
        r#"{"error":{"message":"secret-canary","code":429}}"#,
        r#"{"error":"secret-canary"}"#,
        r#"[{"error":{"message":"secret-canary"}}]"#,
        r#"{"detail":"secret-canary insufficient_quota"}"#,
        r#"{"message":"content_filter","code":5}"#,
        "<html>secret-canary</html>",
        "",
        "null",
    ] {
        for status in [400, 401, 404, 429, 500, 503] {
            let error = refused(Answer::json(status, body).header("retry-after", "7")).await;
            let retry_after = Some(Duration::from_secs(7));
            assert_eq!(error, Error { cause: Cause::Status(status), retry_after }, "{body}");
            assert!(!format!("{error} {error:?}").contains("secret-canary"));
        }
    }
}

#[tokio::test]
async fn an_empty_account_is_told_apart_from_a_busy_server() {
    for body in [
        r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota"}}"#,
        r#"{"error":{"type":"insufficient_quota","code":null}}"#,
        r#"{"error":"insufficient_quota"}"#,
        r#"{"code":"insufficient_quota","message":"m"}"#,
        r#"[{"error":{"code":"insufficient_quota"}}]"#,
    ] {
        assert_eq!(refused(Answer::json(429, body)).await.cause, Cause::Quota(429), "{body}");
    }
    assert_eq!(refused(Answer::json(402, "{}")).await.cause, Cause::Quota(402));
}

#[tokio::test]
async fn a_filtered_prompt_is_a_refusal() {
    for body in [
        r#"{"error":{"code":"content_filter","message":"m"}}"#,
        r#"{"error":{"code":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
        r#"{"error":{"type":"content_policy_violation"}}"#,
    ] {
        let vendor = Vendor::answering(Answer::json(400, body)).await;
        let error = call(&at(&vendor), prompt("Hello")).await.unwrap_err();
        assert_eq!(error.cause, Cause::Filtered(400), "{body}");
    }
}

#[tokio::test]
async fn retry_after_in_every_form() {
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    for (name, value, ms) in [
        ("retry-after", "3", Some(3_000)),
        ("retry-after", " 1.5 ", Some(1_500)),
        ("retry-after", "0", Some(0)),
        ("retry-after", "86401", Some(86_400_000)),
        ("retry-after", "1e300", Some(86_400_000)),
        ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT", Some(30_000)),
        ("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT", Some(0)),
        ("retry-after", "Wed, 21 Oct 2037 07:28:30 GMT", Some(86_400_000)),
        ("retry-after-ms", "250", Some(250)),
        ("retry-after", "-1", None),
        ("retry-after", "NaN", None),
        ("retry-after", "inf", None),
        ("retry-after", "soon", None),
        ("retry-after", "", None),
    ] {
        let answer = Answer::json(429, "{}").header(name, value).header("date", date);
        let expected = ms.map(Duration::from_millis);
        assert_eq!(refused(answer).await.retry_after, expected, "{value}");
    }
}

#[tokio::test]
async fn an_error_without_an_end_is_read_no_further_than_needed() {
    let endless = Answer::json(503, &"x".repeat(10_000)).then(After::Repeat);
    assert_eq!(refused(endless).await.cause, Cause::Status(503));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Vendor::answering(Answer::events(&[])).await;
    let answer = Answer::json(307, "").header("location", &elsewhere.base_url);
    assert_eq!(refused(answer).await.cause, Cause::Status(307));
}

#[tokio::test]
async fn nobody_there_is_not_the_same_as_gone() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let to =
        |url| OpenAi::new(url, None, Profile::default(), crate::support::http_client()).unwrap();
    let gone = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let read = socket.read(&mut [0; 1_024]).await.unwrap();
        assert!(read > 0);
    });
    let error = call(&to(&url), prompt("Hello")).await.unwrap_err();
    assert_eq!(error.cause, Cause::Disconnected);
    gone.await.unwrap();
    let error = call(&to(&url), prompt("Hello")).await.unwrap_err();
    assert_eq!(error.cause, Cause::Unreachable);
}

#[test]
fn keys_and_addresses_are_checked_and_never_shown() {
    let key = Key::parse(" sk-canary \n").unwrap();
    assert!(!format!("{key:?}").contains("canary"));
    assert!(Key::parse("  ").is_err());
    assert!(Key::parse("a\nb").is_err());
    let client = crate::support::http_client();
    let make = |url| OpenAi::new(url, Some(key.clone()), Profile::default(), client.clone());
    for url in
        ["", "localhost:1/v1", "ftp://x/v1", "http://", "http://me:pw@x/v1", "http://me@x/v1"]
    {
        assert!(make(url).is_err(), "{url}");
    }
    let backend = make("https://x.example/v1?key=canary").unwrap();
    assert!(!format!("{backend:?}").contains("canary"));
}
