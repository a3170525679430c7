//! From soft wishes to an order of models. Pure, in whole numbers, and with ties broken
//! by name, so that every replica that knows the same chooses the same.

mod rank;

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    time::Duration,
};

use crate::{
    catalogue::{Listed, breaker::Open},
    domain::{
        estimate::{PromptBound, Unbounded},
        ids::PriceVersionId,
        model::Model,
        price::Prices,
        request::Params,
    },
};

/// What is asked of routing.
pub struct Question<'a> {
    /// The request.
    pub params: &'a Params,
    /// The grant's aliases; none: all of the tenant's.
    pub allowed: &'a [String],
    /// The bound of the prompt in a model's tokens.
    pub bounds: &'a dyn Fn(&Model) -> Result<PromptBound, Unbounded>,
    /// Why a model is left alone for now, if it is.
    pub health: &'a dyn Fn(&Model) -> Option<Open>,
}

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

/// Why a model may not take a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The grant does not name it.
    NotGranted,
    /// Its price is not known.
    NoPrice,
    /// It cannot call tools.
    NoTools,
    /// It takes no images.
    NoImages,
    /// It takes no audio.
    NoAudio,
    /// It counted more tokens than its safest bound, and no operator has looked at it yet.
    Suspended,
    /// The prompt is longer than its context.
    TooLong,
    /// It is left alone for so long, since it failed.
    Failing(Duration),
}

/// The models that may take a request.
#[derive(Debug, Clone)]
pub struct Choice<'a> {
    /// Most wanted first; at most as many as were asked for.
    pub candidates: Vec<Candidate<'a>>,
    /// The shortest time until one that only failed may be tried again, where none is
    /// left that may be tried now.
    pub again_in: Option<Duration>,
}

/// A model that fits a request, before it is known how well.
#[derive(Debug, Clone, Copy)]
struct Fit<'a> {
    listed: &'a Listed,
    version: PriceVersionId,
    prices: &'a Prices,
    prompt_tokens: u64,
    answer_tokens: u64,
    /// The most that the whole request can cost on it, in pico-USD.
    cost: i128,
}

/// The `most` models that suit a request best. Those for demonstrations come last unless
/// a hint names them: nobody with a real model wants to hear a scripted one.
pub fn choose<'a>(models: &'a [Listed], question: &Question<'_>, most: usize) -> Choice<'a> {
    let allowed: HashSet<&str> = question.allowed.iter().map(String::as_str).collect();
    let mut again_in: Option<Duration> = None;
    let mut real_ones_rest = false;
    let mut passed_over: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut fits = Vec::with_capacity(models.len());
    for listed in models {
        match fit(listed, question, &allowed) {
            Ok(it) => fits.push(it),
            Err(rejection) => {
                *passed_over.entry(rejection.word()).or_default() += 1;
                if let Rejection::Failing(time) = rejection {
                    again_in = Some(again_in.map_or(time, |it| it.min(time)));
                    real_ones_rest |= !listed.is_demonstration;
                }
            }
        }
    }
    if real_ones_rest {
        // A scripted answer never stands in for a real one.
        let hints = rank::hints(&question.params.preferences);
        fits.retain(|it| !it.listed.is_demonstration || rank::is_named(it, &hints));
    }
    let mut candidates = rank::best(&fits, &question.params.preferences, most);
    if let Some(first) = candidates.first_mut().filter(|_| !passed_over.is_empty()) {
        let counts: Vec<_> = passed_over.iter().map(|(why, n)| format!("{n} {why}")).collect();
        first.reasons.push(format!("passed over: {}", counts.join(", ")));
    }
    let again_in = again_in.filter(|_| candidates.is_empty());
    Choice { candidates, again_in }
}

/// The first `most` models that may not take a request, by their aliases, and why.
pub fn rejections<'a>(
    models: &'a [Listed],
    question: &Question<'_>,
    most: usize,
) -> Vec<(&'a str, Rejection)> {
    let allowed: HashSet<&str> = question.allowed.iter().map(String::as_str).collect();
    let rejected = models.iter().filter_map(|it| {
        let rejection = fit(it, question, &allowed).err()?;
        Some((it.model.alias.as_str(), rejection))
    });
    rejected.take(most).collect()
}

fn fit<'a>(
    listed: &'a Listed,
    question: &Question<'_>,
    allowed: &HashSet<&str>,
) -> Result<Fit<'a>, Rejection> {
    let Question { params, .. } = question;
    let model = &listed.model;
    if !allowed.is_empty() && !allowed.contains(model.alias.as_str()) {
        return Err(Rejection::NotGranted);
    }
    let (version, prices) = model.price.as_ref().ok_or(Rejection::NoPrice)?;
    if !params.tools.is_empty() && !model.tools {
        return Err(Rejection::NoTools);
    }
    let bound = (question.bounds)(model).map_err(|it| match it {
        Unbounded::Image => Rejection::NoImages,
        Unbounded::Audio => Rejection::NoAudio,
        Unbounded::Suspended => Rejection::Suspended,
    })?;
    if bound.least >= model.context_tokens {
        return Err(Rejection::TooLong);
    }
    if let Some(open) = (question.health)(model) {
        return Err(Rejection::Failing(open.again_in));
    }
    let answer_tokens = params.max_tokens.min(model.max_output_tokens).min(model.context_tokens);
    let cost = prices.ceiling(bound.most, answer_tokens);
    Ok(Fit { listed, version: *version, prices, prompt_tokens: bound.most, answer_tokens, cost })
}

impl Rejection {
    /// A word or two to count by.
    const fn word(self) -> &'static str {
        match self {
            Self::NotGranted => "not granted",
            Self::NoPrice => "without a price",
            Self::NoTools => "without tools",
            Self::NoImages => "without images",
            Self::NoAudio => "without audio",
            Self::Suspended => "suspended",
            Self::TooLong => "too short for the prompt",
            Self::Failing(_) => "failing",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted => f.write_str("the grant does not allow it"),
            Self::NoPrice => f.write_str("it has no price"),
            Self::NoTools => f.write_str("it cannot call tools"),
            Self::NoImages => f.write_str("it takes no images"),
            Self::NoAudio => f.write_str("it takes no audio"),
            Self::Suspended => {
                f.write_str("it is suspended: it counted more tokens than a prompt can have")
            }
            Self::TooLong => f.write_str("the prompt is longer than its context"),
            Self::Failing(time) => {
                write!(f, "it failed and is left alone for {} s", time.as_secs().max(1))
            }
        }
    }
}
