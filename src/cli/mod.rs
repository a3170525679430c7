//! The command line. One file a command; each takes its parsed arguments and an
//! [`output::Output`] and returns the exit status.
//!
//! To add a command: a file with an `Args` type and `run`, a variant of
//! [`Command`], an arm of `dispatch`.

pub mod admin;
pub mod allowance;
mod describe;
pub mod dev;
pub mod envelope;
pub mod guard;
pub mod ledger;
mod logs;
pub mod output;
pub mod prices;
pub mod record;
pub mod route;
pub mod sample;
pub mod serve;
pub mod stop;
pub mod target;
pub mod token;
pub mod words;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

use self::{output::Output, stop::Stop};

/// The exit status of every error, wrong usage included.
const EXIT_ERROR: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  bursar sample \"Why is the sky blue?\"
  bursar envelope open --calls 5 --seconds 60 --money 0.10
  bursar ledger query --limit 10
  bursar admin budget create --display-name \"All of us\" --period month --money 250

Without --endpoint and --key (or BURSAR_ENDPOINT and BURSAR_KEY) commands talk to the
`bursar dev` that runs on this machine.";

/// Bounded inference: lend a model out for N calls, T seconds and X euros
#[derive(Debug, Parser)]
#[command(name = "bursar", version, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a private Postgres, a demonstration tenant and the service
    Dev(dev::Dev),
    /// Run the service against a Postgres of your own
    Serve(serve::Serve),
    /// Bring a database's schema up to date
    Migrate(serve::Migrate),
    /// Say what is wrong with a set-up
    Doctor(serve::Doctor),
    /// Sample once, inside an envelope
    Sample(Box<sample::Sample>),
    /// Open, look at and close envelopes
    Envelope(envelope::Envelope),
    /// Say which model would answer, and why
    Route(route::Route),
    /// Say whether what stands in front of a server can be fooled
    Guard(guard::Guard),
    /// Query the cost ledger and verify it
    Ledger(ledger::Ledger),
    /// Import, approve and look at price lists
    Prices(prices::Prices),
    /// Set up tenants, users, servers, grants, budgets, backends and prices
    Admin(Box<admin::Admin>),
}

/// Reads the process's arguments, does what they say, and reports an error on
/// standard error in one line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(it) => it,
        Err(usage) => {
            // Clap's own text: help on standard output, errors on standard error.
            let _closed = usage.print();
            return if usage.use_stderr() { ExitCode::from(EXIT_ERROR) } else { ExitCode::SUCCESS };
        }
    };
    // Not locked for the whole of it: a service logs from other threads.
    let mut out = io::stdout();
    let mut output = Output::new(&mut out, output::wants_colour());
    let ended = tokio::runtime::Runtime::new()
        .map_err(|cause| Stop::new(format!("cannot start: {cause}")))
        .and_then(|runtime| runtime.block_on(dispatch(cli.command, &mut output)));
    match ended {
        Ok(code) => code,
        Err(Stop::Unheard) => ExitCode::SUCCESS,
        Err(Stop::Error(message)) => {
            let _closed = writeln!(io::stderr().lock(), "bursar: {}", output::plain(&message));
            ExitCode::from(EXIT_ERROR)
        }
    }
}

async fn dispatch(command: Command, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    match command {
        Command::Dev(it) => dev::run(it, output).await,
        Command::Serve(it) => serve::serve(it).await,
        Command::Migrate(it) => serve::migrate(it, output).await,
        Command::Doctor(it) => serve::doctor(it, output).await,
        Command::Sample(it) => sample::run(*it, output).await,
        Command::Envelope(it) => envelope::run(it, output).await,
        Command::Route(it) => route::run(it, output).await,
        Command::Guard(it) => guard::run(it, output).await,
        Command::Ledger(it) => ledger::run(it, output).await,
        Command::Prices(it) => prices::run(it, output).await,
        Command::Admin(it) => admin::run(*it, output).await,
    }
}
