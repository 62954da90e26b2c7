//! `remit init`: a policy that fits what is here.

use crate::cli::InitArgs;
use crate::report::{self, Failure, OK, WAIT};
use crate::schema_file;
use remit_config::find::{NAME, OTHER_NAME, nearest, wrong_name};
use remit_config::init::{SCHEMA, propose};
use remit_core::Exit;
use remit_core::path::printable;
use remit_session::environment::Environment;
use remit_session::survey::survey;
use remit_session::unignored::unignored;
use remit_session::workspace::{OpenError, Workspace};
use similar::TextDiff;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes `remit.yaml`, unless there is one: at the top of the git checkout, where agents have git, or in this folder.
pub(crate) fn run(args: &InitArgs, environment: &Environment) -> Result<Exit, Failure> {
    let folder = place(args, environment)?;
    let elsewhere = folder != environment.cwd;
    let environment = &Environment { cwd: folder, ..environment.clone() };
    let file = environment.cwd.join(NAME);
    let shown = if elsewhere { file.display().to_string() } else { NAME.to_owned() };
    right_name(&environment.cwd)?;
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
        let from = if present.is_some() { &*shown } else { "/dev/null" };
        report::say(&diff.unified_diff().header(from, &shown).to_string())?;
        report::talk(&format!("remit: beside it goes `{SCHEMA}`, by which editors know its keys\n"));
        return Ok(Exit::Yes);
    }
    if present.is_some() {
        report::say(&format!("{OK}ok{OK:#}  {NAME} is here already, and stays as it is\n"))?;
        report::talk("remit: `remit init --dry-run` shows what a new one would change\n");
        if present.as_ref().is_some_and(|text| text.contains(SCHEMA)) {
            schema(&environment.cwd);
        }
        return Ok(Exit::Yes);
    }
    let other = environment.cwd.join(OTHER_NAME);
    if std::fs::symlink_metadata(&other).is_ok() {
        let message = format!("`{OTHER_NAME}` governs this folder already");
        return Err(Failure::new(Exit::Conflict, message).hint("`remit check` reads it as it stands"));
    }
    let written = OpenOptions::new().write(true).create_new(true).open(&file).and_then(|mut f| {
        f.write_all(proposal.as_bytes())?;
        f.sync_all()
    });
    written.map_err(|e| Failure::because(Exit::Io, format!("`{}` cannot be written", file.display()), &e))?;
    schema(&environment.cwd);
    let agents: Vec<&str> = surveyed.agents.iter().map(|a| a.name.as_str()).chain(["default"]).collect();
    report::say(&format!("{OK}ok{OK:#}  wrote {} for {}\n", printable(&shown), agents.join(", ")))?;
    if elsewhere {
        report::talk(
            "remit: that is the top of this git checkout, so that agents have git; `remit init --here` writes it in this folder instead\n",
        );
    }
    tell_of_git(environment);
    let first = surveyed.agents.first().map_or("-- sh".to_owned(), |a| a.name.clone());
    report::talk(&format!("remit: read it and commit it, then `remit check` and `remit run {first}`\n"));
    Ok(Exit::Yes)
}

/// Puts the schema beside the policy. Nothing rests on it, so that a policy without it is as good.
fn schema(folder: &Path) {
    if let Err(error) = schema_file::put(folder) {
        report::talk(&format!(
            "{WAIT}remit: `{SCHEMA}` cannot be written, so editors will not know the keys of the policy ({error}){WAIT:#}\n"
        ));
    }
}

/// The folder that is to have the policy.
fn place(args: &InitArgs, environment: &Environment) -> Result<PathBuf, Failure> {
    let here = &environment.cwd;
    let above = nearest(here).filter(|folder| !args.here && folder != here);
    if let Some(above) = above {
        right_name(&above)?;
        let names = [NAME, OTHER_NAME].map(|name| above.join(name));
        let governs = names.iter().find(|file| std::fs::symlink_metadata(file).is_ok()).unwrap_or(&above);
        let message = format!("`{}` governs this folder already", governs.display());
        return Err(Failure::new(Exit::Conflict, message).hint(
            "`remit check` reads it; `remit init --here` writes one for this folder, in which that one counts no more",
        ));
    }
    Ok(match checkout_top(environment)? {
        Some(top) if !args.here && nearest(here).is_none() => top,
        _ => here.clone(),
    })
}

/// The top of the git checkout that this folder lies in. One of the whole home folder is none that agents work on.
fn checkout_top(environment: &Environment) -> Result<Option<PathBuf>, Failure> {
    let here = &environment.cwd;
    let found = remit_git::checkout(here).map_err(|e| OpenError::Git(here.clone(), e))?;
    let home = environment.home().map(|home| std::fs::canonicalize(&home).unwrap_or(home));
    let top = found.map(|checkout| checkout.work_tree);
    Ok(top.filter(|top| home.is_none_or(|home| !home.starts_with(top))))
}

fn right_name(folder: &Path) -> Result<(), Failure> {
    wrong_name(folder).map_err(|error| {
        let failure = Failure::new(Exit::Conflict, error.to_string());
        error.hint().into_iter().fold(failure, Failure::hint)
    })
}

/// Where git will not work inside as it does outside: below the top of a checkout, and beside hidden files that it
/// wants to add.
fn tell_of_git(environment: &Environment) {
    // What keeps the new policy from being read is told by `check`, and by whatever would use it.
    let Ok(workspace) = Workspace::open(&environment.cwd, environment) else { return };
    if let Ok(Some(top)) = checkout_top(environment)
        && top != environment.cwd
    {
        let records = top.join(".git").display().to_string();
        let records = printable(&records);
        report::talk(&format!(
            "remit: agents have no git here, since {records} lies above; a rule for its full path gives it to them\n"
        ));
    }
    let found = workspace.policy().and_then(|(policy, _)| unignored(&workspace, &policy));
    for finding in found.into_iter().flatten() {
        let help = finding.help.map(|help| format!("; {help}")).unwrap_or_default();
        report::talk(&format!("remit: {}{}\n", printable(&finding.message), printable(&help)));
    }
}
