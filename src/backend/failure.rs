//! Answers that are errors. Their bodies are looked at and forgotten.

use std::time::Duration;

use futures_util::StreamExt;
use http::{HeaderMap, StatusCode, header};
use jiff::fmt::rfc2822;

use super::{
    Cause, Error,
    fields::{self, Fields},
};

/// The most of an error's body that is looked at.
const BODY_BYTES_MAX: usize = 64 << 10;
/// How long the body of an error may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time that a backend may ask to be left alone.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// How a dialect's vendors say what is behind an error.
pub(super) struct Tells {
    /// Codes, in lower case, of a prompt that a filter would not have.
    pub(super) filter_codes: &'static [&'static str],
    /// Codes, in lower case, of an account without money.
    pub(super) quota_codes: &'static [&'static str],
    /// How a message begins that says the same as a filter's code. Messages are never
    /// searched, since they may repeat the prompt; no prompt begins one.
    pub(super) filter_messages: &'static [&'static str],
    /// How a message begins that says the same as a quota's code.
    pub(super) quota_messages: &'static [&'static str],
}

/// Reads an error answer.
pub(super) async fn read(response: reqwest::Response, tells: &Tells) -> Error {
    let status = response.status();
    let retry_after = retry_after(response.headers());
    let said = said(&body(response).await);
    let filtered = status == StatusCode::BAD_REQUEST
        && said.is_among(tells.filter_codes, tells.filter_messages);
    let no_quota = status == StatusCode::PAYMENT_REQUIRED
        || said.is_among(tells.quota_codes, tells.quota_messages);
    let status = status.as_u16();
    let cause = match (filtered, no_quota) {
        (true, _) => Cause::Filtered(status),
        (_, true) => Cause::Quota(status),
        (false, false) => Cause::Status(status),
    };
    Error { cause, retry_after }
}

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

/// What a body says, as far as it is looked at.
#[derive(Default)]
struct Said {
    codes: Vec<String>,
    messages: Vec<String>,
}

impl Said {
    fn is_among(&self, codes: &[&str], messages: &[&str]) -> bool {
        let begins = |it: &String| messages.iter().any(|known| it.starts_with(known));
        self.codes.iter().any(|it| codes.contains(&it.as_str())) || self.messages.iter().any(begins)
    }
}

/// The vendor's codes and messages, wherever they stand.
fn said(body: &str) -> Said {
    let first = fields::members(body).first().copied().unwrap_or(body);
    let Some(outer) = Fields::parse(first) else { return Said::default() };
    let inner = outer.object("error");
    let innermost = inner.object("innererror");
    let all = [&outer, &inner, &innermost];
    let named = all.into_iter().flat_map(|it| ["code", "type"].map(|name| it.text(name)));
    let codes = named.flatten().chain(outer.text("error")).map(|it| it.to_ascii_lowercase());
    let messages = all.into_iter().filter_map(|it| it.text("message"));
    Said { codes: codes.collect(), messages: messages.collect() }
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
