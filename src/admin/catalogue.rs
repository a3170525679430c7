//! Backends, models, prices and exchange rates. Prices and rates are versions: a
//! call keeps those it began with.

use std::collections::HashMap;

use super::{Desk, Slice, exists};
use crate::{
    domain::{
        draft,
        fault::Fault,
        fx::AHEAD_DAYS_MAX,
        ids::{BackendId, PriceVersionId},
        model::{Backend, Bounding, Model},
        period::days_since,
        price::Prices,
    },
    identity::OperatorCaller,
    store::{
        self, Tx, bounds,
        catalogue::{self as rows, FxRate},
        prices,
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
    let version: PriceVersionId = desk.clock.id();
    let model = model(desk, &wanted, backend, (version, wanted.prices));
    rows::add_model(&mut tx, tenant, &model).await.map_err(exists("a model of this alias"))?;
    prices::add_price(&mut tx, tenant, (model.id, version), &wanted.prices).await?;
    store::commit(tx).await?;
    desk.catalogue.forget(tenant);
    Ok(Offered { model, backend: wanted.backend })
}

/// A model of a draft.
pub(super) fn model(
    desk: Desk<'_>,
    draft: &draft::Model,
    backend: BackendId,
    price: (PriceVersionId, Prices),
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
        price: Some(price),
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

/// Gives a model a price, from the next call on.
pub async fn set_price(
    desk: Desk<'_>,
    right: &OperatorCaller,
    (alias, prices): (String, Prices),
) -> Result<Offered, Fault> {
    let tenant = right.tenant.id;
    let mut tx = desk.store.report_tx(tenant).await?;
    let found = rows::models_by_alias(&mut tx, tenant, &[alias]).await?.pop();
    let (_, id) = found.ok_or(Fault::NotFound { what: "model" })?;
    prices::add_price(&mut tx, tenant, (id, desk.clock.id()), &prices).await?;
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
    bounds::resume(&mut tx, tenant, (id, fine)).await?;
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
    store::commit(tx).await?;
    desk.catalogue.forget(tenant);
    Ok(rate)
}
