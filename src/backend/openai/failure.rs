//! Answers that are errors. Their bodies are looked at and forgotten.

use std::time::Duration;

use futures_util::StreamExt;
use http::{HeaderMap, StatusCode, header};
use jiff::fmt::rfc2822;

use super::fields::{self, Fields};
use crate::backend::{Cause, Error};

/// The most of an error's body that is looked at.
const BODY_BYTES_MAX: usize = 64 << 10;
/// How long the body of an error may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time that a backend may ask to be left alone.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// Reads an error answer.
pub(super) async fn read(response: reqwest::Response) -> Error {
    let status = response.status();
    let retry_after = retry_after(response.headers());
    let codes = codes(&body(response).await);
    let says = |known: &[&str]| codes.iter().any(|it| known.contains(&it.as_str()));
    let filtered = status == StatusCode::BAD_REQUEST && says(&FILTER_CODES);
    let no_quota = status == StatusCode::PAYMENT_REQUIRED || says(&QUOTA_CODES);
    let status = status.as_u16();
    let cause = match (filtered, no_quota) {
        (true, _) => Cause::Filtered(status),
        (_, true) => Cause::Quota(status),
        (false, false) => Cause::Status(status),
    };
    Error { cause, retry_after }
}

const FILTER_CODES: [&str; 4] = [
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
];
const QUOTA_CODES: [&str; 5] = [
    "insufficient_quota",
    "insufficient_balance",
    "insufficient_credits",
    "billing_hard_limit_reached",
    "billing_not_active",
];

/// The start of the body, as much as comes in time.
async fn body(response: reqwest::Response) -> String {
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
    let read = async {
        while let Some(Ok(more)) = bytes.next().await {
            let room = BODY_BYTES_MAX.saturating_sub(body.len());
            body.extend(more.iter().take(room));
            if body.len() >= BODY_BYTES_MAX {
                break;
            }
        }
    };
    // What came until then is all there is to look at.
    let _in_time = tokio::time::timeout(BODY_TIMEOUT, read).await;
    String::from_utf8_lossy(&body).into_owned()
}

/// The vendor's codes, wherever they stand. Messages are not searched: they may
/// repeat the prompt.
fn codes(body: &str) -> Vec<String> {
    let first = fields::members(body).first().copied().unwrap_or(body);
    let Some(outer) = Fields::parse(first) else { return Vec::new() };
    let inner = outer.object("error");
    let innermost = inner.object("innererror");
    let named = [&outer, &inner, &innermost]
        .into_iter()
        .flat_map(|it| ["code", "type"].map(|name| it.text(name)));
    named.flatten().chain(outer.text("error")).map(|it| it.to_ascii_lowercase()).collect()
}

/// How long the vendor asks to be left alone, a day at most. A date counts from the
/// vendor's own, so that no clock is needed here and none can be wrong.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|it| it.parse::<u32>().ok()) {
        return Some(Duration::from_millis(ms.into()).min(RETRY_AFTER_MAX));
    }
    let value = text(header::RETRY_AFTER.as_str())?;
    if let Some(seconds) = value.parse::<f64>().ok().filter(|it| it.is_finite()) {
        let wait = Duration::try_from_secs_f64(seconds.min(1e9)).ok()?;
        return Some(wait.min(RETRY_AFTER_MAX));
    }
    let now = rfc2822::parse(text(header::DATE.as_str())?).ok()?.timestamp();
    let until = rfc2822::parse(value).ok()?.timestamp();
    let wait = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    Some(wait.min(RETRY_AFTER_MAX))
}
