//! The `remit` program: reads the surroundings once, finds the command, answers with its exit code.
#![expect(
    clippy::disallowed_methods,
    reason = "the rim: reads the environment, the clock and files that are named on the command line, and ends the process"
)]

mod cli;
mod commands;
mod events;
mod failures;
mod report;
mod schema_file;

use clap::Parser;
use cli::{Cli, Command};
use remit_core::Exit;
use remit_session::audit::program;
use remit_session::base::find_program;
use remit_session::environment::Environment;
use remit_session::holder::INNER_REMIT;
use report::Failure;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    commands::hook::prepare(&std::env::args_os().take(4).collect::<Vec<_>>());
    let cli = Cli::try_parse().unwrap_or_else(|wrong| cli::meant(wrong).exit());
    if !matches!(cli.command, Command::Enter(_)) {
        // The ledger is written by nearly all commands. A session's program begins afresh, and `enter` becomes it.
        remit_sandbox::endings::outlive_file_limit();
    }
    // A hook has a table of its own: 0 and 2, whatever happens.
    if let Command::Hook(args) = &cli.command {
        return ExitCode::from(commands::hook::run(args, cli.directory.as_deref()));
    }
    let answer = dispatch(&cli);
    match answer {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.show();
            ExitCode::from(failure.exit.code())
        }
    }
}

/// The process's surroundings, with `-C` applied.
fn environment(cli: &Cli) -> Result<Environment, Failure> {
    let read = || -> std::io::Result<Environment> {
        let cwd = match &cli.directory {
            // The dot makes a file an error here, and not later.
            Some(directory) => std::fs::canonicalize(place(None, directory)?.join("."))?,
            None => std::env::current_dir()?,
        };
        Ok(Environment { cwd, ..read_environment()? })
    };
    read().map_err(|e| {
        let what = match &cli.directory {
            Some(directory) => format!("cannot start from `{}`", directory.display()),
            None => "cannot find out where this command was given".to_owned(),
        };
        Failure::because(Exit::Io, what, &e)
    })
}

/// The process's surroundings but for where it stands, which may be gone.
pub(crate) fn read_environment() -> std::io::Result<Environment> {
    Ok(Environment { vars: std::env::vars_os().collect(), cwd: "/".into(), exe: std::env::current_exe()? })
}

/// A path as an absolute one: relative to `directory`, and that to where this process stands, as far as needed.
pub(crate) fn place(directory: Option<&Path>, path: &Path) -> std::io::Result<PathBuf> {
    match directory {
        _ if path.is_absolute() => Ok(path.to_owned()),
        Some(directory) => Ok(place(None, directory)?.join(path)),
        None => Ok(std::env::current_dir()?.join(path)),
    }
}

/// What cannot be done inside a session is said plainly: what would be found there is another's, and empty.
fn refuse_inside(command: &Command) -> Result<(), Failure> {
    let (name, why) = match command {
        Command::Run(_) => ("run", "sessions do not nest"),
        Command::Demo(_) => ("demo", "sessions do not nest"),
        Command::Log(_) => ("log", "the ledger lies outside, where no session reaches it"),
        Command::Verify(_) => ("verify", "the ledger lies outside, where no session reaches it"),
        Command::Hooks(_) => ("hooks", "its hooks are those that it was started with"),
        Command::Trust(_) => ("trust", "no session decides what may be started outside"),
        Command::Init(args) if !args.dry_run => ("init", "no session can write a policy"),
        _ => return Ok(()),
    };
    if !remit_hooks::socket::inside() {
        return Ok(());
    }
    let message = format!("this is inside a session, where `remit {name}` cannot be used: {why}");
    let exit = if name == "run" { Exit::NeverStarted } else { Exit::Sandbox };
    let around = read_environment().ok();
    let found = around.is_some_and(|around| find_program("remit", &around).is_some());
    let remit = if found { "remit" } else { INNER_REMIT };
    Err(Failure::new(exit, message).hint(format!(
        "`{remit} explain AGENT VERB OBJECT` works in here, and tells what the session is held by"
    )))
}

fn dispatch(cli: &Cli) -> Result<u8, Failure> {
    refuse_inside(&cli.command)?;
    let around = || environment(cli);
    let exit = match &cli.command {
        Command::Init(args) => commands::init::run(args, &around()?)?,
        Command::Check(args) => commands::check::run(args, &around()?)?,
        Command::Explain(args) => commands::explain::run(args, &around()?)?,
        Command::Run(args) => {
            let around = around().map_err(|failure| failure.ends(Exit::NeverStarted))?;
            return commands::run::run(args, &around);
        }
        Command::Trust(args) => commands::trust::run(args, &around()?)?,
        Command::Log(args) => commands::log::run(args, &around()?)?,
        Command::Verify(args) => commands::verify::run(args, &around()?)?,
        Command::Hooks(args) => commands::hooks::run(args, &around()?)?,
        Command::Hook(_) => Exit::Usage,
        Command::Doctor(args) => commands::doctor::run(args, &around()?)?,
        Command::Demo(args) => commands::demo::run(args, &around()?)?,
        Command::Completions(args) => commands::completions::run(args)?,
        Command::Man => commands::man::run()?,
        Command::Enter(args) => return commands::enter::run(args),
        Command::SendAlert => program::serve(std::io::stdin().lock())
            .map(|()| Exit::Yes)
            .map_err(|e| Failure::because(Exit::Io, "the alert cannot be sent", &e))?,
    };
    Ok(exit.code())
}
