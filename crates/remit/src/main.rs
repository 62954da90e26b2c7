//! The `remit` program: reads the surroundings once, finds the command, answers with its exit code.
#![expect(
    clippy::disallowed_methods,
    reason = "the rim: reads the environment, the clock and files that are named on the command line, and ends the process"
)]

mod cli;
mod commands;
mod failures;
mod report;

use clap::Parser;
use cli::{Cli, Command};
use remit_core::Exit;
use remit_session::environment::Environment;
use report::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // A hook has a table of its own: 0 and 2, whatever happens.
    if let Command::Hook(args) = &cli.command {
        return ExitCode::from(commands::hook::run(args, cli.directory.as_deref()));
    }
    let answer = environment(&cli).and_then(|environment| dispatch(&cli, &environment));
    match answer {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.show();
            ExitCode::from(failure.exit.code())
        }
    }
}

fn environment(cli: &Cli) -> Result<Environment, Failure> {
    read_environment(cli.directory.as_deref()).map_err(|e| {
        let what = match &cli.directory {
            Some(directory) => format!("cannot start from `{}`", directory.display()),
            None => "cannot find out where this command was given".to_owned(),
        };
        Failure::because(Exit::Io, what, &e)
    })
}

/// The process's surroundings, with `-C` applied.
pub(crate) fn read_environment(directory: Option<&std::path::Path>) -> std::io::Result<Environment> {
    let here = std::env::current_dir()?;
    let cwd = match directory {
        // The dot makes a file an error here, and not later.
        Some(dir) => std::fs::canonicalize(here.join(dir).join("."))?,
        None => here,
    };
    Ok(Environment { vars: std::env::vars_os().collect(), cwd, exe: std::env::current_exe()? })
}

/// Sessions do not nest, and the ledger lies outside them: what is found inside would be another's, and empty.
fn refuse_inside(command: &Command) -> Result<(), Failure> {
    let outside = matches!(
        command,
        Command::Run(_) | Command::Log(_) | Command::Verify(_) | Command::Hooks(_) | Command::Demo(_)
    );
    if outside && remit_hooks::socket::inside() {
        let message = "this is inside a session, and the command works outside of sessions only";
        let exit = if matches!(command, Command::Run(_)) { Exit::NeverStarted } else { Exit::Sandbox };
        return Err(Failure::new(exit, message).hint("`remit check` and `remit explain` work in here, too"));
    }
    Ok(())
}

fn dispatch(cli: &Cli, environment: &Environment) -> Result<u8, Failure> {
    refuse_inside(&cli.command)?;
    let exit = match &cli.command {
        Command::Init(args) => commands::init::run(args, environment)?,
        Command::Check(args) => commands::check::run(args, environment)?,
        Command::Explain(args) => commands::explain::run(args, environment)?,
        Command::Run(args) => return commands::run::run(args, environment),
        Command::Log(args) => commands::log::run(args, environment)?,
        Command::Verify(args) => commands::verify::run(args, environment)?,
        Command::Hooks(args) => commands::hooks::run(args, environment)?,
        Command::Hook(_) => Exit::Usage,
        Command::Doctor(args) => commands::doctor::run(args, environment)?,
        Command::Demo(args) => commands::demo::run(args, environment)?,
        Command::Completions(args) => commands::completions::run(args)?,
        Command::Man => commands::man::run()?,
        Command::Enter(args) => return commands::enter::run(args),
    };
    Ok(exit.code())
}
