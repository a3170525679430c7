//! The demonstration: a small tenant with a user, a server, two scripted models and
//! consent, so that the first call takes no preparation.

use std::time::Duration;

use jiff::{SignedDuration, civil::Date};
use uuid::Uuid;

use super::{
    Desk,
    access::fresh,
    catalogue::{Priced, model},
};
use crate::{
    domain::{
        credential::{Credential, Role},
        draft::{self, Tariff},
        envelope::Allowance,
        fault::Fault,
        grant::{CALL_SECONDS, Grant},
        ids::{BackendId, ModelId, PriceVersionId, ServerId, TenantId, UserId},
        model::{Backend, BackendKind, Profile},
        money::{Amount, Currency},
        price::{Price, Prices},
        tenant::Tenant,
        vocabulary::Tokenizer,
    },
    identity::{Key, ensure_host, issue},
    store::{
        self, Tx,
        catalogue::{self as rows, FxRate},
        grants,
        identity::{self, Directory},
    },
};

/// The tenant's id is always the same, so that a second start finds it.
const TENANT: Uuid = Uuid::from_u128(0x6275_7273_6172_8000_8000_0064_656d_6f00);

/// Names that the documentation uses.
pub const HOST: &str = "demo-host";
/// See [`HOST`].
pub const USER: &str = "demo-user";
/// See [`HOST`].
pub const SERVER: &str = "demo-server";

/// The shipped rate: 1.10 USD for a euro, as of a day that does not move.
const USD_NANOS_PER_EURO: u64 = 1_100_000_000;
const FIXING_DATE: Date = jiff::civil::date(2026, 11, 2);

/// How long a demo key is accepted. Each start makes new ones, and those of earlier
/// starts stay valid until then, so that a terminal that remembers one goes on.
const KEY_DAYS: i64 = 90;

/// An OpenAI-compatible server to be offered too.
#[derive(Debug, Clone)]
pub struct Extra {
    /// Up to and including `/v1`, as `transport::grpc::convert::admin::backend` reads it.
    pub base_url: String,
    /// What the server calls its model, which is its alias too.
    pub model: String,
    /// What it costs.
    pub prices: Prices,
    /// Whether `OPENAI_API_KEY` is set, so that it is sent.
    pub has_key: bool,
}

/// What a person needs to try the demonstration.
#[derive(Debug)]
pub struct Demo {
    /// The tenant.
    pub tenant: TenantId,
    /// A fresh key of [`HOST`].
    pub host_key: Key,
    /// A fresh operator key.
    pub operator_key: Key,
    /// A fresh finance key.
    pub finance_key: Key,
}

/// Makes what is missing of the demonstration, and fresh keys. What is there stays
/// as it is, operators' changes included.
pub async fn seed(desk: Desk<'_>, extra: Option<&Extra>) -> Result<Demo, Fault> {
    let tenant = TenantId::from(TENANT);
    let mut tx = desk.store.report_tx(tenant).await?;
    ensure_tenant(&mut tx, desk, tenant).await?;
    let scripted = backend(desk, "scripted", BackendKind::Scripted);
    let scripted = ensure_backend(&mut tx, tenant, &scripted).await?;
    for draft in [small()?, large()?] {
        ensure_model(&mut tx, desk, (tenant, scripted), &draft).await?;
    }
    if let Some(extra) = extra {
        offer(&mut tx, desk, tenant, extra).await?;
    }
    ensure_grant(&mut tx, desk, tenant).await?;
    let demo = keys(&mut tx, desk, tenant).await?;
    store::commit(tx).await?;
    desk.catalogue.forget(tenant);
    Ok(demo)
}

async fn ensure_tenant(tx: &mut Tx, desk: Desk<'_>, id: TenantId) -> Result<(), Fault> {
    if identity::tenant(tx, id).await?.is_none() {
        let currency: Currency = "EUR".parse().map_err(|_| Fault::Internal)?;
        let tenant = Tenant { id, display_name: "Demo".to_owned(), currency };
        identity::add_tenant(tx, &tenant).await?;
    }
    if rows::fx_rate(tx, id).await?.is_none() {
        let rate = FxRate {
            id: desk.clock.id(),
            usd_nanos_per_unit: USD_NANOS_PER_EURO,
            fixing_date: FIXING_DATE,
        };
        rows::add_fx_rate(tx, id, &rate).await?;
    }
    Ok(())
}

fn backend(desk: Desk<'_>, name: &str, kind: BackendKind) -> Backend {
    Backend {
        id: desk.clock.id(),
        name: name.to_owned(),
        kind,
        base_url: String::new(),
        key_env: String::new(),
        profile: Profile::default(),
    }
}

async fn ensure_backend(
    tx: &mut Tx,
    tenant: TenantId,
    wanted: &Backend,
) -> Result<BackendId, Fault> {
    if let Some(id) = rows::backend_by_name(tx, tenant, &wanted.name).await? {
        return Ok(id);
    }
    rows::add_backend(tx, tenant, wanted).await?;
    Ok(wanted.id)
}

async fn ensure_model(
    tx: &mut Tx,
    desk: Desk<'_>,
    (tenant, backend): (TenantId, BackendId),
    draft: &draft::Model,
) -> Result<ModelId, Fault> {
    let known = rows::models_by_alias(tx, tenant, std::slice::from_ref(&draft.alias)).await?;
    if let Some((_, id)) = known.first() {
        return Ok(*id);
    }
    let Tariff::Own(prices) = draft.tariff else { return Err(Fault::Internal) };
    let version: PriceVersionId = desk.clock.id();
    let made = model(desk, draft, backend, &Priced { version, prices, book: None });
    rows::add_model(tx, tenant, &made).await?;
    store::prices::add_price(tx, tenant, (made.id, version), &prices).await?;
    Ok(made.id)
}

/// Offers the person's own server. Prices that differ from the last start's become
/// a new version; another address than then is where the server has moved.
async fn offer(tx: &mut Tx, desk: Desk<'_>, tenant: TenantId, extra: &Extra) -> Result<(), Fault> {
    let key_env = if extra.has_key { "OPENAI_API_KEY" } else { "" };
    let wanted = Backend {
        base_url: extra.base_url.trim_end_matches('/').to_owned(),
        key_env: key_env.to_owned(),
        ..backend(desk, "local", BackendKind::OpenAi)
    };
    let id = ensure_backend(tx, tenant, &wanted).await?;
    let found = rows::backend_by_id(tx, tenant, id).await?.ok_or(Fault::Internal)?;
    if found.base_url != wanted.base_url || found.key_env != wanted.key_env {
        rows::move_backend(tx, tenant, id, (&wanted.base_url, &wanted.key_env)).await?;
    }
    let scores = (50, 50);
    let draft = draft(&extra.model, extra.prices, scores, &wanted.name);
    let model = ensure_model(tx, desk, (tenant, id), &draft).await?;
    let offered = rows::model_by_id(tx, tenant, model.uuid()).await?.ok_or(Fault::Internal)?;
    if offered.price.is_none_or(|(_, it)| it != extra.prices) {
        store::prices::add_price(tx, tenant, (model, desk.clock.id()), &extra.prices).await?;
    }
    Ok(())
}

fn small() -> Result<draft::Model, Fault> {
    Ok(draft("scripted-small", prices("0.15", "0.60")?, (40, 90), "scripted"))
}

fn large() -> Result<draft::Model, Fault> {
    Ok(draft("scripted-large", prices("3", "15")?, (80, 50), "scripted"))
}

/// Prices of prompt and answer alone, in USD per million tokens.
fn prices(input: &str, output: &str) -> Result<Prices, Fault> {
    let price = |it: &str| it.parse::<Price>().map_err(|_| Fault::Internal);
    Ok(Prices::of(price(input)?, price(output)?))
}

fn draft(
    alias: &str,
    prices: Prices,
    (intelligence, speed): (u8, u8),
    backend: &str,
) -> draft::Model {
    draft::Model {
        alias: alias.to_owned(),
        backend: backend.to_owned(),
        vendor_model: alias.to_owned(),
        context_tokens: 128_000,
        max_output_tokens: 8_192,
        tools: true,
        image_tokens_max: 1_500,
        audio_tokens_max: 0,
        tokenizer: Tokenizer::Auto,
        intelligence,
        speed,
        tariff: Tariff::Own(prices),
    }
}

/// Consent for every model of the tenant, so that the person's own server is in it.
async fn ensure_grant(tx: &mut Tx, desk: Desk<'_>, tenant: TenantId) -> Result<(), Fault> {
    let (user, server) =
        (ensure_user(tx, desk, tenant).await?, ensure_server(tx, desk, tenant).await?);
    if grants::in_force(tx, tenant, (USER, SERVER)).await?.is_some() {
        return Ok(());
    }
    let allowance = |calls, seconds, cents: i64| Allowance {
        calls,
        seconds,
        money: Amount::from_nanos(cents * 10_000_000),
        tokens: None,
        concurrent_calls: None,
        landing: None,
    };
    let grant = Grant {
        id: desk.clock.id(),
        user,
        server,
        models: Vec::new(),
        default_envelope: allowance(20, 120, 50),
        max_envelope: allowance(1_000, 86_400, 100_000),
        tools: true,
        background: false,
        reveal_model: false,
        call_time: Duration::from_secs(CALL_SECONDS),
        extension: None,
    };
    Ok(grants::add(tx, tenant, &grant).await?)
}

async fn ensure_user(tx: &mut Tx, desk: Desk<'_>, tenant: TenantId) -> Result<UserId, Fault> {
    if let Some(id) = identity::user(tx, tenant, USER).await? {
        return Ok(id);
    }
    let id: UserId = desk.clock.id();
    identity::add_external(tx, Directory::Users, tenant, (id.uuid(), USER)).await?;
    Ok(id)
}

async fn ensure_server(tx: &mut Tx, desk: Desk<'_>, tenant: TenantId) -> Result<ServerId, Fault> {
    if let Some(id) = identity::server(tx, tenant, SERVER).await? {
        return Ok(id);
    }
    let id: ServerId = desk.clock.id();
    identity::add_external(tx, Directory::Servers, tenant, (id.uuid(), SERVER)).await?;
    Ok(id)
}

async fn keys(tx: &mut Tx, desk: Desk<'_>, tenant: TenantId) -> Result<Demo, Fault> {
    let end = desk.clock.now().checked_add(SignedDuration::from_hours(KEY_DAYS * 24));
    let end = end.map_err(|_| Fault::Internal)?;
    let key = |role| Credential { expires_at: Some(end), ..fresh(desk.clock, role, "demo") };
    let host = ensure_host(tx, tenant, (desk.clock.id(), HOST)).await?;
    let host = Credential { host: Some((host, HOST.to_owned())), ..key(Role::Host) };
    Ok(Demo {
        tenant,
        host_key: issue(tx, tenant, &host).await?,
        operator_key: issue(tx, tenant, &key(Role::Operator)).await?,
        finance_key: issue(tx, tenant, &key(Role::Finance)).await?,
    })
}
