//! Which models may take it, in which order, and what each may cost.

use std::sync::Arc;

use super::{Broker, End, admission::Admitted, prompt::landing_tokens_max};
use crate::{
    budget::offer::{Offer, Size},
    catalogue::{Snapshot, connections::Connection},
    domain::{
        estimate::prompt_bound,
        fx::FxQuote,
        hold::Terms,
        model::{BackendKind, Model},
        outcome::Refusal,
    },
    routing::{self, Candidate},
};

/// Models looked at for one call, the first choice among them.
const OFFERS_MAX: usize = 8;

/// A request with the models that may take it.
pub(super) struct Routed {
    pub(super) admitted: Admitted,
    /// Most wanted first; at least one.
    pub(super) ways: Vec<Way>,
}

/// One way to answer.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) model: Model,
    pub(super) backend_name: String,
    pub(super) connection: Connection,
    pub(super) offer: Offer,
    pub(super) prompt_tokens: u64,
    pub(super) reasons: Vec<String>,
}

pub(super) async fn choose(broker: &Broker, admitted: Admitted) -> Result<Routed, End> {
    let caller = &admitted.request.caller;
    let catalogue = broker.catalogue.of(&broker.store, &broker.clock, caller.tenant).await?;
    let fx = catalogue.quote(caller.currency, &broker.clock).ok_or(Refusal::NoModel)?;
    let allowed = &admitted.standing.grant.models;
    let scripted = |it: &Model| {
        let backend = catalogue.backend(it.backend);
        backend.is_some_and(|it| it.kind == BackendKind::Scripted)
    };
    let params = &admitted.request.sampling.params;
    let bound = |it: &Model| prompt_bound(params, it);
    let choice = routing::choose(&catalogue.models, params, allowed, bound, scripted);
    let has_landing = admitted.standing.envelope.allowance.landing.is_some();
    let mut ways: Vec<Way> = Vec::new();
    for candidate in choice.candidates {
        if ways.len() == OFFERS_MAX {
            break;
        }
        ways.extend(way(broker, &catalogue, candidate, (fx, has_landing)));
    }
    // After the first choice only cheaper models follow: less room must never lead
    // to a dearer one.
    if let Some(first) = ways.first().map(|it| ceiling(&it.offer)) {
        let mut at = 0;
        ways.retain(|it| {
            at += 1;
            at == 1 || ceiling(&it.offer) < first
        });
        return Ok(Routed { admitted, ways });
    }
    tracing::debug!(rejected = ?choice.rejected, "no model can take the request");
    Err(Refusal::NoModel.into())
}

fn way(
    broker: &Broker,
    catalogue: &Arc<Snapshot>,
    candidate: Candidate<'_>,
    (fx, has_landing): (FxQuote, bool),
) -> Option<Way> {
    // The landing's note is part of the prompt, should this call be the landing.
    let note = if has_landing { landing_tokens_max() } else { 0 };
    let candidate =
        Candidate { prompt_tokens: candidate.prompt_tokens.saturating_add(note), ..candidate };
    let Candidate { model, version, prices, prompt_tokens, answer_tokens, reasons, .. } = candidate;
    let backend = catalogue.backend(model.backend)?;
    let terms = Terms {
        model: Some(model.id),
        backend: Some(backend.id),
        price_version: Some(version),
        prices: Some(prices),
        fx,
    };
    let size = Size::Clampable {
        prompt_tokens,
        prompt_pico_usd: prices.prompt_ceiling(prompt_tokens),
        answer_price: prices.dearest_answer_token(),
        answer_tokens,
    };
    Some(Way {
        model: model.clone(),
        backend_name: backend.name.clone(),
        connection: broker.connections.to(backend)?,
        offer: Offer { terms, size },
        prompt_tokens,
        reasons,
    })
}

/// The most that an offer can cost, in pico-USD.
fn ceiling(offer: &Offer) -> i128 {
    match offer.size {
        Size::Clampable { prompt_pico_usd, answer_price, answer_tokens, .. } => {
            let answer = i128::from(answer_price.pico_usd()) * i128::from(answer_tokens);
            prompt_pico_usd.saturating_add(answer)
        }
        Size::Fixed { .. } => i128::MAX,
    }
}
