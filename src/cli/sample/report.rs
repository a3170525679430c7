//! What a reply says, as JSON and for a person. Pure: tested on fixed replies.

use super::super::{
    output::{Output, Tone, plain},
    record::{Record, Value},
    words,
};
use crate::proto::{
    Charge, ContentBlock, CreateMessageResponse, Cut, EnvelopeLeft, InputRequired, LimitKind,
    LimitStatus, Outcome, Route, ToolUseContent, Usage, content_block::Block,
};

/// The reply as one JSON object: all keys always there, null where there is none.
pub fn json(reply: &CreateMessageResponse) -> Record {
    let result = reply.result.as_ref();
    Record::new()
        .with("text", text_of(reply))
        .with("outcome", words::word(reply.outcome().as_str_name(), "OUTCOME_"))
        .with("stop_reason", result.map(|it| Value::text_or_null(&it.stop_reason)))
        .with("cut", words::word(reply.cut().as_str_name(), "CUT_"))
        .with("limit", reply.limit.as_ref().map(words::limit))
        .with("usage", reply.usage.as_ref().map(words::usage))
        .with("charge", reply.charge.as_ref().map(charge))
        .with("left", reply.left.as_ref().map(words::left))
        .with("envelope", Value::text_or_null(&reply.envelope))
        .with("route", reply.route.as_ref().map(route))
        .with("warnings", reply.warnings.clone())
        .with("tool_uses", tool_uses(reply).map(tool_use).collect::<Vec<_>>())
        .with(
            "refusal",
            reply.refusal.as_ref().map(|it| {
                Record::new().with("reason", it.reason.clone()).with("message", it.message.clone())
            }),
        )
        .with("call", Value::text_or_null(&reply.call))
        .with("question", reply.input_required.as_ref().map(question))
        .with("resume_token", reply.input_required.as_ref().map(|it| it.resume_token.clone()))
}

/// The text of all text blocks; none where there is no result.
pub fn text_of(reply: &CreateMessageResponse) -> Option<String> {
    let text = |it: &ContentBlock| match &it.block {
        Some(Block::Text(it)) => Some(it.text.clone()),
        _ => None,
    };
    reply.result.as_ref().map(|it| it.content.iter().filter_map(text).collect())
}

/// What a person reads after the text: how it ended, by whom, what it cost, what is left.
pub fn text(reply: &CreateMessageResponse, output: &Output<'_>) -> String {
    let currency = currency(reply);
    let tools = tool_uses(reply).map(|it| format!("{} {}", it.name, it.input_json));
    let mut lines = vec![("outcome", outcome(reply, currency))];
    lines.extend(tools.map(|it| ("tool", it)));
    lines.extend(reply.route.as_ref().map(|it| ("route", route_words(it))));
    // Without a charge no call was made.
    let usage = reply.usage.as_ref().filter(|_| reply.charge.is_some());
    lines.extend(usage.map(|it| ("tokens", usage_words(it))));
    lines.extend(reply.charge.as_ref().map(|it| ("charge", charge_words(it))));
    lines.extend(reply.left.as_ref().map(|it| ("left", left_words(it))));
    let envelope = Some(&reply.envelope).filter(|it| !it.is_empty());
    lines.extend(envelope.map(|it| ("envelope", it.clone())));
    lines.extend(reply.input_required.as_ref().map(|it| ("answer", answer_words(it))));
    lines.extend(reply.warnings.iter().map(|it| ("warning", it.clone())));
    let line = |(label, words): (&str, String)| {
        let words = plain(&words);
        let words = match label {
            "outcome" => output.toned(tone(reply.outcome()), &words),
            "warning" => output.toned(Tone::Warn, &words),
            _ => words,
        };
        let label = output.toned(Tone::Faint, &format!("{label:8}"));
        format!("{label}  {words}\n")
    };
    lines.into_iter().map(line).collect::<Vec<_>>().concat()
}

/// How a question is answered by the same command.
fn answer_words(it: &InputRequired) -> String {
    let InputRequired { resume_token, expire_time, .. } = it;
    format!(
        "until {expire_time}, the same request in this envelope with --answer accept or \
         --answer decline, and --resume-token {resume_token}"
    )
}

fn question(it: &InputRequired) -> Record {
    Record::new()
        .with("reason", it.reason.clone())
        .with("message", it.message.clone())
        .with("server", it.server.clone())
        .with("elicitation", Value::Json(it.elicitation_json.clone()))
        .with("expire_time", Value::text_or_null(&it.expire_time))
}

fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Complete => Tone::Good,
        Outcome::Partial | Outcome::Exhausted | Outcome::InputRequired => Tone::Warn,
        Outcome::Refused | Outcome::Unspecified => Tone::Bad,
    }
}

fn outcome(reply: &CreateMessageResponse, currency: &str) -> String {
    let limit = reply.limit.as_ref();
    let stop = reply.result.as_ref().map_or("", |it| it.stop_reason.as_str());
    match reply.outcome() {
        Outcome::Complete => match stop {
            "maxTokens" => "complete: at the request's own maximum of tokens".to_owned(),
            "stopSequence" => "complete: at a stop sequence".to_owned(),
            "toolUse" => "complete: the model asks for tools".to_owned(),
            _ => "complete".to_owned(),
        },
        Outcome::Partial => {
            let at = limit.map(|it| limit_words(it, currency));
            format!("partial: {}", cut_words(reply.cut(), at.as_deref()))
        }
        Outcome::Exhausted => match limit {
            Some(it) => format!("exhausted: nothing fits {}", limit_words(it, currency)),
            None => "exhausted: no call could be made".to_owned(),
        },
        Outcome::Refused => reply.refusal.as_ref().map_or_else(
            || "refused".to_owned(),
            |it| format!("refused: {} ({})", it.message, it.reason),
        ),
        Outcome::InputRequired => reply.input_required.as_ref().map_or_else(
            || "input required: a person is asked first".to_owned(),
            |it| format!("input required: {}", it.message),
        ),
        Outcome::Unspecified => "unknown: the service is newer than this command".to_owned(),
    }
}

fn cut_words(cut: Cut, limit: Option<&str>) -> String {
    let cause = match cut {
        Cut::Budget => return format!("cut at {}", limit.unwrap_or("a limit")),
        Cut::Deadline => "cut at the deadline",
        Cut::Idle => "cut because the model fell silent",
        Cut::Backend => "cut because the backend broke off",
        Cut::ClientGone => "cut because whoever asked went away",
        Cut::Cancelled => "cut because it was cancelled",
        Cut::Shutdown => "cut because the service is shutting down",
        Cut::Unspecified => "cut",
    };
    limit.map_or_else(|| cause.to_owned(), |it| format!("{cause}, by {it}"))
}

/// Such as `the envelope's money limit (held 0.00, settled 0.48, limit 0.50 EUR)`.
fn limit_words(it: &LimitStatus, currency: &str) -> String {
    let owner = match &it.name {
        name if name.contains("budgets/") && it.share => "the server's share of a budget's ",
        name if name.contains("envelopes/") => "the envelope's ",
        name if name.contains("budgets/") => "a budget's ",
        _ => "the ",
    };
    let (kind, unit) = match it.kind() {
        LimitKind::Calls => ("calls", ""),
        LimitKind::Money => ("money", currency),
        LimitKind::Tokens => ("token", ""),
        LimitKind::ConcurrentCalls => ("concurrent calls", ""),
        LimitKind::Seconds => ("time", "s"),
        LimitKind::Unspecified => ("own", ""),
    };
    let shown = words::limit(it);
    let amount = |name: &str| shown.get(name).to_plain();
    let overrun = Some(amount("overrun")).filter(|it| it.contains(|c| ('1'..='9').contains(&c)));
    let overrun = overrun.map(|it| format!("overrun {it}, ")).unwrap_or_default();
    let bound = format!("{} {unit}", amount("limit"));
    let resets = Some(&it.resets_at).filter(|it| !it.is_empty());
    let resets = resets.map(|it| format!(", resets at {it}")).unwrap_or_default();
    format!(
        "{owner}{kind} limit (held {}, settled {}, {overrun}limit {}{resets})",
        amount("held"),
        amount("settled"),
        bound.trim_end(),
    )
}

fn currency(reply: &CreateMessageResponse) -> &str {
    let charged = reply.charge.as_ref().and_then(|it| it.amount.as_ref());
    let left = reply.left.as_ref().and_then(|it| it.money.as_ref());
    charged.or(left).map_or("", |it| &it.currency_code)
}

fn charge(it: &Charge) -> Record {
    Record::new()
        .with("amount", it.amount.as_ref().map(words::decimal))
        .with("currency", it.amount.as_ref().map(|it| it.currency_code.clone()))
        .with("estimated", it.estimated)
        .with("overrun", it.overrun.as_ref().map(words::decimal))
}

fn charge_words(it: &Charge) -> String {
    let about = if it.estimated { "~" } else { "" };
    let amount = it.amount.as_ref().map_or_else(|| "0.00".to_owned(), words::with_currency);
    let overrun = it.overrun.as_ref().filter(|it| it.units != 0 || it.nanos != 0);
    let overrun = overrun.map(|it| {
        format!(" (and {} beyond the limits, borne by the tenant)", words::with_currency(it))
    });
    format!("{about}{amount}{}", overrun.unwrap_or_default())
}

fn usage_words(it: &Usage) -> String {
    let classes = [
        (it.cache_read, "read from cache"),
        (it.cache_write, "written to cache"),
        (it.reasoning, "reasoning"),
    ];
    let further = classes.iter().filter(|(count, _)| *count != 0);
    let further = further.map(|(count, what)| format!(", {count} {what}")).collect::<Vec<_>>();
    format!("{} in, {} out{}", it.input, it.output, further.concat())
}

fn left_words(it: &EnvelopeLeft) -> String {
    let calls = if it.calls == 1 { "call" } else { "calls" };
    let money = it.money.as_ref().map(|it| format!(", {}", words::with_currency(it)));
    let tokens = it.tokens.map(|it| format!(", {it} tokens"));
    let (money, tokens) = (money.unwrap_or_default(), tokens.unwrap_or_default());
    format!("{} {calls}, {} s{money}{tokens}", it.calls, it.seconds)
}

fn route(it: &Route) -> Record {
    Record::new()
        .with("alias", Value::text_or_null(&it.alias))
        .with("model", Value::text_or_null(&it.model))
        .with("backend", Value::text_or_null(&it.backend))
        .with("reasons", it.reasons.clone())
}

fn route_words(it: &Route) -> String {
    let why =
        if it.reasons.is_empty() { String::new() } else { format!(" ({})", it.reasons.join("; ")) };
    format!("{} via {}/{}{why}", it.alias, it.backend, it.model)
}

fn tool_uses(reply: &CreateMessageResponse) -> impl Iterator<Item = &ToolUseContent> {
    reply.result.iter().flat_map(|it| &it.content).filter_map(|it| match &it.block {
        Some(Block::ToolUse(it)) => Some(it),
        _ => None,
    })
}

fn tool_use(it: &ToolUseContent) -> Record {
    Record::new()
        .with("id", it.id.clone())
        .with("name", it.name.clone())
        .with("input", Value::Json(it.input_json.clone()))
}
