//! Requests whose headers say one thing and whose bodies another.

use std::{fmt::Write, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    cli::stop::Stop,
    clock::random,
    domain::fault::chain,
    net::{self, Client},
};

/// The JSON-RPC code of a header that disagrees with the body.
const MISMATCH: i64 = -32_020;

/// The codes of a method that is not there and of a tool that is not.
const NO_METHOD: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;

/// The revision that brought these headers, and one from before.
const NEW: &str = "2026-07-28";
const OLD: &str = "2025-06-18";

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is read of an answer, in bytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// What became of a trap, and of all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The disagreement was refused.
    Checked,
    /// The body was executed.
    Executed,
    /// It was kept out for another reason, or not understood.
    Unknown,
}

/// An endpoint and what is sent to it.
pub(super) struct Probe {
    client: Client,
    url: String,
    token: Option<String>,
    /// What the gateway lets through.
    allowed: String,
    /// What does not exist.
    missing: String,
}

/// A request and what came of it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) trap: &'static str,
    pub(super) header: String,
    pub(super) body: String,
    pub(super) status: u16,
    pub(super) code: Option<i64>,
    pub(super) verdict: Verdict,
}

/// A request that is still to be sent.
struct Trap {
    name: &'static str,
    headers: Vec<(&'static str, String)>,
    /// What of them disagrees with what of the body.
    says: (String, String),
    body: Value,
}

impl Verdict {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Checked => "CHECKED",
            Self::Executed => "EXECUTED",
            Self::Unknown => "UNKNOWN",
        }
    }

    /// One trap that was executed is enough; without the first, in which all agrees, being
    /// executed nothing is known.
    pub(super) fn of_all(seen: &[Seen]) -> Self {
        let Some((control, traps)) = seen.split_first() else { return Self::Unknown };
        if traps.iter().any(|it| it.verdict == Self::Executed) {
            return Self::Executed;
        }
        let any = traps.iter().any(|it| it.verdict == Self::Checked);
        if control.verdict == Self::Executed && any { Self::Checked } else { Self::Unknown }
    }
}

impl Probe {
    pub(super) fn new(url: &str, allowed: &str, token: Option<String>) -> Result<Self, Stop> {
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        // User information in a URL would end up in error messages.
        if !is_web || url.contains('@') {
            return Err(Stop::new("the URL must begin with http:// or https:// and name no user"));
        }
        if allowed.is_empty() || !allowed.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(Stop::new("--allowed must be a tool's name, in ASCII"));
        }
        let client = net::client(&net::Private::of(&["*".to_owned()]))
            .map_err(|it| Stop::new(chain(&it)))?;
        let mut missing = "bursar-probe-".to_owned();
        for byte in random::<8>() {
            // Writing to a text does not fail.
            let _ = write!(missing, "{byte:02x}");
        }
        Ok(Self { client, url: url.to_owned(), token, allowed: allowed.to_owned(), missing })
    }

    /// Sends one request in which all agrees, and then those in which something does not.
    pub(super) async fn spring(&self) -> Result<Vec<Seen>, Stop> {
        let mut seen = Vec::new();
        for trap in self.traps() {
            seen.push(self.send(trap).await?);
        }
        Ok(seen)
    }

    fn traps(&self) -> Vec<Trap> {
        let Self { allowed, missing, .. } = self;
        let encoded = format!("=?base64?{}?=", STANDARD.encode(allowed));
        let says = |name: &str| (format!("Mcp-Name: {name}"), missing.clone());
        let new = || self.body(Some(NEW));
        let method = ("Mcp-Method: tools/list".to_owned(), "tools/call".to_owned());
        let revision = (format!("MCP-Protocol-Version: {OLD}"), NEW.to_owned());
        vec![
            trap("agreeing", [NEW, "tools/call"], &[missing], (says(missing), new())),
            trap("another name", [NEW, "tools/call"], &[allowed], (says(allowed), new())),
            trap("an encoded name", [NEW, "tools/call"], &[&encoded], (says(&encoded), new())),
            trap("two names", [NEW, "tools/call"], &[allowed, missing], (says(allowed), new())),
            trap("no name", [NEW, "tools/call"], &[], (says(""), new())),
            trap("another method", [NEW, "tools/list"], &[missing], (method, new())),
            trap("another revision", [OLD, "tools/call"], &[allowed], (revision, new())),
            trap("a downgrade", [OLD, "tools/call"], &[allowed], (says(allowed), self.body(None))),
        ]
    }

    /// A call of a tool that does not exist.
    fn body(&self, revision: Option<&str>) -> Value {
        let mut params = json!({ "name": self.missing, "arguments": {} });
        if let Some(it) = revision {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": it,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {
                    "name": "bursar-guard-probe",
                    "version": env!("CARGO_PKG_VERSION"),
                },
            });
        }
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
    }

    async fn send(&self, trap: Trap) -> Result<Seen, Stop> {
        let Trap { name, headers, says: (header, body), body: json } = trap;
        let mut request = self.client.post(&self.url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(json.to_string());
        let answer = async {
            let mut response = request.send().await?;
            let status = response.status().as_u16();
            let mut bytes = Vec::new();
            // A stream may go on for ever; its first message is enough.
            while let Some(part) = response.chunk().await? {
                bytes.extend_from_slice(&part);
                if bytes.len() > ANSWER_BYTES_MAX || message(&bytes).is_some() {
                    break;
                }
            }
            Ok::<_, net::RequestError>((status, message(&bytes)))
        };
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        let answer = answer.map_err(|_| Stop::new(format!("{name}: no answer in time")))?;
        let (status, message) = answer.map_err(|it| {
            Stop::new(format!("the endpoint cannot be reached: {}", chain(&it.without_url())))
        })?;
        let code = message.as_ref().and_then(|it| it["error"]["code"].as_i64());
        let verdict = verdict(status, message.as_ref());
        Ok(Seen { trap: name, header, body, status, code, verdict })
    }
}

fn trap(
    name: &'static str,
    [revision, method]: [&str; 2],
    names: &[&String],
    (says, body): ((String, String), Value),
) -> Trap {
    let mut headers =
        vec![("mcp-protocol-version", revision.to_owned()), ("mcp-method", method.to_owned())];
    headers.extend(names.iter().map(|it| ("mcp-name", (*it).clone())));
    Trap { name, headers, says, body }
}

/// Whoever says that there is no such tool has looked at the body and done as it says. Where
/// there is no such method nothing is known: it may be another kind of endpoint.
fn verdict(status: u16, message: Option<&Value>) -> Verdict {
    let Some(message) = message else { return Verdict::Unknown };
    let code = message["error"]["code"].as_i64();
    match (status, code) {
        (_, Some(MISMATCH)) => Verdict::Checked,
        (_, Some(NO_METHOD)) => Verdict::Unknown,
        (200..=299, _) | (_, Some(INVALID_PARAMS)) => Verdict::Executed,
        _ => Verdict::Unknown,
    }
}

/// The first JSON-RPC message of an answer: the body itself, or an event's data.
fn message(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let whole = serde_json::from_str(text).ok();
    let of_event = || text.lines().filter_map(|it| it.strip_prefix("data:")).find_map(parse);
    whole.or_else(of_event).filter(|it: &Value| it["jsonrpc"] == "2.0")
}

fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
