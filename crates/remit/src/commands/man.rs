//! `remit man`.

use crate::cli::Cli;
use crate::report::{self, Failure};
use clap::CommandFactory;
use remit_core::Exit;

/// Prints the manual page, one section a command.
pub(crate) fn run() -> Result<Exit, Failure> {
    let mut out = Vec::new();
    let mut command = Cli::command();
    command.build();
    let written = clap_mangen::Man::new(command.clone()).render(&mut out).and_then(|()| {
        let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
        shown.cloned().try_for_each(|sub| clap_mangen::Man::new(sub).render(&mut out))
    });
    written.map_err(|e| Failure::because(Exit::Io, "cannot make the manual page", &e))?;
    report::say(&String::from_utf8_lossy(&out))?;
    Ok(Exit::Yes)
}
