//! What would be chosen and held for a request, without spending anything.

use std::{mem, time::Duration};

use super::{Broker, End, Request, admission, extension, hold, route};
use crate::{
    budget::{
        decide::{self, Book, Denial},
        offer::{Offer, Room, Size},
    },
    domain::{
        envelope::Left,
        fault::Fault,
        halt::Target,
        hold::Parties,
        money::Amount,
        outcome::{LimitStatus, Outcome, Refusal},
    },
    envelope::{self, Made},
    store::stops,
};

/// Models that may not answer, described at most.
const REJECTED_MAX: usize = 100;

/// What would become of a request.
#[derive(Debug, Clone)]
pub struct Explained {
    /// Complete: it would be asked. Exhausted or refused: it would not. Input required: a
    /// person would be asked for more first.
    pub outcome: Outcome,
    /// Most wanted first.
    pub candidates: Vec<Candidate>,
    /// Aliases of models that may not answer, each with its reason.
    pub rejected: Vec<(String, String)>,
    /// The limit that clamps the answer or has no room.
    pub limit: Option<LimitStatus>,
    /// What is left of the envelope.
    pub left: Option<Left>,
    /// It would be the envelope's last call.
    pub is_landing: bool,
    /// Why it would be refused.
    pub refusal: Option<Refusal>,
}

/// A model that may answer.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// What servers call it.
    pub alias: String,
    /// What the backend calls it.
    pub model: String,
    /// The backend.
    pub backend: String,
    /// Why it stands where it does.
    pub reasons: Vec<String>,
    /// The bound of the prompt.
    pub prompt_tokens: u64,
    /// Tokens that might be generated.
    pub answer_tokens: u64,
    /// What would be held.
    pub hold: Amount,
    /// It would be asked first.
    pub is_chosen: bool,
}

/// Explains a request. Its envelope is opened in thought only, should it need one.
pub async fn explain(broker: &Broker, request: Request) -> Result<Explained, Fault> {
    match look(broker, request).await {
        Ok(it) => Ok(it),
        Err(End::Fault(it)) => Err(it),
        Err(End::Reply(it)) => Ok(Explained {
            outcome: it.outcome,
            candidates: Vec::new(),
            rejected: Vec::new(),
            limit: it.limit,
            left: it.left,
            is_landing: false,
            refusal: it.refusal,
        }),
    }
}

async fn look(broker: &Broker, request: Request) -> Result<Explained, End> {
    let admitted = admission::admit(broker, request, Made::Forgotten).await?;
    let (admitted, rejected) = route::rejected(broker, admitted, REJECTED_MAX).await?;
    let standing = admitted.standing.clone();
    let left = Some(envelope::left(&standing.envelope.life, &standing.limits, standing.now));
    let nobody = Explained {
        outcome: Outcome::Refused,
        candidates: Vec::new(),
        rejected,
        limit: None,
        left,
        is_landing: false,
        refusal: Some(Refusal::NoModel),
    };
    let mut routed = match route::choose(broker, admitted).await {
        Ok(it) => it,
        Err(End::Reply(it)) if it.refusal == Some(Refusal::NoModel) => return Ok(nobody),
        Err(it) => return Err(it),
    };
    let Parties { tenant, user, server, .. } = standing.parties;
    let target = Target { tenant, user, server };
    if !stops::among(&broker.store, &[target]).await.map_err(Fault::from)?.is_empty() {
        return Ok(Explained { refusal: Some(Refusal::Stopped), ..nobody });
    }
    let may_ask = mem::take(&mut routed.admitted.may_ask) && broker.vault.is_some();
    let ask = hold::order(&routed, Duration::ZERO).ask;
    let mut book: Book = standing.limits.iter().map(|it| (it.key, it.clone())).collect();
    let mut candidates: Vec<Candidate> = routed.ways.iter().map(candidate).collect();
    let (outcome, limit, is_landing) = match decide::hold(&mut book, &ask, Some(standing.now)) {
        Ok(grant) => {
            if let Some(it) = candidates.get_mut(grant.offer) {
                it.is_chosen = true;
                (it.answer_tokens, it.hold) = (grant.answer_tokens, grant.need.money);
            }
            (Outcome::Complete, grant.clamped_by, grant.is_landing)
        }
        Err(Denial::Short(it)) => (Outcome::Exhausted, Some(it), false),
        Err(Denial::Closed(_)) => {
            let over = envelope::seconds(&standing.envelope, standing.now);
            (Outcome::Exhausted, Some(over), false)
        }
        Err(Denial::Late | Denial::Unknown) => return Err(Fault::Internal.into()),
    };
    let is_over = is_landing || outcome == Outcome::Exhausted;
    if may_ask && is_over && extension::offer(&mut routed).is_some() {
        for it in &mut candidates {
            it.is_chosen = false;
        }
        return Ok(Explained {
            outcome: Outcome::InputRequired,
            candidates,
            limit,
            refusal: None,
            ..nobody
        });
    }
    Ok(Explained { outcome, candidates, limit, is_landing, refusal: None, ..nobody })
}

fn candidate(way: &route::Way) -> Candidate {
    Candidate {
        alias: way.model.alias.clone(),
        model: way.model.vendor_model.clone(),
        backend: way.backend_name.clone(),
        reasons: way.reasons.clone(),
        prompt_tokens: way.prompt_tokens,
        answer_tokens: match way.offer.size {
            Size::Clampable { answer_tokens, .. } => answer_tokens,
            Size::Fixed { .. } => 0,
        },
        hold: whole(&way.offer),
        is_chosen: false,
    }
}

/// What all of an offer would hold; what does not fit an amount is shown as the most
/// that one can be.
fn whole(offer: &Offer) -> Amount {
    let fit = offer.fit(Room { money: None, tokens: None });
    fit.map_or(Amount::from_nanos(i64::MAX), |it| it.money)
}
