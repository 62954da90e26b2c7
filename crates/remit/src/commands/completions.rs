//! `remit completions SHELL`.

use crate::cli::{Cli, CompletionsArgs};
use crate::report::{self, Failure};
use clap::CommandFactory;
use remit_core::Exit;

/// Prints the completions. What only programs call is not offered.
pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let whole = Cli::command();
    let mut shown = clap::Command::new("remit")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(whole.get_arguments().cloned())
        .subcommands(whole.get_subcommands().filter(|c| !c.is_hide_set()).cloned());
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut shown, "remit", &mut out);
    report::say(&String::from_utf8_lossy(&out))?;
    Ok(Exit::Yes)
}
