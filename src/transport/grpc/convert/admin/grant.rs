//! Consent.

use std::collections::HashSet;

use crate::{
    domain::{
        draft,
        envelope::{Allowance, CALLS_MAX, SECONDS_MAX},
        extension::{Extra, MONEY_NANOS_MAX, TIMES_MAX, Terms},
        fault::Fault,
        grant::CALL_SECONDS,
        money::Currency,
    },
    proto,
    transport::grpc::convert::{
        envelope::allowance,
        field::{At, alias, at_most, count, each, id, within},
        money,
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
    let extension = it.extension.as_ref().map(|it| extension(it, &max, currency));
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
        extension: extension.transpose().at("extension")?,
    })
}

/// What a person may add at a time, and how often. Together with the largest envelope it
/// is no more than an envelope may have at all.
fn extension(
    it: &proto::GrantExtension,
    max: &Allowance,
    currency: Currency,
) -> Result<Terms, Fault> {
    let proto::GrantExtension { calls, seconds, money, times } = it;
    let money = money.as_ref().map(|it| money::amount("money", it, currency)).transpose()?;
    let extra = Extra {
        calls: within("calls", *calls, 0..=CALLS_MAX)?,
        seconds: within("seconds", *seconds, 0..=SECONDS_MAX)?,
        money: money.unwrap_or_default(),
    };
    if extra.is_nothing() {
        return Err(Fault::invalid("", "must have at least one of calls, seconds and money"));
    }
    let times = match within("times", i64::from(*times), 0..=TIMES_MAX)? {
        0 => 1,
        times => times,
    };
    for (field, one, has, most) in [
        ("calls", extra.calls, max.calls, CALLS_MAX),
        ("seconds", extra.seconds, max.seconds, SECONDS_MAX),
        ("money", extra.money.nanos(), max.money.nanos(), MONEY_NANOS_MAX),
    ] {
        if one.saturating_mul(times).saturating_add(has) > most {
            let problem = "is too much: so often, on top of the largest envelope, it is more \
                           than any envelope may have";
            return Err(Fault::invalid(field, problem));
        }
    }
    Ok(Terms { extra, times })
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
