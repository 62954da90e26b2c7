//! `remit completions SHELL`.

use crate::cli::{Cli, CompletionsArgs};
use crate::report::{self, Failure};
use clap::CommandFactory;
use remit_core::Exit;

/// Prints the completions.
pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "remit", &mut out);
    report::say(&String::from_utf8_lossy(&out))?;
    Ok(Exit::Yes)
}
