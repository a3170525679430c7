//! Which models may take it, in which order, and what each may cost.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Broker, End, admission::Admitted, past::Past, prompt::landing_tokens_max};
use crate::{
    budget::offer::{Offer, Size},
    catalogue::{Snapshot, connections::Connection},
    domain::{
        estimate::Measured, fault::Fault, fx::FxQuote, hold::Terms, model::Model, outcome::Refusal,
    },
    routing::{self, Candidate, Question},
    tokens,
};

/// Models looked at for one call, the first choice among them.
const OFFERS_MAX: usize = 8;

/// What the ledger keeps of the reasons, in bytes.
const ROUTE_BYTES_MAX: usize = 1_000;

/// Models among which these are looked for: dearer ones than the first do not follow it.
const CANDIDATES_MAX: usize = 32;

/// A request with the models that may take it.
pub(super) struct Routed {
    pub(super) admitted: Admitted,
    /// Most wanted first; at least one.
    pub(super) ways: Vec<Way>,
    /// Those that are to be left alone for now.
    pub(super) resting: Vec<Way>,
    /// The attempts before.
    pub(super) past: Past,
}

/// One way to answer.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) model: Model,
    pub(super) backend_name: String,
    pub(super) connection: Connection,
    pub(super) offer: Offer,
    pub(super) prompt_tokens: u64,
    /// Whether that trusts more than bytes and declared maxima.
    pub(super) is_fine: bool,
    pub(super) reasons: Vec<String>,
    /// Whether it is for demonstrations alone.
    pub(super) is_demonstration: bool,
    /// When its backend may be asked again; none: now.
    pub(super) rests_until: Option<Instant>,
}

impl Way {
    /// What the server may call the model.
    pub(super) fn shown(&self, reveal_model: bool) -> &str {
        if reveal_model { &self.model.vendor_model } else { &self.model.alias }
    }
}

pub(super) async fn choose(broker: &Broker, admitted: Admitted) -> Result<Routed, End> {
    let caller = &admitted.request.caller;
    let catalogue = broker.catalogue.of(&broker.store, &broker.clock, caller.tenant).await?;
    let fx = catalogue.quote(caller.currency, &broker.clock).ok_or(Refusal::NoModel)?;
    let (admitted, measured) = measure(admitted, &catalogue).await?;
    let choice = asking(broker, (&admitted, &measured), |question| {
        routing::choose(&catalogue.models, question, CANDIDATES_MAX)
    });
    let has_landing = admitted.standing.envelope.allowance.landing.is_some();
    let mut ways: Vec<Way> = Vec::new();
    for candidate in choice.candidates {
        if ways.len() == OFFERS_MAX {
            break;
        }
        let is_fine = measured.bound(candidate.model).is_ok_and(|it| it.is_fine);
        let way = way(broker, &catalogue, candidate, (fx, has_landing));
        let way = way.map(|it| Way { is_fine, ..it });
        ways.extend(way.filter(|it| ways.first().is_none_or(|first| may_follow(first, it))));
    }
    if ways.is_empty() {
        let end = choice.again_in.map(|it| all_failing(it).into());
        return Err(end.unwrap_or_else(|| Refusal::NoModel.into()));
    }
    Ok(Routed { admitted, ways, resting: Vec::new(), past: Past::default() })
}

/// What is asked of routing for a request.
fn asking<T>(
    broker: &Broker,
    (admitted, measured): (&Admitted, &Measured),
    ask: impl FnOnce(&Question<'_>) -> T,
) -> T {
    ask(&Question {
        params: &admitted.request.sampling.params,
        allowed: &admitted.standing.grant.models,
        bounds: &|model| measured.bound(model),
        health: &|model| broker.health.is_open(&broker.clock, model.backend, model.id),
    })
}

/// At most `most` of the models that may not answer, by alias, and why.
pub(super) async fn rejected(
    broker: &Broker,
    admitted: Admitted,
    most: usize,
) -> Result<(Admitted, Vec<(String, String)>), Fault> {
    let tenant = admitted.request.caller.tenant;
    let catalogue = broker.catalogue.of(&broker.store, &broker.clock, tenant).await?;
    let (admitted, measured) = measure(admitted, &catalogue).await?;
    let rejected = asking(broker, (&admitted, &measured), |question| {
        routing::rejections(&catalogue.models, question, most)
    });
    let rejected = rejected.into_iter().map(|(alias, why)| (alias.to_owned(), why.to_string()));
    let rejected = rejected.collect();
    Ok((admitted, rejected))
}

/// After the first choice only those follow that are no dearer: neither less room nor a
/// failure may lead to a dearer one. A scripted answer never stands in for a real one,
/// nor does a real one, which costs, for a scripted one.
fn may_follow(first: &Way, next: &Way) -> bool {
    ceiling(&next.offer) <= ceiling(&first.offer) && next.is_demonstration == first.is_demonstration
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
    let Candidate {
        model,
        version,
        prices,
        prompt_tokens,
        answer_tokens,
        is_demonstration,
        reasons,
    } = candidate;
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
        answer_price: prices.dearest_answer_token(prompt_tokens),
        answer_tokens,
    };
    Some(Way {
        model: model.clone(),
        backend_name: backend.name.clone(),
        connection: broker.connections.to(backend)?,
        offer: Offer { terms, route: Some(in_words(&reasons)), size },
        prompt_tokens,
        is_fine: false,
        reasons,
        is_demonstration,
        rests_until: None,
    })
}

/// Measures the prompt once for all models; a long one where no other call waits for it.
async fn measure(admitted: Admitted, catalogue: &Snapshot) -> Result<(Admitted, Measured), Fault> {
    let vocabularies = catalogue.vocabularies.clone();
    let is_slow = tokens::is_slow(&admitted.request.sampling.params, &vocabularies);
    let work = move || {
        let measured = tokens::measure(&admitted.request.sampling.params, &vocabularies);
        (admitted, measured)
    };
    if !is_slow {
        return Ok(work());
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Fault::Internal)
}

/// Models there are, and each has failed a moment ago.
fn all_failing(again_in: Duration) -> Fault {
    Fault::Unavailable {
        reason: "BACKENDS_FAILING",
        problem: "every model that could take this request has failed a moment ago and is left \
                  alone for now; nothing was charged"
            .to_owned(),
        retry_after: Some(again_in),
    }
}

/// The reasons as the ledger keeps them.
fn in_words(reasons: &[String]) -> Arc<str> {
    let mut text = reasons.join("; ");
    let end = (0..=ROUTE_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    text.into()
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
