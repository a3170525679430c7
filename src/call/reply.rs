//! The reply: always well-formed, the same from every door.

use super::{
    End, Request,
    meta::meta,
    settlement::{HeldParts, Parts, Settled},
};
use crate::{
    backend,
    domain::{
        answer::{Answer, Finish},
        entry::Certainty,
        envelope::Left,
        fault::Fault,
        ids::{CallId, EnvelopeId},
        message::{Block, JsonText},
        money::Amount,
        outcome::{Cut, LimitStatus, Outcome, Refusal},
        request::SamplingRequest,
        usage::Usage,
    },
    envelope::{self, Standing},
};

/// What whoever asked gets.
#[derive(Debug, Clone)]
pub struct Reply {
    /// How it ended.
    pub outcome: Outcome,
    /// Why it ended early.
    pub cut: Option<Cut>,
    /// The limit that cut, clamped or exhausted it.
    pub limit: Option<LimitStatus>,
    /// The MCP result; none when refused.
    pub result: Option<MessageResult>,
    /// What was used.
    pub usage: Usage,
    /// What it cost the user; none when nothing was held.
    pub charge: Option<Charge>,
    /// What is left of the envelope.
    pub left: Option<Left>,
    /// The envelope.
    pub envelope: Option<EnvelopeId>,
    /// Who answered, for the host alone.
    pub route: Option<Routed>,
    /// What was ignored, changed or estimated, in words.
    pub warnings: Vec<String>,
    /// The call, as in the ledger.
    pub call: Option<CallId>,
    /// Why it was refused.
    pub refusal: Option<Refusal>,
    /// It was the envelope's last call, which was told to conclude.
    pub is_landing: bool,
}

/// A `CreateMessageResult` of MCP.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageResult {
    /// At least one block; exactly one of text where there were no tools.
    pub content: Vec<Block>,
    /// What the server may call the model.
    pub model: String,
    /// One of MCP's, or one of ours where none is true.
    pub stop_reason: &'static str,
    /// The result's `_meta`.
    pub meta: JsonText,
}

/// What a call cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// The user's.
    pub amount: Amount,
    /// Beyond every limit: the tenant's.
    pub overrun: Amount,
    /// Our bound rather than the provider's count.
    pub estimated: bool,
}

/// Who answered and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    /// What servers call the model.
    pub alias: String,
    /// What the backend calls it.
    pub model: String,
    /// The backend.
    pub backend: String,
    /// Why it was chosen.
    pub reasons: Vec<String>,
}

/// The model's name in a result that no model has made.
const NO_MODEL: &str = "bursar";

impl Reply {
    /// The reply to what is not allowed.
    pub(super) fn refused(refusal: Refusal) -> Self {
        Self {
            outcome: Outcome::Refused,
            cut: None,
            limit: None,
            result: None,
            usage: Usage::default(),
            charge: None,
            left: None,
            envelope: None,
            route: None,
            warnings: Vec::new(),
            call: None,
            refusal: Some(refusal),
            is_landing: false,
        }
    }

    /// The reply when no call could be made: an empty text with its reason.
    pub(super) fn exhausted(
        request: &Request,
        standing: &Standing,
        limit: LimitStatus,
        cut: Option<Cut>,
    ) -> Self {
        let life = &standing.envelope.life;
        let left = envelope::left(life, &standing.limits_as(&limit), standing.now);
        let cut = cut.or(Some(Cut::Budget));
        let meta = meta((Outcome::Exhausted, cut, false), (life.id, Some(&limit)), &left);
        Self {
            outcome: Outcome::Exhausted,
            cut,
            limit: Some(limit),
            result: Some(MessageResult {
                content: vec![Block::Text(String::new())],
                model: NO_MODEL.to_owned(),
                stop_reason: EXHAUSTED,
                meta,
            }),
            left: Some(left),
            envelope: Some(life.id),
            warnings: request.sampling.warnings.clone(),
            refusal: None,
            ..Self::refused(Refusal::NoGrant)
        }
    }
}

/// Our own stop reason where nothing was delivered.
const EXHAUSTED: &str = "budgetExhausted";

/// The reply of a call that was made; an error when its backend failed and nothing
/// was delivered.
pub(super) fn compose(settled: Settled) -> Result<Reply, End> {
    let Settled { answered, truth, money, limits, pending, now } = settled;
    let Parts { held, mut answer, failure } = answered;
    let ending = ending(&held, &answer, failure.as_ref())?;
    let life = held.standing.envelope.life;
    let estimated = pending || truth.certainty != Certainty::Exact;
    let left = envelope::left(&life, &limits, now);
    let limit = match ending.limit {
        Responsible::None => None,
        Responsible::Clamp => held.clamped_by,
        Responsible::Seconds => Some(envelope::seconds(&held.standing.envelope, now)),
    };
    let meta =
        meta((ending.outcome, ending.cut, held.is_landing), (life.id, limit.as_ref()), &left);
    let stop_reason = stop_reason(&ending, &answer);
    let alias = &held.way.model.alias;
    let reveal = held.standing.grant.reveal_model;
    let model = if reveal { held.way.model.vendor_model.clone() } else { alias.clone() };
    let warnings = warnings(&held, pending);
    Ok(Reply {
        outcome: ending.outcome,
        cut: ending.cut,
        limit,
        result: Some(MessageResult {
            content: content(&held.request.sampling, &mut answer),
            model,
            stop_reason,
            meta,
        }),
        usage: truth.usage,
        charge: Some(Charge {
            amount: Amount::from_nanos(money.charge),
            overrun: Amount::from_nanos(money.overrun),
            estimated,
        }),
        left: Some(left),
        envelope: Some(life.id),
        route: Some(Routed {
            alias: held.way.model.alias,
            model: held.way.model.vendor_model,
            backend: held.way.backend_name,
            reasons: held.way.reasons,
        }),
        warnings,
        call: Some(held.call),
        refusal: None,
        is_landing: held.is_landing,
    })
}

/// How a call ended, in a reply's words.
struct Ending {
    outcome: Outcome,
    cut: Option<Cut>,
    limit: Responsible,
}

/// The limit that answers for it.
enum Responsible {
    None,
    Clamp,
    Seconds,
}

fn ending(
    held: &HeldParts,
    answer: &Answer,
    failure: Option<&backend::Error>,
) -> Result<Ending, End> {
    let delivered = !answer.is_empty();
    let cut = answer.cut;
    let limit = match cut {
        Some(Cut::Budget) => Responsible::Clamp,
        Some(Cut::Deadline) if held.deadline.is_envelopes => Responsible::Seconds,
        _ if held.clamped_by.is_some() => Responsible::Clamp,
        _ => Responsible::None,
    };
    let outcome = match cut {
        None => Outcome::Complete,
        Some(_) if delivered => Outcome::Partial,
        // The model thought its share away: a short answer, of no text at all.
        Some(Cut::Budget) => Outcome::Partial,
        Some(Cut::Deadline) => Outcome::Exhausted,
        Some(Cut::Shutdown) => return Err(shutting_down().into()),
        Some(Cut::Backend | Cut::Idle) => return Err(backend_failed(held, failure).into()),
        Some(Cut::ClientGone | Cut::Cancelled) => return Err(nobody_listens().into()),
    };
    Ok(Ending { outcome, cut, limit })
}

fn shutting_down() -> Fault {
    Fault::Unavailable {
        reason: "SHUTTING_DOWN",
        problem: "this replica is shutting down; try another".to_owned(),
        retry_after: Some(std::time::Duration::from_secs(1)),
    }
}

/// For nobody's eyes, and no news for a log: callers leave.
fn nobody_listens() -> Fault {
    Fault::Unavailable {
        reason: "CALLER_GONE",
        problem: "the caller left before anything was delivered".to_owned(),
        retry_after: None,
    }
}

fn backend_failed(held: &HeldParts, failure: Option<&backend::Error>) -> Fault {
    let problem = failure
        .map_or_else(|| "the backend was silent for too long".to_owned(), ToString::to_string);
    tracing::warn!(
        call = %held.call, backend = held.way.backend_name, model = held.way.model.alias, problem,
        "a backend failed with nothing delivered"
    );
    Fault::Unavailable {
        reason: "BACKEND_FAILED",
        problem,
        retry_after: failure.and_then(|it| it.retry_after),
    }
}

/// A standard value wherever one is true.
fn stop_reason(ending: &Ending, answer: &Answer) -> &'static str {
    match (ending.outcome, ending.cut) {
        (Outcome::Exhausted, _) => EXHAUSTED,
        (_, Some(Cut::Budget)) => "maxTokens",
        (_, Some(Cut::Deadline)) => "deadline",
        (_, Some(Cut::ClientGone | Cut::Cancelled)) => "cancelled",
        (_, Some(Cut::Idle | Cut::Backend | Cut::Shutdown)) => "interrupted",
        (_, None) => match answer.finish {
            _ if !answer.tool_uses.is_empty() => "toolUse",
            Some(Finish::StopSequence) => "stopSequence",
            Some(Finish::MaxTokens) => "maxTokens",
            Some(Finish::Refusal) => "refusal",
            Some(Finish::EndTurn | Finish::ToolUse) | None => "endTurn",
        },
    }
}

/// Exactly one block of text where the request had no tools, or where its revision
/// knows no more.
fn content(request: &SamplingRequest, answer: &mut Answer) -> Vec<Block> {
    let text = std::mem::take(&mut answer.text);
    if request.params.wants_single_block() || !request.revision.has_tools() {
        return vec![Block::Text(text)];
    }
    let mut blocks = Vec::new();
    if !text.is_empty() || answer.tool_uses.is_empty() {
        blocks.push(Block::Text(text));
    }
    blocks.extend(answer.tool_uses.drain(..).map(Block::ToolUse));
    blocks
}

fn warnings(held: &HeldParts, pending: bool) -> Vec<String> {
    let mut warnings = held.request.sampling.warnings.clone();
    let wanted = held.request.sampling.params.max_tokens;
    if held.answer_tokens < wanted {
        let whose =
            if held.clamped_by.is_some() { "a limit affords" } else { "the model can give" };
        let granted = held.answer_tokens;
        warnings.push(format!("maxTokens was lowered from {wanted} to {granted}: no more {whose}"));
    }
    if held.is_landing {
        warnings
            .push("this was the envelope's last call: the model was told to conclude".to_owned());
    }
    if pending {
        warnings.push("the booking is delayed; until then the whole hold counts".to_owned());
    }
    warnings
}
