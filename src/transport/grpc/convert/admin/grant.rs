//! Consent.

use std::collections::HashSet;

use crate::{
    domain::{draft, fault::Fault, grant::CALL_SECONDS, money::Currency},
    proto,
    transport::grpc::convert::{
        envelope::allowance,
        field::{At, alias, at_most, count, each, id},
    },
};

const MODELS_MAX: usize = 256;
const CALL_SECONDS_MAX: i64 = 3_600;

/// Reads a grant; what is for output only is ignored.
pub fn grant(it: Option<proto::Grant>, currency: Currency) -> Result<draft::Grant, Fault> {
    let it = it.ok_or_else(|| Fault::invalid("grant", "is required"))?;
    read(it, currency).at("grant")
}

fn read(it: proto::Grant, currency: Currency) -> Result<draft::Grant, Fault> {
    let user = id("user", &it.user)?;
    let server = id("server", &it.server)?;
    let models = models(it.models)?;
    let default = allowance("default_envelope", it.default_envelope.as_ref(), currency)?;
    let max = match &it.max_envelope {
        None => default,
        Some(max) => allowance("max_envelope", Some(max), currency)?,
    };
    if !default.within(&max) {
        return Err(Fault::invalid("max_envelope", "must hold the default envelope"));
    }
    let call_seconds = match count("call_seconds", it.call_seconds, 0..=CALL_SECONDS_MAX)? {
        0 => CALL_SECONDS,
        seconds => seconds,
    };
    Ok(draft::Grant {
        user,
        server,
        models,
        default_envelope: default,
        max_envelope: max,
        tools: it.tools,
        background: it.background,
        reveal_model: it.reveal_model,
        call_seconds,
    })
}

fn models(aliases: Vec<String>) -> Result<Vec<String>, Fault> {
    at_most("models", &aliases, MODELS_MAX)?;
    let mut seen = HashSet::new();
    each("models", aliases, |it| {
        let alias = alias("", &it)?;
        if !seen.insert(it) {
            return Err(Fault::invalid("", "must be named once"));
        }
        Ok(alias)
    })
}
