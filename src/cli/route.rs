//! `bursar route`: which model would answer, and why.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{
    output::Output,
    record::Record,
    sample::Question,
    stop::Stop,
    target::{Common, Role},
    words,
};
use crate::{
    client::Error,
    proto::{ExplainRouteRequest, ExplainRouteResponse, LimitStatus, Outcome, RouteCandidate},
};

/// The arguments of `route`.
#[derive(Debug, Clone, Args)]
pub struct Route {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done about routes.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Say what would be chosen and held for a request, without spending anything
    Explain(Box<Explain>),
}

/// The arguments of `explain`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  bursar route explain \"Why is the sky blue?\"
  bursar route explain --model-hint sonnet --intelligence-priority 0.9 \"Prove it\"
  bursar route explain --file params.json --json

Exit status: 0 when it would be asked; 3 when it would be refused; 2 an error.")]
pub struct Explain {
    /// What is asked.
    #[command(flatten)]
    pub question: Question,
    /// The envelope that it would count against; without it, the default one
    #[arg(long, value_name = "NAME")]
    pub envelope: Option<String>,
    /// Where to, and how to print.
    #[command(flatten)]
    pub common: Common,
}

pub(super) async fn run(args: Route, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    let Action::Explain(args) = args.action;
    let params = args.question.params()?;
    let (client, resolved) = args.common.target.clone().connect(Role::Host).await?;
    let mut request = args.question.request(params, &resolved)?;
    request.envelope = args.envelope.unwrap_or_default();
    let request = ExplainRouteRequest { request: Some(request) };
    let told = client.sampling().explain_route(request).await.map_err(Error::from)?.into_inner();
    if args.common.json {
        output.record(&record(&told), true)?;
    } else {
        output.write(&text(&told))?;
    }
    let refused = told.outcome() == Outcome::Refused;
    Ok(if refused { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

fn record(it: &ExplainRouteResponse) -> Record {
    let rejected = it
        .rejected
        .iter()
        .map(|it| Record::new().with("alias", it.alias.clone()).with("reason", it.reason.clone()));
    Record::new()
        .with("outcome", words::word(it.outcome().as_str_name(), "OUTCOME_"))
        .with("candidates", it.candidates.iter().map(candidate).collect::<Vec<_>>())
        .with("rejected", rejected.collect::<Vec<_>>())
        .with("limit", it.limit.as_ref().map(words::limit))
        .with("left", it.left.as_ref().map(words::left))
        .with("landing", it.landing)
        .with("refusal", it.refusal.as_ref().map(|it| it.reason.clone()))
}

fn candidate(it: &RouteCandidate) -> Record {
    let money = it.hold.as_ref();
    Record::new()
        .with("alias", it.alias.clone())
        .with("model", it.model.clone())
        .with("backend", it.backend.clone())
        .with("reasons", it.reasons.clone())
        .with("prompt_tokens", it.prompt_tokens)
        .with("max_tokens", it.max_tokens)
        .with("hold", money.map(words::decimal))
        .with("currency", money.map(|it| it.currency_code.clone()))
        .with("chosen", it.chosen)
}

/// One line a model, the chosen one marked, and why the others may not.
fn text(it: &ExplainRouteResponse) -> String {
    let mut lines = Vec::new();
    for (at, it) in it.candidates.iter().enumerate() {
        let mark = if it.chosen { '>' } else { ' ' };
        let hold = it.hold.as_ref().map(words::with_currency).unwrap_or_default();
        lines.push(format!(
            "{mark} {}. {} via {}/{}: holds {hold} for {} tokens in and {} out",
            at + 1,
            it.alias,
            it.backend,
            it.model,
            it.prompt_tokens,
            it.max_tokens
        ));
        lines.push(format!("     {}", it.reasons.join("; ")));
    }
    for it in &it.rejected {
        lines.push(format!("  -  {}: {}", it.alias, it.reason));
    }
    lines.push(match (it.outcome(), &it.limit, &it.refusal) {
        (Outcome::Refused, _, Some(why)) => format!("refused: {} ({})", why.message, why.reason),
        (Outcome::Refused, _, None) => "refused".to_owned(),
        (Outcome::Exhausted, limit, _) => {
            format!("exhausted: nothing fits {}", named(limit.as_ref()))
        }
        (_, Some(limit), _) => format!("the answer is clamped by {}", named(Some(limit))),
        (_, None, _) if it.landing => "it is the envelope's last call".to_owned(),
        (_, None, _) => "it fits".to_owned(),
    });
    lines.push(String::new());
    lines.join("\n")
}

fn named(limit: Option<&LimitStatus>) -> String {
    limit.map_or_else(
        || "the limits".to_owned(),
        |it| {
            let kind = words::word(it.kind().as_str_name(), "LIMIT_KIND_").to_plain();
            format!(
                "the limit {kind} of {} (held {}, settled {}, limit {})",
                it.name, it.held, it.settled, it.limit
            )
        },
    )
}
