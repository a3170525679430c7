//! Reachable endpoints.

use std::time::Duration;

use http::Uri;

use crate::{
    domain::{
        draft,
        fault::Fault,
        model::{BackendKind, Profile},
    },
    proto,
    transport::grpc::convert::field::{At, alias, at_most, count, each, required, wrong},
};

const URL_BYTES_MAX: usize = 2_048;
const KEY_ENV_BYTES_MAX: usize = 128;
const STATUSES_MAX: usize = 64;
const IDLE_SECONDS_MAX: i64 = 3_600;

/// Reads a backend; what is for output only is ignored.
pub fn backend(it: Option<proto::Backend>) -> Result<draft::Backend, Fault> {
    let it = it.ok_or_else(|| Fault::invalid("backend", "is required"))?;
    read(it).at("backend")
}

fn read(it: proto::Backend) -> Result<draft::Backend, Fault> {
    let name = alias("backend", &it.backend)?;
    let kind = kind(it.kind)?;
    let (base_url, key_env) = match kind {
        BackendKind::OpenAi | BackendKind::Anthropic => {
            (base_url(&it.base_url)?, key_env(&it.key_env)?)
        }
        BackendKind::Scripted => {
            for (field, text) in [("base_url", &it.base_url), ("key_env", &it.key_env)] {
                if !text.is_empty() {
                    return Err(Fault::invalid(field, "must be empty for the scripted backend"));
                }
            }
            (String::new(), String::new())
        }
    };
    let profile = profile(it.profile.unwrap_or_default()).at("profile")?;
    Ok(draft::Backend { name, kind, base_url, key_env, profile })
}

fn kind(number: i32) -> Result<BackendKind, Fault> {
    match proto::BackendKind::try_from(number) {
        Ok(proto::BackendKind::Scripted) => Ok(BackendKind::Scripted),
        Ok(proto::BackendKind::Openai) => Ok(BackendKind::OpenAi),
        Ok(proto::BackendKind::Anthropic) => Ok(BackendKind::Anthropic),
        Ok(proto::BackendKind::Unspecified) | Err(_) => {
            let problem = "must be BACKEND_KIND_OPENAI, BACKEND_KIND_ANTHROPIC or \
                           BACKEND_KIND_SCRIPTED";
            Err(Fault::invalid("kind", problem))
        }
    }
}

/// A URL that can carry no secret: it is stored and shown.
fn base_url(text: &str) -> Result<String, Fault> {
    let wrong = |problem: &str| Fault::invalid("base_url", problem);
    let text = required("base_url", text, URL_BYTES_MAX)?;
    if text.contains('#') {
        return Err(wrong("must not have a fragment"));
    }
    let uri: Uri = text.parse().map_err(|_| wrong("must be a URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("must begin with http:// or https://"));
    }
    let authority = uri.authority().ok_or_else(|| wrong("must name a host"))?;
    if authority.as_str().contains('@') {
        return Err(wrong("must not hold a user or a password; use key_env"));
    }
    if authority.host().is_empty() {
        return Err(wrong("must name a host"));
    }
    if authority.as_str() != authority.host() && authority.port_u16().is_none() {
        return Err(wrong("must have a port from 0 to 65535, or none"));
    }
    if uri.query().is_some() {
        return Err(wrong("must not have a query"));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Only variables that are meant for it: else an operator of one tenant could have
/// any secret of the process sent to an address of their own.
fn key_env(text: &str) -> Result<String, Fault> {
    let fine = |it: u8| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_';
    let ours = text.is_empty()
        || matches!(text, "OPENAI_API_KEY" | "ANTHROPIC_API_KEY")
        || (text.starts_with("BURSAR_BACKEND_") && text.bytes().all(fine));
    if !ours || text.len() > KEY_ENV_BYTES_MAX {
        let problem = "must be OPENAI_API_KEY or ANTHROPIC_API_KEY, begin with BURSAR_BACKEND_ \
                       and be of A-Z, 0-9, _, or be empty";
        return Err(Fault::invalid("key_env", problem));
    }
    Ok(text.to_owned())
}

fn profile(it: proto::BackendProfile) -> Result<Profile, Fault> {
    let default = Profile::default();
    at_most("unbilled_statuses", &it.unbilled_statuses, STATUSES_MAX)?;
    let statuses = each("unbilled_statuses", it.unbilled_statuses, unbilled_status)?;
    let idle = match count("idle_seconds", it.idle_seconds, 0..=IDLE_SECONDS_MAX)? {
        0 => default.idle,
        seconds => Duration::from_secs(seconds),
    };
    Ok(Profile {
        unbilled_statuses: if statuses.is_empty() { default.unbilled_statuses } else { statuses },
        stops_on_disconnect: it.stops_on_disconnect,
        max_completion_tokens: it.max_completion_tokens,
        no_stream_options: it.no_stream_options,
        no_temperature: it.no_temperature,
        idle,
    })
}

/// A success is never free.
fn unbilled_status(status: i32) -> Result<u16, Fault> {
    let status = u16::try_from(status).ok().filter(|it| (400..=599).contains(it));
    status.ok_or_else(|| wrong("must be from 400 to 599"))
}
