//! `remit init`: a policy that fits what is here.

use crate::cli::InitArgs;
use crate::report::{self, Failure, OK};
use remit_config::init::propose;
use remit_core::Exit;
use remit_session::environment::Environment;
use remit_session::survey::survey;
use similar::TextDiff;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

const NAME: &str = "remit.yaml";

/// Writes `remit.yaml` in this folder, unless there is one.
pub(crate) fn run(args: &InitArgs, environment: &Environment) -> Result<Exit, Failure> {
    let file = environment.cwd.join(NAME);
    if let Err(error) = remit_config::find::wrong_name(&environment.cwd) {
        let failure = Failure::new(Exit::Conflict, error.to_string());
        return Err(error.hint().into_iter().fold(failure, Failure::hint));
    }
    let surveyed =
        survey(environment).map_err(|e| Failure::because(Exit::Io, "this folder cannot be looked at", &e))?;
    let proposal = propose(&surveyed);
    let present = match std::fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        Err(e) => return Err(Failure::because(Exit::Io, format!("`{}` cannot be read", file.display()), &e)),
    };
    if args.dry_run {
        let before = present.as_deref().unwrap_or_default();
        let diff = TextDiff::from_lines(before, &proposal);
        let from = if present.is_some() { NAME } else { "/dev/null" };
        report::say(&diff.unified_diff().header(from, NAME).to_string())?;
        return Ok(Exit::Yes);
    }
    if present.is_some() {
        report::say(&format!("{OK}ok{OK:#}  {NAME} is here already, and stays as it is\n"))?;
        report::talk("remit: `remit init --dry-run` shows what a new one would change\n");
        return Ok(Exit::Yes);
    }
    let other = environment.cwd.join(remit_config::find::OTHER_NAME);
    if std::fs::symlink_metadata(&other).is_ok() {
        let message = format!("`{}` governs this folder already", remit_config::find::OTHER_NAME);
        return Err(Failure::new(Exit::Conflict, message).hint("`remit check` reads it as it stands"));
    }
    let written = OpenOptions::new().write(true).create_new(true).open(&file).and_then(|mut f| {
        f.write_all(proposal.as_bytes())?;
        f.sync_all()
    });
    written.map_err(|e| Failure::because(Exit::Io, format!("`{}` cannot be written", file.display()), &e))?;
    let agents: Vec<&str> = surveyed.agents.iter().map(|a| a.name.as_str()).chain(["default"]).collect();
    report::say(&format!("{OK}ok{OK:#}  wrote {NAME} for {}\n", agents.join(", ")))?;
    let first = surveyed.agents.first().map_or("-- sh".to_owned(), |a| a.name.clone());
    report::talk(&format!("remit: read it and commit it, then `remit check` and `remit run {first}`\n"));
    Ok(Exit::Yes)
}
