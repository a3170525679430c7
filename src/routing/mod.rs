//! From soft wishes to an order of models, the same on every replica. Pure.

mod rank;

use crate::domain::{
    estimate::{PromptBound, Unbounded},
    ids::PriceVersionId,
    model::Model,
    price::Prices,
    request::Params,
};

/// A model that may take the request.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// The model.
    pub model: &'a Model,
    /// Its price version.
    pub version: PriceVersionId,
    /// Its prices.
    pub prices: Prices,
    /// The bound of the prompt in its tokens.
    pub prompt_tokens: u64,
    /// What the answer may have: the request's maximum within the model's ceilings.
    pub answer_tokens: u64,
    /// Whether it is for demonstrations alone.
    pub is_demonstration: bool,
    /// Why it stands where it does.
    pub reasons: Vec<String>,
}

/// A model that may not, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Its alias.
    pub alias: String,
    /// Why, for operators and hosts.
    pub reason: &'static str,
}

/// The choice: candidates, most wanted first, and what was passed over.
#[derive(Debug, Clone)]
pub struct Choice<'a> {
    /// In the order in which they are to be tried.
    pub candidates: Vec<Candidate<'a>>,
    /// The others.
    pub rejected: Vec<Rejected>,
}

/// Sorts a tenant's models for a request. `allowed` are the grant's aliases; none: all.
/// `bound` says how many tokens the prompt counts on a model; it is asked once a model.
/// Models for which `is_demonstration` come last unless a hint names them: nobody
/// with a real model wants to hear a scripted one.
pub fn choose<'a>(
    models: &'a [Model],
    params: &Params,
    allowed: &[String],
    bound: impl Fn(&Model) -> Result<PromptBound, Unbounded>,
    is_demonstration: impl Fn(&Model) -> bool,
) -> Choice<'a> {
    let mut candidates = Vec::new();
    let mut rejected = Vec::new();
    for model in models {
        match candidate(model, params, allowed, &bound) {
            Ok(it) => {
                let is_demonstration = is_demonstration(model);
                candidates.push(Candidate { is_demonstration, ..it });
            }
            Err(reason) => rejected.push(Rejected { alias: model.alias.clone(), reason }),
        }
    }
    rank::sort(&mut candidates, &params.preferences);
    Choice { candidates, rejected }
}

fn candidate<'a>(
    model: &'a Model,
    params: &Params,
    allowed: &[String],
    bound: impl Fn(&Model) -> Result<PromptBound, Unbounded>,
) -> Result<Candidate<'a>, &'static str> {
    if !allowed.is_empty() && !allowed.contains(&model.alias) {
        return Err("the grant does not allow it");
    }
    let (version, prices) = model.price.ok_or("it has no price")?;
    if !params.tools.is_empty() && !model.tools {
        return Err("it cannot call tools");
    }
    let bound = bound(model).map_err(Unbounded::reason)?;
    if bound.least >= model.context_tokens {
        return Err("the prompt is longer than its context");
    }
    let answer_tokens = params.max_tokens.min(model.max_output_tokens).min(model.context_tokens);
    Ok(Candidate {
        model,
        version,
        prices,
        prompt_tokens: bound.most,
        answer_tokens,
        is_demonstration: false,
        reasons: Vec::new(),
    })
}
