//! Each resource as a record: what `--json` prints and what a table takes its
//! columns from.

use super::{
    record::{Record, Value},
    words,
};
use crate::proto::{
    AuditEntry, Backend, Budget, Credential, Entry, Envelope, EnvelopeExtension, FxRate, Grant,
    GrantExtension, Model, ModelBounds, Posting, Price, PriceSource, PriceTier, Server, Stop,
    Tenant, User,
};

pub(super) fn envelope(it: &Envelope) -> Record {
    let money = it.limits.as_ref().and_then(|it| it.money.as_ref());
    Record::new()
        .with("name", it.name.clone())
        .with("user", it.user.clone())
        .with("server", it.server.clone())
        .with("state", words::word(it.state().as_str_name(), "ENVELOPE_STATE_"))
        .with("parent", Value::text_or_null(&it.parent))
        .with("limits", it.limits.as_ref().map(words::limits))
        .with("left", it.left.as_ref().map(words::left))
        .with("currency", money.map(|it| it.currency_code.clone()))
        .with("opened_at", Value::text_or_null(&it.opened_at))
        .with("closes_at", Value::text_or_null(&it.closes_at))
        .with("closed_at", Value::text_or_null(&it.closed_at))
        .with("status", it.status.iter().map(words::limit).collect::<Vec<_>>())
        .with("extensions", it.extensions.iter().map(extension).collect::<Vec<_>>())
}

fn extension(it: &EnvelopeExtension) -> Record {
    Record::new()
        .with("accepted", it.accepted)
        .with("calls", it.calls)
        .with("seconds", it.seconds)
        .with("money", it.money.as_ref().map(words::decimal))
        .with("waited_seconds", it.waited_seconds)
        .with("given_at", Value::text_or_null(&it.given_at))
        .with("asserted_by", Value::text_or_null(&it.asserted_by))
        .with("call", Value::text_or_null(&it.call))
}

pub(super) fn entry(it: &Entry) -> Record {
    let currency = it.charge.as_ref().or(it.hold.as_ref());
    Record::new()
        .with("name", it.name.clone())
        .with("kind", words::word(it.kind().as_str_name(), "ENTRY_KIND_"))
        .with("incurred_at", Value::text_or_null(&it.incurred_at))
        .with("booked_at", Value::text_or_null(&it.booked_at))
        .with("call", Value::text_or_null(&it.call))
        .with("attempt", it.attempt)
        .with("envelope", Value::text_or_null(&it.envelope))
        .with("user", Value::text_or_null(&it.user))
        .with("server", Value::text_or_null(&it.server))
        .with("host", Value::text_or_null(&it.host))
        .with("root", Value::text_or_null(&it.root))
        .with("model", Value::text_or_null(&it.model))
        .with("backend", Value::text_or_null(&it.backend))
        .with("route", Value::text_or_null(&it.route))
        .with("price_version", Value::text_or_null(&it.price_version))
        .with("fx_rate", Value::text_or_null(&it.fx_rate))
        .with("usage", it.usage.as_ref().map(words::usage))
        .with("currency", currency.map(|it| it.currency_code.clone()))
        .with("hold", it.hold.as_ref().map(words::decimal))
        .with("charge", it.charge.as_ref().map(words::decimal))
        .with("overrun", it.overrun.as_ref().map(words::decimal))
        .with("provider_usd", it.provider_usd.as_ref().map(words::decimal))
        .with("estimated", it.estimated)
        .with("reported", it.reported)
        .with("cut", words::word(it.cut().as_str_name(), "CUT_"))
        .with("corrects", Value::text_or_null(&it.corrects))
        .with("postings", it.postings.iter().map(posting).collect::<Vec<_>>())
}

fn posting(it: &Posting) -> Record {
    Record::new()
        .with("account", it.account.clone())
        .with("amount", it.amount.as_ref().map(words::decimal))
        .with("currency", it.amount.as_ref().map(|it| it.currency_code.clone()))
}

pub(super) fn grant(it: &Grant) -> Record {
    Record::new()
        .with("name", it.name.clone())
        .with("user", it.user.clone())
        .with("server", it.server.clone())
        .with("models", it.models.clone())
        .with("default_envelope", it.default_envelope.as_ref().map(words::limits))
        .with("max_envelope", it.max_envelope.as_ref().map(words::limits))
        .with("tools", it.tools)
        .with("background", it.background)
        .with("reveal_model", it.reveal_model)
        .with("call_seconds", it.call_seconds)
        .with("extension", it.extension.as_ref().map(extension_terms))
        .with("create_time", Value::text_or_null(&it.create_time))
        .with("revoke_time", Value::text_or_null(&it.revoke_time))
}

fn extension_terms(it: &GrantExtension) -> Record {
    Record::new()
        .with("calls", it.calls)
        .with("seconds", it.seconds)
        .with("money", it.money.as_ref().map(words::decimal))
        .with("times", it.times)
}

pub(super) fn budget(it: &Budget) -> Record {
    Record::new()
        .with("name", it.name.clone())
        .with("display_name", Value::text_or_null(&it.display_name))
        .with("user", Value::text_or_null(&it.user))
        .with("server", Value::text_or_null(&it.server))
        .with("host", Value::text_or_null(&it.host))
        .with("root", Value::text_or_null(&it.root))
        .with("period", words::word(it.period().as_str_name(), "PERIOD_"))
        .with("time_zone", Value::text_or_null(&it.time_zone))
        .with("calls", it.calls)
        .with("money", it.money.as_ref().map(words::decimal))
        .with("currency", it.money.as_ref().map(|it| it.currency_code.clone()))
        .with("tokens", it.tokens)
        .with("concurrent_calls", it.concurrent_calls)
        .with("server_share_percent", Some(it.server_share_percent).filter(|it| *it > 0))
        .with("observe_only", it.observe_only)
        .with("create_time", Value::text_or_null(&it.create_time))
        .with("status", it.status.iter().map(words::limit).collect::<Vec<_>>())
}

pub(super) fn backend(it: &Backend) -> Record {
    let profile = it.profile.clone().unwrap_or_default();
    Record::new()
        .with("name", it.name.clone())
        .with("backend", it.backend.clone())
        .with("kind", words::word(it.kind().as_str_name(), "BACKEND_KIND_"))
        .with("base_url", Value::text_or_null(&it.base_url))
        .with("key_env", Value::text_or_null(&it.key_env))
        .with("unbilled_statuses", profile.unbilled_statuses)
        .with("stops_on_disconnect", profile.stops_on_disconnect)
        .with("max_completion_tokens", profile.max_completion_tokens)
        .with("no_stream_options", profile.no_stream_options)
        .with("no_temperature", profile.no_temperature)
        .with("idle_seconds", profile.idle_seconds)
}

pub(super) fn model(it: &Model) -> Record {
    Record::new()
        .with("name", it.name.clone())
        .with("alias", it.alias.clone())
        .with("backend", it.backend.clone())
        .with("vendor_model", it.vendor_model.clone())
        .with("context_tokens", it.context_tokens)
        .with("max_output_tokens", it.max_output_tokens)
        .with("tools", it.tools)
        .with("image_tokens_max", it.image_tokens_max)
        .with("audio_tokens_max", it.audio_tokens_max)
        .with("intelligence", it.intelligence)
        .with("speed", it.speed)
        .with("price", it.price.as_ref().map(price))
        .with("price_source", it.price_source.as_ref().map(price_source))
        .with("tokenizer", it.tokenizer.clone())
        .with("counted_by", it.bounds.as_ref().map(|it| it.counted_by.clone()))
        .with("counted_calls", it.bounds.as_ref().map(|it| it.calls))
        .with("held_tokens", it.bounds.as_ref().map(|it| it.held_tokens))
        .with("actual_tokens", it.bounds.as_ref().map(|it| it.actual_tokens))
        .with("held_to_actual", bound_text(it, |it| &it.held_to_actual))
        .with("held_to_actual_least", bound_text(it, |it| &it.held_to_actual_least))
        .with("bound_failures", it.bounds.as_ref().map(|it| it.failures))
        .with("last_bound_failure", bound_text(it, |it| &it.last_failure_time))
        .with("coarse", it.bounds.as_ref().map(|it| it.coarse))
        .with("suspended", it.bounds.as_ref().map(|it| it.suspended))
}

fn bound_text(it: &Model, of: fn(&ModelBounds) -> &String) -> Value {
    it.bounds.as_ref().map_or(Value::Null, |it| Value::text_or_null(of(it)))
}

pub(super) fn price(it: &Price) -> Record {
    Record::new()
        .with("input", Value::text_or_null(&it.input))
        .with("output", Value::text_or_null(&it.output))
        .with("cache_read", Value::text_or_null(&it.cache_read))
        .with("cache_write", Value::text_or_null(&it.cache_write))
        .with("reasoning", Value::text_or_null(&it.reasoning))
        .with("request", Value::text_or_null(&it.request))
        .with("audio_input", Value::text_or_null(&it.audio_input))
        .with("audio_output", Value::text_or_null(&it.audio_output))
        .with("image", Value::text_or_null(&it.image))
        .with("tiers", it.tiers.iter().map(tier).collect::<Vec<_>>())
        .with("version", Value::text_or_null(&it.version))
}

/// Provider and model of a row of the price book.
fn price_source(it: &PriceSource) -> String {
    let PriceSource { provider, model, service_tier } = it;
    let tier =
        if service_tier == "standard" { String::new() } else { format!(" ({service_tier})") };
    format!("{provider}/{model}{tier}")
}

fn tier(it: &PriceTier) -> Record {
    Record::new()
        .with("above_tokens", it.above_tokens)
        .with("input", Value::text_or_null(&it.input))
        .with("output", Value::text_or_null(&it.output))
        .with("cache_read", Value::text_or_null(&it.cache_read))
        .with("cache_write", Value::text_or_null(&it.cache_write))
        .with("reasoning", Value::text_or_null(&it.reasoning))
        .with("audio_input", Value::text_or_null(&it.audio_input))
        .with("audio_output", Value::text_or_null(&it.audio_output))
        .with("image", Value::text_or_null(&it.image))
}

pub(super) fn fx_rate(it: &FxRate) -> Record {
    Record::new()
        .with("name", it.name.clone())
        .with("currency", it.currency_code.clone())
        .with("usd_per_unit", it.usd_per_unit.clone())
        .with("fixing_date", Value::text_or_null(&it.fixing_date))
}

pub(super) fn credential(it: &Credential) -> Record {
    Record::new()
        .with("name", it.name.clone())
        .with("display_name", Value::text_or_null(&it.display_name))
        .with("role", words::word(it.role().as_str_name(), "CREDENTIAL_ROLE_"))
        .with("host", Value::text_or_null(&it.host))
        .with("create_time", Value::text_or_null(&it.create_time))
        .with("expire_time", Value::text_or_null(&it.expire_time))
        .with("revoke_time", Value::text_or_null(&it.revoke_time))
}

pub(super) fn user(it: &User) -> Record {
    Record::new().with("name", it.name.clone()).with("user", it.user.clone())
}

pub(super) fn server(it: &Server) -> Record {
    Record::new().with("name", it.name.clone()).with("server", it.server.clone())
}

pub(super) fn tenant(it: &Tenant) -> Record {
    Record::new()
        .with("name", it.name.clone())
        .with("display_name", Value::text_or_null(&it.display_name))
        .with("currency", it.currency_code.clone())
}

pub(super) fn stop(it: &Stop) -> Record {
    Record::new()
        .with("name", it.name.clone())
        .with("user", Value::text_or_null(&it.user))
        .with("server", Value::text_or_null(&it.server))
        .with("reason", Value::text_or_null(&it.reason))
        .with("stop_time", Value::text_or_null(&it.stop_time))
        .with("stopped_by", Value::text_or_null(&it.stopped_by))
        .with("lift_time", Value::text_or_null(&it.lift_time))
        .with("lifted_by", Value::text_or_null(&it.lifted_by))
}

pub(super) fn audit_entry(it: &AuditEntry) -> Record {
    let row = |it: &String| if it.is_empty() { Value::Null } else { Value::Json(it.clone()) };
    Record::new()
        .with("name", it.name.clone())
        .with("time", it.time.clone())
        .with("credential", it.credential.clone())
        .with("credential_display_name", Value::text_or_null(&it.credential_display_name))
        .with("peer", Value::text_or_null(&it.peer))
        .with("method", it.method.clone())
        .with("resource", it.resource.clone())
        .with("old", row(&it.old))
        .with("new", row(&it.new))
}
