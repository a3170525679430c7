//! What a request must be before anything else is looked at, at every door but health's.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::http::{
    HeaderMap,
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, ORIGIN},
};

use crate::domain::ids::TenantId;

/// Longer than any key.
const KEY_BYTES_MAX: usize = 256;

/// The longest `Idempotency-Key`.
const IDEMPOTENCY_BYTES_MAX: usize = 256;

const IDEMPOTENCY_KEY: &str = "idempotency-key";
const TENANT: HeaderName = HeaderName::from_static("bursar-tenant");
const USER: HeaderName = HeaderName::from_static("bursar-user");
const SERVER: HeaderName = HeaderName::from_static("bursar-server");

/// Why a request is turned away. Each door says it in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turned {
    /// A web page had a browser send it.
    Origin,
    /// It was sent to a name that is none of this service's.
    Host,
    /// The body is no plain JSON.
    NotJson,
    /// The body has more bytes than these.
    TooLong(usize),
    /// The body broke off, or was silent for too long.
    CutOff,
    /// Too much is under way.
    Shed(Duration),
    /// A header says something else than the key or the body.
    Disagrees(String),
    /// A header is not well-formed.
    Malformed(&'static str),
}

/// The names that requests may be sent to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Hosts {
    named: Arc<[String]>,
    is_local: bool,
}

impl Hosts {
    /// These; where there are none any, or for a door on a loopback address those of the
    /// machine itself.
    pub fn new(named: &[String], at: IpAddr) -> Self {
        let named = named.iter().map(|it| it.to_ascii_lowercase()).collect();
        Self { named, is_local: at.is_loopback() }
    }

    fn has(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if self.named.contains(&host) {
            return true;
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let own = host == "localhost" || bare.parse().is_ok_and(|it: IpAddr| it.is_loopback());
        if self.is_local { own } else { self.named.is_empty() || own }
    }
}

/// Turns away what a web page made a browser send, be it to a name that leads here by a
/// trick.
pub(super) fn sent_on_purpose(headers: &HeaderMap, hosts: &Hosts) -> Result<(), Turned> {
    if headers.contains_key(ORIGIN) {
        return Err(Turned::Origin);
    }
    let mut all = headers.get_all(HOST).iter();
    let only = all.next().filter(|_| all.next().is_none());
    let host = only.and_then(|it| it.to_str().ok()).map(without_port);
    if host.is_some_and(|it| hosts.has(it)) { Ok(()) } else { Err(Turned::Host) }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The key, if there is exactly one. The scheme's name may be in any case.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let only = all.next().filter(|_| all.next().is_none())?;
    let (scheme, key) = only.to_str().ok()?.split_once(' ')?;
    let fits = scheme.eq_ignore_ascii_case("bearer") && key.len() <= KEY_BYTES_MAX;
    fits.then_some(key)
}

/// Routing headers are compared with the key and the body, where there are any, and never
/// believed.
pub(super) fn agree(
    headers: &HeaderMap,
    tenant: TenantId,
    (user, server): (&str, &str),
) -> Result<(), Turned> {
    let tenant = tenant.to_string();
    let full = format!("tenants/{tenant}");
    for (header, value) in [(TENANT, tenant.as_str()), (USER, user), (SERVER, server)] {
        let agrees =
            |said: &[u8]| said == value.as_bytes() || (header == TENANT && said == full.as_bytes());
        if !headers.get_all(&header).iter().all(|it| agrees(it.as_bytes())) {
            return Err(Turned::Disagrees(header.as_str().to_owned()));
        }
    }
    Ok(())
}

/// A body that a form or a plain script of a web page cannot send.
pub(super) fn is_json(headers: &HeaderMap) -> Result<(), Turned> {
    let text = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let kind = text.split(';').next().unwrap_or_default().trim();
    let encoding = headers.get(CONTENT_ENCODING).map(|it| it.as_bytes().to_ascii_lowercase());
    let is_plain = encoding.is_none_or(|it| it == b"identity");
    let fine = kind.eq_ignore_ascii_case("application/json") && is_plain;
    if fine { Ok(()) } else { Err(Turned::NotJson) }
}

/// What makes a repeated request safe, where there is one: 1 to 256 printable characters.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Turned> {
    let mut all = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(first) = all.next() else { return Ok(None) };
    let fine = |it: &&str| !it.is_empty() && it.len() <= IDEMPOTENCY_BYTES_MAX;
    let only = first.to_str().ok().filter(fine).filter(|_| all.next().is_none());
    only.map(Some).ok_or(Turned::Malformed(IDEMPOTENCY_KEY))
}
