//! Answers with another status than success.

use std::time::Duration;

use bursar::{
    backend::{Cause, Error, Key, anthropic::Anthropic},
    domain::model::Profile,
};
use serde_json::json;

use super::{
    super::{call, prompt},
    at,
};
use crate::support::vendor::{Answer, Vendor};

async fn refused(answer: Answer) -> Error {
    let vendor = Vendor::answering(answer).await;
    call(&at(&vendor), prompt("Hello")).await.unwrap_err()
}

#[tokio::test]
async fn every_error_of_the_vendor_keeps_its_status_and_loses_its_body() {
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let message = "messages.0: secret-canary Your credit balance is too low, Output blocked by content \
             filtering policy, billing_error";
        let body = json!({"type": "error", "error": {"type": kind, "message": message},
            "request_id": "req_1"});
        let answer = Answer::json(status, &body.to_string()).header("retry-after", "7");
        let error = refused(answer).await;
        let retry_after = Some(Duration::from_secs(7));
        assert_eq!(error, Error { cause: Cause::Status(status), retry_after }, "{kind}");
        assert!(!format!("{error} {error:?}").contains("secret-canary"));
    }
}

#[tokio::test]
async fn an_empty_account_and_a_filter_are_told_apart_from_a_bad_request() {
    for (status, kind, message, cause) in [
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans.",
            Cause::Quota(400),
        ),
        (402, "billing_error", "m", Cause::Quota(402)),
        (403, "billing_error", "m", Cause::Quota(403)),
        (
            400,
            "invalid_request_error",
            "Output blocked by content filtering policy",
            Cause::Filtered(400),
        ),
    ] {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}});
        assert_eq!(refused(Answer::json(status, &body.to_string())).await.cause, cause);
    }
}

#[test]
fn addresses_are_checked_and_keys_never_shown() {
    let key = Key::parse("sk-canary").unwrap();
    let make = |url| {
        Anthropic::new(url, Some(key.clone()), Profile::default(), crate::support::http_client())
    };
    for url in ["", "localhost:1/v1", "ftp://x/v1", "http://me:pw@x/v1"] {
        assert!(make(url).is_err(), "{url}");
    }
    let backend = make("https://x.example/v1?key=canary").unwrap();
    assert!(!format!("{backend:?}").contains("canary"));
}
