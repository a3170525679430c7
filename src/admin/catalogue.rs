//! Backends, models, prices and exchange rates. Prices and rates are versions: a
//! call keeps those it began with.

use std::collections::HashMap;

use super::{
    Desk, Slice,
    audit::{Trail, made},
    exists,
};
use crate::{
    domain::{
        audit::Subject,
        book::{Key, STANDARD},
        draft::{self, Tariff},
        fault::Fault,
        fx::AHEAD_DAYS_MAX,
        ids::{BackendId, ModelId, PriceVersionId, TenantId},
        model::{Backend, Bounding, Model},
        period::days_since,
        price::Prices,
    },
    identity::OperatorCaller,
    store::{
        self, Tx, bounds,
        catalogue::{self as rows, FxRate},
        listings, prices,
    },
};

/// A model with the name of its backend.
#[derive(Debug, Clone)]
pub struct Offered {
    /// The model.
    pub model: Model,
    /// The operator's name of its backend.
    pub backend: String,
}

/// Makes a backend known.
pub async fn create_backend(
    desk: Desk<'_>,
    right: &OperatorCaller,
    wanted: draft::Backend,
) -> Result<Backend, Fault> {
    let tenant = right.tenant.id;
    let draft::Backend { name, kind, base_url, key_env, profile } = wanted;
    let backend = Backend { id: desk.clock.id(), name, kind, base_url, key_env, profile };
    let mut tx = desk.store.report_tx(tenant).await?;
    rows::add_backend(&mut tx, tenant, &backend).await.map_err(exists("a backend of this name"))?;
    made(&mut tx, desk, right, ("CreateBackend", Subject::Backend(backend.id))).await?;
    store::commit(tx).await?;
    desk.catalogue.forget(tenant);
    Ok(backend)
}

/// The backends.
pub async fn backends(
    desk: Desk<'_>,
    right: &OperatorCaller,
    slice: Slice,
) -> Result<Vec<Backend>, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = rows::backends(&mut tx, tenant, slice).await?;
    store::commit(tx).await?;
    Ok(found)
}

/// Offers a model, at a price.
pub async fn create_model(
    desk: Desk<'_>,
    right: &OperatorCaller,
    wanted: draft::Model,
) -> Result<Offered, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let backend = rows::backend_by_name(&mut tx, tenant, &wanted.backend).await?;
    let problem = "there is no backend of this name; create it first";
    let backend = backend.ok_or_else(|| Fault::invalid("model.backend", problem))?;
    let served = (backend, wanted.vendor_model.as_str());
    let price = match &wanted.tariff {
        Tariff::Own(prices) => Priced { version: desk.clock.id(), prices: *prices, book: None },
        Tariff::Listed(it) => listed(&mut tx, tenant, served, ("model", it)).await?,
    };
    let model = model(desk, &wanted, backend, &price);
    rows::add_model(&mut tx, tenant, &model).await.map_err(exists("a model of this alias"))?;
    set(&mut tx, tenant, model.id, &price).await?;
    made(&mut tx, desk, right, ("CreateModel", Subject::Model(model.id))).await?;
    store::commit(tx).await?;
    desk.catalogue.forget(tenant);
    Ok(Offered { model, backend: wanted.backend })
}

/// Prices of a model, and where they come from.
pub(super) struct Priced {
    /// Their version.
    pub(super) version: PriceVersionId,
    /// They.
    pub(super) prices: Prices,
    /// The row of the book; none: they are the model's own.
    pub(super) book: Option<Key>,
}

/// What the book lists for a model that a backend serves. What it does not list is no
/// price: the field's fault.
async fn listed(
    tx: &mut Tx,
    tenant: TenantId,
    (backend, vendor_model): (BackendId, &str),
    (field, wanted): (&str, &draft::Listed),
) -> Result<Priced, Fault> {
    let backend = rows::backend_by_id(tx, tenant, backend).await?.ok_or(Fault::Internal)?;
    let by_address = || crate::prices::provider_at(&backend.base_url).map(ToOwned::to_owned);
    let field =
        |part: &str| if field.is_empty() { part.to_owned() } else { format!("{field}.{part}") };
    let unknown = || {
        let problem = "is required: the backend's address does not say whose price list holds; \
                       name price_source.provider, or say the price; free is said as \"0\"";
        Fault::invalid(field("price"), problem)
    };
    let key = Key {
        provider: wanted.provider.clone().or_else(by_address).ok_or_else(unknown)?,
        model: wanted.model.clone().unwrap_or_else(|| vendor_model.to_owned()),
        service_tier: wanted.service_tier.clone().unwrap_or_else(|| STANDARD.to_owned()),
    };
    let found = listings::in_effect(tx, tenant, &key).await?;
    let not_listed = || {
        let problem =
            format!("the price book does not list {key}; say price or another price_source");
        Fault::invalid(field("price_source"), problem)
    };
    let found = found.ok_or_else(not_listed)?;
    Ok(Priced { version: found.version, prices: found.listing.prices, book: Some(key) })
}

/// Lets a model be priced so from now on.
async fn set(tx: &mut Tx, tenant: TenantId, id: ModelId, price: &Priced) -> Result<(), Fault> {
    match &price.book {
        None => prices::add_price(tx, tenant, (id, price.version), &price.prices).await?,
        Some(key) => listings::follow(tx, tenant, (id, key)).await?,
    }
    Ok(())
}

/// A model of a draft.
pub(super) fn model(
    desk: Desk<'_>,
    draft: &draft::Model,
    backend: BackendId,
    price: &Priced,
) -> Model {
    Model {
        id: desk.clock.id(),
        alias: draft.alias.clone(),
        backend,
        vendor_model: draft.vendor_model.clone(),
        context_tokens: draft.context_tokens,
        max_output_tokens: draft.max_output_tokens,
        tools: draft.tools,
        image_tokens_max: draft.image_tokens_max,
        audio_tokens_max: draft.audio_tokens_max,
        intelligence: draft.intelligence,
        speed: draft.speed,
        price: Some((price.version, price.prices)),
        book: price.book.clone(),
        bound: Bounding::new(draft.tokenizer, &draft.vendor_model),
    }
}

/// The models, with the prices in effect.
pub async fn models(
    desk: Desk<'_>,
    right: &OperatorCaller,
    slice: Slice,
) -> Result<Vec<Offered>, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = rows::models(&mut tx, tenant, slice).await?;
    let ids: Vec<BackendId> = found.iter().map(|it| it.backend).collect();
    let names: HashMap<BackendId, String> = rows::backend_names(&mut tx, tenant, &ids).await?;
    store::commit(tx).await?;
    let with_name = |model: Model| Offered {
        backend: names.get(&model.backend).cloned().unwrap_or_default(),
        model,
    };
    Ok(found.into_iter().map(with_name).collect())
}

/// Gives a model prices of its own or of the book, from the next call on.
pub async fn set_price(
    desk: Desk<'_>,
    right: &OperatorCaller,
    (alias, tariff): (String, Tariff),
) -> Result<Offered, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = rows::models_by_alias(&mut tx, tenant, &[alias]).await?.pop();
    let (_, id) = found.ok_or(Fault::NotFound { what: "model" })?;
    let price = match &tariff {
        Tariff::Own(prices) => Priced { version: desk.clock.id(), prices: *prices, book: None },
        Tariff::Listed(it) => {
            let known = rows::model_by_id(&mut tx, tenant, id.uuid()).await?;
            let known = known.ok_or(Fault::Internal)?;
            let served = (known.backend, known.vendor_model.as_str());
            listed(&mut tx, tenant, served, ("", it)).await?
        }
    };
    let trail = Trail::of(&mut tx, right, "SetPrice", Subject::Model(id)).await?;
    set(&mut tx, tenant, id, &price).await?;
    trail.end(&mut tx, desk).await?;
    let changed = offered(&mut tx, right, id.uuid()).await?;
    store::commit(tx).await?;
    desk.catalogue.forget(tenant);
    Ok(changed)
}

/// Takes a model into use again whose bound has failed; `fine`: relies on its vocabulary
/// and its maker's formulas again.
pub async fn resume_model(
    desk: Desk<'_>,
    right: &OperatorCaller,
    (alias, fine): (String, bool),
) -> Result<Offered, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = rows::models_by_alias(&mut tx, tenant, &[alias]).await?.pop();
    let (_, id) = found.ok_or(Fault::NotFound { what: "model" })?;
    let trail = Trail::of(&mut tx, right, "ResumeModel", Subject::Model(id)).await?;
    bounds::resume(&mut tx, tenant, (id, fine)).await?;
    trail.end(&mut tx, desk).await?;
    let changed = offered(&mut tx, right, id.uuid()).await?;
    store::commit(tx).await?;
    desk.catalogue.forget(tenant);
    Ok(changed)
}

async fn offered(tx: &mut Tx, right: &OperatorCaller, id: uuid::Uuid) -> Result<Offered, Fault> {
    let tenant = right.tenant.id;
    let model = rows::model_by_id(tx, tenant, id).await?.ok_or(Fault::Internal)?;
    let mut names = rows::backend_names(tx, tenant, &[model.backend]).await?;
    Ok(Offered { backend: names.remove(&model.backend).unwrap_or_default(), model })
}

/// Sets what the tenant's currency buys, from the next call on. A fixing that lies
/// ahead is refused: its age is what adds a buffer.
pub async fn set_fx_rate(
    desk: Desk<'_>,
    right: &OperatorCaller,
    wanted: draft::FxRate,
) -> Result<FxRate, Fault> {
    let tenant = right.tenant.id;
    let draft::FxRate { currency: _, usd_nanos_per_unit, fixing_date } = wanted;
    if days_since(fixing_date, desk.clock.now()) < -AHEAD_DAYS_MAX {
        return Err(Fault::invalid("fx_rate.fixing_date", "must not lie in the future"));
    }
    let rate = FxRate { id: desk.clock.id(), usd_nanos_per_unit, fixing_date };
    let mut tx = desk.store.report_tx(tenant).await?;
    rows::add_fx_rate(&mut tx, tenant, &rate).await?;
    made(&mut tx, desk, right, ("SetFxRate", Subject::FxRate(rate.id))).await?;
    store::commit(tx).await?;
    desk.catalogue.forget(tenant);
    Ok(rate)
}
