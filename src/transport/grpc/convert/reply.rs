//! Replies for the wire.

use super::{
    envelope::{cut, left_to_wire, limit_status, outcome, usage_to_wire},
    money, name,
};
use crate::{
    call::{
        Charge, MessageResult, Question, Reply, Routed,
        explain::{Candidate, Explained},
    },
    domain::{
        ids::TenantId,
        message::{Block, ToolUse},
        money::Currency,
        outcome::Refusal,
        period::to_the_second,
    },
    proto::{self, content_block},
};

/// A reply for the wire.
pub fn to_wire(it: Reply, tenant: TenantId, currency: Currency) -> proto::CreateMessageResponse {
    proto::CreateMessageResponse {
        result: it.result.map(result),
        outcome: outcome(it.outcome).into(),
        cut: cut(it.cut).into(),
        limit: it.limit.map(|it| limit_status(&it, tenant)),
        usage: Some(usage_to_wire(&it.usage)),
        charge: it.charge.map(|it| charge(&it, currency)),
        left: it.left.map(|it| left_to_wire(&it, currency)),
        envelope: it.envelope.map_or_else(String::new, |it| name::format(tenant, &it)),
        route: it.route.map(route),
        warnings: it.warnings,
        call: it.call.map_or_else(String::new, |it| it.to_string()),
        refusal: it.refusal.map(refusal),
        landing: it.is_landing,
        input_required: it.question.map(|it| question(*it)),
    }
}

fn question(it: Question) -> proto::InputRequired {
    let Question { message, elicitation, server, token, expires_at } = it;
    proto::InputRequired {
        reason: "ENVELOPE_EXTENSION".to_owned(),
        message,
        server,
        elicitation_json: elicitation.as_str().to_owned(),
        resume_token: token,
        expire_time: to_the_second(expires_at),
    }
}

/// An explanation for the wire.
pub fn explained(
    it: Explained,
    tenant: TenantId,
    currency: Currency,
) -> proto::ExplainRouteResponse {
    let rejection = |(alias, reason)| proto::RouteRejection { alias, reason };
    proto::ExplainRouteResponse {
        outcome: outcome(it.outcome).into(),
        candidates: it.candidates.into_iter().map(|it| candidate(it, currency)).collect(),
        rejected: it.rejected.into_iter().map(rejection).collect(),
        limit: it.limit.map(|it| limit_status(&it, tenant)),
        left: it.left.map(|it| left_to_wire(&it, currency)),
        landing: it.is_landing,
        refusal: it.refusal.map(refusal),
    }
}

fn candidate(it: Candidate, currency: Currency) -> proto::RouteCandidate {
    let tokens = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
    let Candidate { alias, model, backend, reasons, .. } = it;
    proto::RouteCandidate {
        alias,
        model,
        backend,
        reasons,
        prompt_tokens: tokens(it.prompt_tokens),
        max_tokens: tokens(it.answer_tokens),
        hold: Some(money::to_wire(it.hold, currency)),
        chosen: it.is_chosen,
    }
}

/// A refusal for the wire.
pub fn refusal(it: Refusal) -> proto::Refusal {
    proto::Refusal { reason: it.reason().to_owned(), message: it.message().to_owned() }
}

/// A charge for the wire.
pub fn charge(it: &Charge, currency: Currency) -> proto::Charge {
    let Charge { amount, overrun, estimated } = *it;
    proto::Charge {
        amount: Some(money::to_wire(amount, currency)),
        estimated,
        overrun: Some(money::to_wire(overrun, currency)),
    }
}

fn route(it: Routed) -> proto::Route {
    let Routed { alias, model, backend, reasons } = it;
    proto::Route { alias, model, backend, reasons }
}

fn result(it: MessageResult) -> proto::CreateMessageResult {
    let MessageResult { content, model, stop_reason, meta } = it;
    proto::CreateMessageResult {
        role: proto::Role::Assistant.into(),
        content: content.into_iter().filter_map(block).collect(),
        model,
        stop_reason: stop_reason.to_owned(),
        meta_json: meta.as_str().to_owned(),
    }
}

/// What an answer consists of: text and tool calls.
fn block(it: Block) -> Option<proto::ContentBlock> {
    let block = match it {
        Block::Text(text) => content_block::Block::Text(proto::TextContent { text }),
        Block::ToolUse(ToolUse { id, name, input }) => {
            content_block::Block::ToolUse(proto::ToolUseContent {
                id,
                name,
                input_json: input.as_str().to_owned(),
                meta_json: String::new(),
            })
        }
        Block::Image(_)
        | Block::Audio(_)
        | Block::ToolResult(_)
        | Block::ResourceLink(_)
        | Block::Resource(_) => return None,
    };
    Some(proto::ContentBlock { block: Some(block) })
}
