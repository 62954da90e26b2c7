//! `remit check --fix`: one certain change after another, each kept only if the file is better for it.

use super::check::examine;
use crate::cli::CheckArgs;
use crate::report::{self, Failure};
use remit_config::fix::{Fix, fixes};
use remit_core::{AbsPath, Diagnostic, Exit, Place, Severity};
use remit_hooks::file::{FileError, read, replace};
use remit_session::environment::Environment;
use remit_session::workspace::{OpenError, Workspace};
use similar::TextDiff;
use std::path::{Path, PathBuf};

/// Changes of one run, at most.
const MOST: usize = 200;
/// Findings after which the rest of a file is not read.
const UNREAD: [&str; 8] = [
    "yaml",
    "tab",
    "unknown-alias",
    "directive",
    "too-deep",
    "several-documents",
    "not-utf8",
    "hidden-character",
];

/// A policy file and what it hangs on.
struct File<'e> {
    path: PathBuf,
    name: String,
    root: AbsPath,
    environment: &'e Environment,
}

/// What was found in a text.
struct Look {
    /// How far it was read: not at all, with errors, whole.
    stage: u8,
    findings: Vec<Diagnostic>,
}

impl Look {
    /// Errors, warnings, notes.
    fn weight(&self) -> [usize; 3] {
        [Severity::Error, Severity::Warning, Severity::Note]
            .map(|severity| self.findings.iter().filter(|finding| finding.severity == severity).count())
    }

    /// Whether a text is better after a change at `place` than before: more of it can be read, or less is wrong
    /// with it and nothing new, or what is new stands in what a change has only now made readable.
    fn better_than(&self, before: &Self, place: &Place) -> bool {
        if self.stage != before.stage {
            return self.stage > before.stage;
        }
        let known = |one: &Diagnostic| {
            before.findings.iter().any(|other| (other.code, &other.message) == (one.code, &one.message))
        };
        let mut new = self.findings.iter().filter(|one| one.severity == Severity::Error && !known(one));
        if self.stage < 2 {
            let gone = !self.findings.iter().any(|one| one.place == *place);
            let after = |one: &Diagnostic| (one.place.line, one.place.column) > (place.line, place.column);
            return gone && new.all(after);
        }
        new.next().is_none() && self.weight() < before.weight()
    }
}

/// Mends the file, unless it is only to be shown how.
pub(super) fn run(args: &CheckArgs, environment: &Environment) -> Result<Exit, Failure> {
    let file = find(args, environment)?;
    let broken = |e: FileError| Failure::because(Exit::Io, "the policy is not mended", &e);
    let seen = read(&file.path).map_err(broken)?.unwrap_or_default();
    let (mended, done) = mend(&file, &seen)?;
    if done.is_empty() {
        report::talk("remit: nothing here leaves no choice, so nothing is changed\n");
        return Ok(Exit::Yes);
    }
    let diff = TextDiff::from_lines(&seen, &mended);
    report::say(&diff.unified_diff().header(&file.name, &file.name).to_string())?;
    if !args.dry_run {
        replace(&file.path, Some(&seen), Some(&mended)).map_err(broken)?;
    }
    for fix in &done {
        report::talk(&format!("remit: {}: {}\n", fix.place, fix.what));
    }
    Ok(Exit::Yes)
}

fn find<'e>(args: &CheckArgs, environment: &'e Environment) -> Result<File<'e>, Failure> {
    let Some(file) = &args.file else {
        let found = remit_config::find(&environment.cwd).map_err(OpenError::from)?;
        let path = found.workspace.as_path().join(found.file);
        return Ok(File { path, name: found.file.to_owned(), root: found.workspace, environment });
    };
    let path = environment.cwd.join(file);
    let unreadable = |e| Failure::because(Exit::Io, format!("`{}` cannot be read", file.display()), &e);
    if std::fs::symlink_metadata(&path).map_err(unreadable)?.is_symlink() {
        let message = format!("`{}` is a link, and a policy is mended where it stands", file.display());
        return Err(Failure::new(Exit::Conflict, message).hint("name the file that it leads to"));
    }
    let path = std::fs::canonicalize(&path).map_err(unreadable)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let root = AbsPath::try_from(folder).map_err(|e| OpenError::Path(folder.to_owned(), e))?;
    Ok(File { name: file.display().to_string(), root, path, environment })
}

/// The mended text, and what was done.
fn mend(file: &File<'_>, text: &str) -> Result<(String, Vec<Fix>), Failure> {
    let home = file.environment.home().ok_or(OpenError::NoHome)?;
    let (mut text, mut done) = (text.to_owned(), Vec::new());
    let mut now = look(file, &text)?;
    while done.len() < MOST {
        let before = done.len();
        for fix in fixes(&file.name, &text, &now.findings, file.root.as_path(), &home) {
            let Some(changed) = fix.edit.apply(&text) else { continue };
            let then = look(file, &changed)?;
            if then.better_than(&now, &fix.place) {
                (text, now) = (changed, then);
                done.push(fix);
                break;
            }
        }
        if done.len() == before {
            break;
        }
    }
    Ok((text, done))
}

fn look(file: &File<'_>, text: &str) -> Result<Look, Failure> {
    match Workspace::read(file.root.clone(), file.name.clone(), text.as_bytes(), file.environment) {
        Ok(workspace) => Ok(Look { stage: 2, findings: examine(&workspace)? }),
        Err(OpenError::Findings { findings, .. }) => {
            let unread = findings.iter().any(|finding| UNREAD.contains(&finding.code));
            Ok(Look { stage: u8::from(!unread), findings })
        }
        Err(error) => Err(error.into()),
    }
}
