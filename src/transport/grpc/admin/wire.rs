//! What operators are shown.

use jiff::Timestamp;

use crate::{
    admin::{Listed, Named, Offered, Standing},
    domain::{
        budget::Budget,
        credential::{Credential, Role},
        ids::{BackendId, ServerId, TenantId, UserId},
        model::{self, BackendKind, Bounding, Profile, Trust},
        money::{Amount, Currency},
        period::{Period, to_the_second},
        tenant::Tenant,
        vocabulary::Tokenizer,
    },
    proto,
    store::catalogue::FxRate,
    transport::grpc::convert::{
        envelope::{allowance_to_wire, limit_status},
        money, name, prices,
    },
};

pub(super) fn tenant(it: &Tenant) -> proto::Tenant {
    let Tenant { id, display_name, currency } = it;
    proto::Tenant {
        name: name::of_tenant(*id),
        display_name: display_name.clone(),
        currency_code: currency.code().to_owned(),
    }
}

pub(super) fn credential(it: &Credential, tenant: TenantId) -> proto::Credential {
    let Credential { id, display_name, role, host, created_at, expires_at, revoked_at } = it;
    proto::Credential {
        name: name::format(tenant, id),
        display_name: display_name.clone(),
        role: match role {
            Role::Platform => proto::CredentialRole::Platform,
            Role::Host => proto::CredentialRole::Host,
            Role::Operator => proto::CredentialRole::Operator,
            Role::Finance => proto::CredentialRole::Finance,
        }
        .into(),
        host: host.as_ref().map_or_else(String::new, |(_, name)| name.clone()),
        create_time: to_the_second(*created_at),
        expire_time: time(*expires_at),
        revoke_time: time(*revoked_at),
    }
}

fn time(at: Option<Timestamp>) -> String {
    at.map_or_else(String::new, to_the_second)
}

pub(super) fn user((id, user): &Named<UserId>, tenant: TenantId) -> proto::User {
    proto::User { name: name::format(tenant, id), user: user.clone() }
}

pub(super) fn server((id, server): &Named<ServerId>, tenant: TenantId) -> proto::Server {
    proto::Server { name: name::format(tenant, id), server: server.clone() }
}

pub(super) fn grant(it: &Listed, tenant: &Tenant) -> proto::Grant {
    let Listed { grant, user, server, created_at, revoked_at } = it;
    let allowance = |it| Some(allowance_to_wire(it, tenant.currency));
    proto::Grant {
        name: name::format(tenant.id, &grant.id),
        user: user.clone(),
        server: server.clone(),
        models: grant.models.clone(),
        default_envelope: allowance(&grant.default_envelope),
        max_envelope: allowance(&grant.max_envelope),
        tools: grant.tools,
        background: grant.background,
        reveal_model: grant.reveal_model,
        call_seconds: i64::try_from(grant.call_time.as_secs()).unwrap_or(i64::MAX),
        create_time: to_the_second(*created_at),
        revoke_time: time(*revoked_at),
        extension: grant.extension.map(|it| proto::GrantExtension {
            calls: it.extra.calls,
            seconds: it.extra.seconds,
            money: Some(money::to_wire(it.extra.money, tenant.currency)),
            times: i32::try_from(it.times).unwrap_or(i32::MAX),
        }),
    }
}

pub(super) fn budget(it: &Standing, tenant: &Tenant) -> proto::Budget {
    let Standing { budget, user, server, host, root, status } = it;
    let Budget { id, display_name, period, time_zone, calls, money, tokens, .. } = budget;
    proto::Budget {
        name: name::format(tenant.id, id),
        display_name: display_name.clone(),
        user: user.clone(),
        server: server.clone(),
        period: match period {
            Period::Day => proto::Period::Day,
            Period::Week => proto::Period::Week,
            Period::Month => proto::Period::Month,
            Period::Quarter => proto::Period::Quarter,
            Period::Year => proto::Period::Year,
            Period::Lifetime => proto::Period::Lifetime,
        }
        .into(),
        time_zone: time_zone.clone(),
        calls: *calls,
        money: money.map(|it| money::to_wire(Amount::from_nanos(it), tenant.currency)),
        tokens: *tokens,
        observe_only: !budget.enforcing,
        create_time: to_the_second(budget.created_at),
        status: status.iter().map(|it| limit_status(it, tenant.id)).collect(),
        host: host.clone(),
        root: root.clone(),
        concurrent_calls: budget.concurrent_calls,
        server_share_percent: budget.server_share_percent.map_or(0, i32::from),
    }
}

pub(super) fn backend(it: &model::Backend, tenant: TenantId) -> proto::Backend {
    let model::Backend { id, name, kind, base_url, key_env, profile } = it;
    proto::Backend {
        name: name::format::<BackendId>(tenant, id),
        backend: name.clone(),
        kind: match kind {
            BackendKind::Scripted => proto::BackendKind::Scripted,
            BackendKind::OpenAi => proto::BackendKind::Openai,
            BackendKind::Anthropic => proto::BackendKind::Anthropic,
        }
        .into(),
        base_url: base_url.clone(),
        key_env: key_env.clone(),
        profile: Some(self::profile(profile)),
    }
}

fn profile(it: &Profile) -> proto::BackendProfile {
    proto::BackendProfile {
        unbilled_statuses: it.unbilled_statuses.iter().map(|it| i32::from(*it)).collect(),
        stops_on_disconnect: it.stops_on_disconnect,
        max_completion_tokens: it.max_completion_tokens,
        no_stream_options: it.no_stream_options,
        no_temperature: it.no_temperature,
        idle_seconds: i64::try_from(it.idle.as_secs()).unwrap_or(i64::MAX),
    }
}

pub(super) fn model(it: &Offered, tenant: TenantId) -> proto::Model {
    let Offered { model, backend } = it;
    let number = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    proto::Model {
        name: name::format(tenant, &model.id),
        alias: model.alias.clone(),
        backend: backend.clone(),
        vendor_model: model.vendor_model.clone(),
        context_tokens: number(model.context_tokens),
        max_output_tokens: number(model.max_output_tokens),
        tools: model.tools,
        image_tokens_max: number(model.image_tokens_max),
        audio_tokens_max: number(model.audio_tokens_max),
        intelligence: i32::from(model.intelligence),
        speed: i32::from(model.speed),
        price: model.price.map(|(version, it)| prices::to_wire(&it, version.to_string())),
        tokenizer: model.bound.tokenizer.word().to_owned(),
        bounds: Some(bounds(&model.bound)),
        price_source: model.book.as_ref().map(prices::source_to_wire),
    }
}

fn bounds(it: &Bounding) -> proto::ModelBounds {
    let Bounding { trust, record, .. } = it;
    let number = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    let ratio = |held: u64, actual: u64| {
        let hundredths = held.saturating_mul(100).checked_div(actual);
        hundredths.map_or_else(String::new, |it| format!("{}.{:02}", it / 100, it % 100))
    };
    let counted_by = it.vocabulary().filter(|_| *trust == Trust::Fine);
    let counted_by = counted_by.map_or(Tokenizer::Bytes, Tokenizer::Exact);
    proto::ModelBounds {
        counted_by: counted_by.word().to_owned(),
        calls: number(record.calls),
        held_tokens: number(record.held),
        actual_tokens: number(record.actual),
        held_to_actual: ratio(record.held, record.actual),
        held_to_actual_least: ratio(1_000, record.worst_permille),
        failures: number(record.failures),
        last_failure_time: record.last_failure.map(to_the_second).unwrap_or_default(),
        coarse: *trust > Trust::Fine,
        suspended: *trust == Trust::Suspended,
    }
}

pub(super) fn fx_rate(it: &FxRate, tenant: TenantId, currency: Currency) -> proto::FxRate {
    let FxRate { id, usd_nanos_per_unit, fixing_date } = it;
    let rate = Amount::from_nanos(i64::try_from(*usd_nanos_per_unit).unwrap_or(i64::MAX));
    proto::FxRate {
        name: name::format(tenant, id),
        currency_code: currency.code().to_owned(),
        usd_per_unit: rate.to_string(),
        fixing_date: fixing_date.to_string(),
    }
}
