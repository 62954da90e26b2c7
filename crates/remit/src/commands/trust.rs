//! `remit trust`: which programs a policy may start.

use crate::cli::TrustArgs;
use crate::report::{self, Failure, OK, WAIT};
use remit_core::Exit;
use remit_core::path::printable;
use remit_session::environment::Environment;
use remit_session::trust::{self, Standing};
use remit_session::workspace::Workspace;
use std::io::{IsTerminal, stdin};

/// Shows what the policy would start, and pins it if a person agrees.
pub(crate) fn run(args: &TrustArgs, environment: &Environment) -> Result<Exit, Failure> {
    if args.revoke {
        return revoke(environment);
    }
    let workspace = Workspace::open(&environment.cwd, environment)?;
    let standing = trust::standing(&workspace, environment).map_err(|e| Failure::from(&e))?;
    if standing == Standing::NoCommands {
        report::say(&format!("{OK}ok{OK:#}  {} names no command that needs trust\n", workspace.file))?;
        return Ok(Exit::Yes);
    }
    show(&workspace, &standing)?;
    if args.show || standing == Standing::Pinned {
        return Ok(if standing == Standing::Pinned { Exit::Yes } else { Exit::No });
    }
    if !args.yes && !agreed()? {
        report::talk("remit: nothing was changed\n");
        return Ok(Exit::No);
    }
    trust::pin(&workspace, environment).map_err(|e| Failure::from(&e))?;
    report::say(&format!("{OK}ok{OK:#}  {} may start these commands as it stands\n", workspace.file))?;
    Ok(Exit::Yes)
}

fn revoke(environment: &Environment) -> Result<Exit, Failure> {
    let workspace = Workspace::open_state(&environment.cwd, environment)?;
    let was = trust::revoke(&workspace, environment).map_err(|e| Failure::from(&e))?;
    let words = if was { "is trusted no longer" } else { "was not trusted" };
    report::say(&format!("{OK}ok{OK:#}  the policy of {} {words}\n", workspace.root))?;
    Ok(Exit::Yes)
}

/// One line for each command, those that are new marked.
fn show(workspace: &Workspace, standing: &Standing) -> Result<(), Failure> {
    let new = |command: &String| match standing {
        Standing::Changed(new) => new.contains(command),
        _ => false,
    };
    let words = match standing {
        Standing::Pinned => "may start",
        Standing::Changed(_) => "has changed since it was trusted, and would start",
        _ => "would start",
    };
    report::say(&format!("{} {words}:\n", workspace.file))?;
    for command in trust::commands(&workspace.source) {
        let mark = if new(&command) { format!("  {WAIT}(new){WAIT:#}") } else { String::new() };
        report::say(&format!("  {}{mark}\n", printable(&command)))?;
    }
    Ok(())
}

/// Asks on the terminal.
fn agreed() -> Result<bool, Failure> {
    if !stdin().is_terminal() {
        return Err(Failure::new(Exit::Ask, "nobody can be asked, since this is no terminal")
            .hint("`remit trust --yes` agrees without being asked"));
    }
    report::talk("Let it? [y/N] ");
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    read.map_err(|e| Failure::because(Exit::Io, "the answer cannot be read", &e))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
