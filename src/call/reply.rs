//! The reply: always well-formed, the same from every door.

use super::{
    End, Request,
    ending::{Ending, Responsible, ending},
    extension::Question,
    hold::Attempt,
    meta::meta,
    past::{Bill, Why},
    settlement::Settled,
    warnings::warnings,
};
use crate::{
    domain::{
        answer::{Answer, Finish},
        envelope::Left,
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
    /// What was used, by all attempts together.
    pub usage: Usage,
    /// What it cost the user, all attempts together; none when nothing was held.
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
    /// A person is asked first; nothing was held.
    pub question: Option<Box<Question>>,
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
            question: None,
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
    let bill = settled.attempt.past.bill().plus(&Bill::of(&settled));
    let Settled { attempt, mut answer, failure, truth, limits, pending, now, .. } = settled;
    let ending = ending(&attempt, &answer, (Why::of(failure.as_ref()), &bill))?;
    let standing = &attempt.admitted.standing;
    let life = standing.envelope.life;
    let left = envelope::left(&life, &limits, now);
    let limit = match ending.limit {
        Responsible::None => None,
        Responsible::Clamp => attempt.clamped_by,
        Responsible::Seconds => Some(envelope::seconds(&standing.envelope, now)),
    };
    let meta =
        meta((ending.outcome, ending.cut, attempt.is_landing), (life.id, limit.as_ref()), &left);
    let stop_reason = stop_reason(&ending, &answer);
    let shown = attempt.way.shown(standing.grant.reveal_model).to_owned();
    let warnings = warnings(&attempt, &ending, (truth.certainty, pending), &bill);
    let request = &attempt.admitted.request;
    Ok(Reply {
        outcome: ending.outcome,
        cut: ending.cut,
        limit,
        result: Some(MessageResult {
            content: content(&request.sampling, &mut answer),
            model: shown,
            stop_reason,
            meta,
        }),
        usage: bill.usage,
        charge: Some(bill.into()),
        left: Some(left),
        envelope: Some(life.id),
        call: Some(request.call),
        warnings,
        refusal: None,
        is_landing: attempt.is_landing,
        question: None,
        route: Some(route(attempt)),
    })
}

/// Who answered, and why not somebody else.
fn route(attempt: Attempt) -> Routed {
    let Attempt { way, past, .. } = attempt;
    let reasons = past.reasons(way.model.id).chain(way.reasons).collect();
    Routed {
        alias: way.model.alias,
        model: way.model.vendor_model,
        backend: way.backend_name,
        reasons,
    }
}

impl From<Bill> for Charge {
    fn from(it: Bill) -> Self {
        Self {
            amount: it.charge(),
            overrun: Amount::from_nanos(it.money.overrun),
            estimated: it.is_estimated,
        }
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
