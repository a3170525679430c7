//! Envelope tokens, as `EnvelopeService` has them.

use tonic::Status;

use super::{
    convert::{self, name},
    pages,
    state::Services,
};
use crate::{
    domain::{
        fault::Fault,
        ids::{EnvelopeId, TenantId, TokenId},
        period::to_the_second,
        token::{TOKEN_MODELS_MAX, TOKEN_SECONDS, TOKEN_SECONDS_MAX, Token},
    },
    envelope::{
        Viewer,
        token::{self, Wish},
    },
    identity::HostCaller,
    proto,
};

/// Calls at once that may be asked for.
const AT_ONCE_MAX: i64 = 1_000_000;

pub(super) async fn mint(
    services: &Services,
    host: &HostCaller,
    body: proto::MintTokenRequest,
) -> Result<proto::Token, Status> {
    let envelope = name::parse::<EnvelopeId>("envelope", &body.envelope)?;
    let wish = Wish {
        envelope: envelope.of(host.tenant, "envelope")?,
        seconds: seconds(body.seconds)?,
        models: models(body.models)?,
        concurrent_calls: body.concurrent_calls.map(at_once).transpose()?,
    };
    let (token, key) = token::mint(&services.store, &services.clock, host, wish).await?;
    Ok(proto::Token { key: key.key().reveal().to_owned(), ..to_wire(token) })
}

pub(super) async fn list(
    services: &Services,
    viewer: Viewer,
    body: proto::ListTokensRequest,
) -> Result<proto::ListTokensResponse, Status> {
    let page = convert::page::page(body.page_size, &body.page_token)?;
    let envelope = match body.envelope.as_str() {
        "" => None,
        it => Some(name::parse::<EnvelopeId>("envelope", it)?),
    };
    if envelope.is_some_and(|it| it.tenant.is_some_and(|it| it != viewer.tenant)) {
        // Another tenant's has no tokens here.
        return Ok(proto::ListTokensResponse::default());
    }
    let envelope = envelope.map(|it| it.id);
    let found = token::list(&services.store, viewer, envelope, pages::slice(page)).await?;
    let (found, next_page_token) = pages::cut(found, page, |it| it.id.uuid());
    Ok(proto::ListTokensResponse {
        tokens: found.into_iter().map(to_wire).collect(),
        next_page_token,
    })
}

pub(super) async fn refresh(
    services: &Services,
    host: &HostCaller,
    body: &proto::RefreshTokenRequest,
) -> Result<proto::Token, Status> {
    let id = token_id(&body.name, host.tenant)?;
    let seconds = seconds(body.seconds)?;
    Ok(to_wire(token::refresh(&services.store, host, (id, seconds)).await?))
}

pub(super) async fn revoke(
    services: &Services,
    viewer: Viewer,
    body: &proto::RevokeTokenRequest,
) -> Result<proto::Token, Status> {
    let id = token_id(&body.name, viewer.tenant)?;
    Ok(to_wire(token::revoke(&services.store, viewer, id).await?))
}

fn token_id(text: &str, tenant: TenantId) -> Result<TokenId, Fault> {
    name::parse::<TokenId>("name", text)?.of(tenant, "token")
}

fn seconds(wanted: i64) -> Result<i64, Fault> {
    match wanted {
        0 => Ok(TOKEN_SECONDS),
        1..=TOKEN_SECONDS_MAX => Ok(wanted),
        _ => {
            let problem =
                format!("must be from 1 to {TOKEN_SECONDS_MAX}, or 0 for {TOKEN_SECONDS}");
            Err(Fault::invalid("seconds", problem))
        }
    }
}

fn models(wanted: Vec<String>) -> Result<Vec<String>, Fault> {
    if wanted.len() > TOKEN_MODELS_MAX {
        let problem = format!("must have at most {TOKEN_MODELS_MAX} items");
        return Err(Fault::invalid("models", problem));
    }
    for (index, it) in wanted.iter().enumerate() {
        convert::id(&format!("models[{index}]"), it)?;
    }
    Ok(wanted)
}

fn at_once(wanted: i64) -> Result<i64, Fault> {
    let problem = || format!("must be from 1 to {AT_ONCE_MAX}");
    let fine = Some(wanted).filter(|it| (1..=AT_ONCE_MAX).contains(it));
    fine.ok_or_else(|| Fault::invalid("concurrent_calls", problem()))
}

fn to_wire(it: Token) -> proto::Token {
    proto::Token {
        name: name::format(it.tenant, &it.id),
        key: String::new(),
        envelope: name::format(it.tenant, &it.envelope),
        user: it.user,
        server: it.server,
        models: it.models,
        created_at: to_the_second(it.created_at),
        expires_at: to_the_second(it.expires_at),
        revoked_at: it.revoked_at.map_or_else(String::new, to_the_second),
    }
}
