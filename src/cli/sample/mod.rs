//! `bursar sample`: one request, as a host would send it.

pub mod ask;
mod follow;
pub mod report;

use std::{
    fs,
    io::{self, IsTerminal, Read},
    path::PathBuf,
    process::ExitCode,
};

use clap::Args;

use super::{
    allowance::Allowance,
    output::Output,
    stop::Stop,
    target::{Common, Resolved, Role},
};
use crate::{
    client::{Client, Error},
    proto::{
        ContentBlock, CreateMessageRequest, CreateMessageResponse, ModelHint, OpenEnvelopeRequest,
        Outcome, Role as Speaker, SamplingMessage, SamplingParams, TextContent,
        content_block::Block, mcp_json,
    },
};

const MAX_TOKENS_DEFAULT: i64 = 256;

const EXAMPLES: &str = "\
Examples:
  bursar sample \"Why is the sky blue?\"
  bursar sample --calls 3 --seconds 30 --money 0.05 \"Name three rivers\"
  bursar sample --file params.json --json
  git diff | bursar sample --system \"Summarise this diff\" -
  bursar sample \"And this?\" --answer accept --resume-token TOKEN

Exit status: 0 complete, partial or exhausted; 3 refused or a person is asked first; 2 an error.";

/// What is asked, of whom and in whose name.
#[derive(Debug, Clone, Default, Args)]
pub struct Question {
    /// What to ask; `-` reads it from standard input
    #[arg(required_unless_present = "file")]
    pub prompt: Option<String>,
    /// A whole MCP params object as JSON; PROMPT, if given, is added as the last message
    #[arg(long, value_name = "PARAMS.json")]
    pub file: Option<PathBuf>,
    /// On whose behalf, as the host knows the person
    #[arg(long, value_name = "ID")]
    pub user: Option<String>,
    /// In which MCP server's name, as the host knows it
    #[arg(long, value_name = "ID")]
    pub server: Option<String>,
    /// The most tokens to generate [default: 256, or the file's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub max_tokens: Option<i64>,
    /// A wish for a model, by part of its name; several in order of preference
    #[arg(long, value_name = "NAME")]
    pub model_hint: Vec<String>,
    /// The system prompt
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Share the envelope of this conversation
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// The project root in use, such as file:///home/me/project
    #[arg(long, value_name = "URI")]
    pub root: Option<String>,
    /// How much a low price matters, from 0 to 1
    #[arg(long, value_name = "0..1")]
    pub cost_priority: Option<f64>,
    /// How much speed matters, from 0 to 1
    #[arg(long, value_name = "0..1")]
    pub speed_priority: Option<f64>,
    /// How much ability matters, from 0 to 1
    #[arg(long, value_name = "0..1")]
    pub intelligence_priority: Option<f64>,
}

/// The arguments of `sample`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = EXAMPLES)]
pub struct Sample {
    /// What is asked.
    #[command(flatten)]
    pub question: Question,
    /// Use this envelope; without it, one of --calls, --seconds or --money opens one
    #[arg(long, value_name = "NAME", conflicts_with_all = ["calls", "seconds", "money", "tokens"])]
    pub envelope: Option<String>,
    /// The bounds of a new envelope.
    #[command(flatten)]
    pub allowance: Allowance,
    /// Makes a retry safe: the same id and request replays the reply
    #[arg(long, value_name = "ID")]
    pub request_id: Option<String>,
    /// When the envelope has run out and you may let it have more.
    #[command(flatten)]
    pub answering: ask::Answering,
    /// With --json: one line an event, the last being the reply
    #[arg(long)]
    pub stream: bool,
    /// Where to, and how to print.
    #[command(flatten)]
    pub common: Common,
}

pub(super) async fn run(args: Sample, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    let params = args.question.params()?;
    let (client, resolved) = args.common.target.clone().connect(Role::Host).await?;
    let mut request = args.question.request(params, &resolved)?;
    request.envelope = args.envelope.unwrap_or_default();
    request.request_id = args.request_id.clone().unwrap_or_default();
    if let Some(limits) = args.allowance.limits() {
        let opening = OpenEnvelopeRequest {
            user: request.user.clone(),
            server: request.server.clone(),
            limits: Some(limits),
            // A retry of the whole command finds the same envelope.
            request_id: args.request_id.map(|it| format!("{it}-open")).unwrap_or_default(),
            parent: String::new(),
        };
        request.envelope = open(&client, opening).await?;
    }
    args.answering.put(&mut request);
    let shown = (args.common.json, args.stream);
    let mut reply = once(&client, request.clone(), output, shown).await?;
    let has_person = !args.common.json && io::stdin().is_terminal() && io::stderr().is_terminal();
    while let Some(question) = reply.input_required.as_ref().filter(|_| has_person) {
        request.resume_token.clone_from(&question.resume_token);
        let said = ask::ask(question, &mut io::stdin().lock(), &mut io::stderr().lock())?;
        request.input_answer = Some(said);
        reply = once(&client, request.clone(), output, shown).await?;
    }
    if args.common.json {
        output.json(&report::json(&reply))?;
    } else {
        let report = report::text(&reply, output);
        output.write(&report)?;
    }
    Ok(exit_code(reply.outcome()))
}

async fn once(
    client: &Client,
    request: CreateMessageRequest,
    output: &mut Output<'_>,
    shown: (bool, bool),
) -> Result<CreateMessageResponse, Stop> {
    match shown {
        (true, false) => {
            let mut sampling = client.sampling();
            Ok(sampling.create_message(request).await.map_err(Error::from)?.into_inner())
        }
        (true, true) => follow::as_json(client, request, output).await,
        (false, _) => follow::as_text(client, request, output).await,
    }
}

async fn open(client: &Client, opening: OpenEnvelopeRequest) -> Result<String, Stop> {
    let opened = client.envelopes().open_envelope(opening).await.map_err(Error::from)?;
    Ok(opened.into_inner().name)
}

fn exit_code(outcome: Outcome) -> ExitCode {
    match outcome {
        Outcome::Complete | Outcome::Partial | Outcome::Exhausted => ExitCode::SUCCESS,
        Outcome::Refused | Outcome::InputRequired => ExitCode::from(3),
        Outcome::Unspecified => ExitCode::from(2),
    }
}

impl Question {
    /// The MCP params: the file's, with what the flags say in its place.
    pub fn params(&self) -> Result<SamplingParams, Stop> {
        let mut params = match &self.file {
            Some(path) => from_file(path)?,
            None => {
                SamplingParams { max_tokens: Some(MAX_TOKENS_DEFAULT), ..SamplingParams::default() }
            }
        };
        if let Some(prompt) = &self.prompt {
            let text = if prompt == "-" { from_input(io::stdin().lock())? } else { prompt.clone() };
            params.messages.push(from_user(text));
        }
        params.max_tokens = self.max_tokens.or(params.max_tokens);
        if let Some(system) = &self.system {
            params.system_prompt.clone_from(system);
        }
        if !self.model_hint.is_empty() {
            let hints = self.model_hint.iter().map(|it| ModelHint { name: it.clone() });
            params.model_preferences.get_or_insert_default().hints = hints.collect();
        }
        let priorities = [self.cost_priority, self.speed_priority, self.intelligence_priority];
        if priorities.iter().any(Option::is_some) {
            let [cost, speed, intelligence] = priorities;
            let wishes = params.model_preferences.get_or_insert_default();
            wishes.cost_priority = cost.or(wishes.cost_priority);
            wishes.speed_priority = speed.or(wishes.speed_priority);
            wishes.intelligence_priority = intelligence.or(wishes.intelligence_priority);
        }
        Ok(params)
    }

    /// The request, without an envelope or an id.
    pub(super) fn request(
        &self,
        params: SamplingParams,
        resolved: &Resolved,
    ) -> Result<CreateMessageRequest, Stop> {
        Ok(CreateMessageRequest {
            user: resolved.user(self.user.as_deref())?,
            server: resolved.server(self.server.as_deref())?,
            conversation: self.conversation.clone().unwrap_or_default(),
            root: self.root.clone().unwrap_or_default(),
            params: Some(params),
            ..CreateMessageRequest::default()
        })
    }
}

fn from_user(text: String) -> SamplingMessage {
    SamplingMessage {
        role: Speaker::User.into(),
        content: vec![ContentBlock { block: Some(Block::Text(TextContent { text })) }],
        meta_json: String::new(),
    }
}

fn from_file(path: &PathBuf) -> Result<SamplingParams, Stop> {
    let shown = path.display();
    let cannot = |cause: io::Error| Stop::new(format!("cannot read {shown}: {cause}"));
    let text = limited(fs::File::open(path).map_err(cannot)?).map_err(cannot)?;
    mcp_json::params_from_json(&text).map_err(|it| Stop::new(format!("{shown}: {it}")))
}

fn from_input(input: impl Read) -> Result<String, Stop> {
    limited(input).map_err(|cause| Stop::new(format!("cannot read standard input: {cause}")))
}

/// Reads text of at most the size that MCP params may have.
fn limited(from: impl Read) -> io::Result<String> {
    let max = u64::try_from(mcp_json::INPUT_BYTES_MAX).unwrap_or(u64::MAX);
    let mut text = String::new();
    from.take(max.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() > mcp_json::INPUT_BYTES_MAX {
        return Err(io::Error::other("it is larger than 32 MiB"));
    }
    Ok(text)
}
