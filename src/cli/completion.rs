//! `bursar completion`.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::{Cli, output::Output, stop::Stop};

/// The arguments of `completion`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  bursar completion bash > /etc/bash_completion.d/bursar
  bursar completion zsh > ~/.zfunc/_bursar
  bursar completion fish > ~/.config/fish/completions/bursar.fish")]
pub struct Completion {
    /// For which shell
    shell: Shell,
}

pub(super) fn run(it: &Completion, output: &mut Output<'_>) -> Result<ExitCode, Stop> {
    let mut script = Vec::new();
    generate(it.shell, &mut Cli::command(), "bursar", &mut script);
    output.write(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
