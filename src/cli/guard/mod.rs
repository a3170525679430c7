//! `bursar guard`: what stands between a server and what it may do.

mod probe;

use std::{env, process::ExitCode};

use clap::{Args, Subcommand};

use self::probe::{Probe, Seen, Verdict};
use super::{
    output::{Output, Tone},
    record::Record,
    stop::Stop,
};

/// The exit status where something is executed that the headers did not say.
const EXIT_DECORATIVE: u8 = 1;

/// The exit status where nothing could be found out.
const EXIT_UNKNOWN: u8 = 3;

const COLUMNS: &[&str] = &["trap", "header", "body", "status", "code", "verdict"];

/// The arguments of `guard`.
#[derive(Debug, Clone, Args)]
pub struct Guard {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be found out about guards.
#[derive(Debug, Clone, Subcommand)]
pub enum Action {
    /// Say whether an MCP endpoint of yours executes what its headers did not say
    Probe(ProbeArgs),
}

/// The arguments of `probe`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
A gateway that allows by Mcp-Method and Mcp-Name sees headers; the server behind it executes
the body. Unless the server compares the two, the allow-list is decoration: whoever says one
thing in the header and another in the body gets past it. This sends such requests. The body
asks for a tool that does not exist, so nothing is called whatever the server does.

Examples:
  bursar guard probe https://mcp.example.com/mcp
  bursar guard probe http://127.0.0.1:3000/mcp --allowed search --bearer-env MCP_TOKEN

Exit status: 0 when every disagreement was refused; 1 when one was executed; 3 when nothing
could be found out; 2 an error.")]
pub struct ProbeArgs {
    /// The endpoint's address
    #[arg(value_name = "URL")]
    url: String,
    /// A tool that the gateway lets through
    #[arg(long, value_name = "NAME", default_value = "search")]
    allowed: String,
    /// The environment variable with the bearer token to send
    #[arg(long, value_name = "VARIABLE")]
    bearer_env: Option<String>,
    /// Print JSON in place of what is for people
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Guard, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    let Action::Probe(args) = args.action;
    let token = args.bearer_env.as_deref().map(|name| {
        let missing = || Stop::new(format!("the environment variable {name} is not set"));
        env::var(name).map_err(|_| missing())
    });
    let probe = Probe::new(&args.url, &args.allowed, token.transpose()?)?;
    let seen = probe.spring().await?;
    let verdict = Verdict::of_all(&seen);
    let traps: Vec<Record> = seen.iter().map(record).collect();
    if args.json {
        let whole = Record::new()
            .with("url", args.url)
            .with("verdict", verdict.word().to_owned())
            .with("traps", traps);
        output.json(&whole)?;
    } else {
        output.records("traps", traps, (false, COLUMNS))?;
        let (tone, words) = match verdict {
            Verdict::Checked => (Tone::Good, "every disagreement was refused"),
            Verdict::Executed => (
                Tone::Bad,
                "the allow-list is decorative: a body was executed that its headers did not say",
            ),
            Verdict::Unknown => (
                Tone::Warn,
                "nothing could be found out: the endpoint executes not even what agrees",
            ),
        };
        let line = output.toned(tone, words);
        output.write(&format!("\n{line}\n"))?;
    }
    Ok(match verdict {
        Verdict::Checked => ExitCode::SUCCESS,
        Verdict::Executed => ExitCode::from(EXIT_DECORATIVE),
        Verdict::Unknown => ExitCode::from(EXIT_UNKNOWN),
    })
}

fn record(it: &Seen) -> Record {
    Record::new()
        .with("trap", it.trap.to_owned())
        .with("header", it.header.clone())
        .with("body", it.body.clone())
        .with("status", i32::from(it.status))
        .with("code", it.code)
        .with("verdict", it.verdict.word().to_owned())
}
