//! What is work and what is scratch. Scratch is held by the policy like everything else, but its allowed
//! changes are only counted: the private home, temporary folders, git's internals, what git ignores.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use remit_core::{AbsPath, Verb};
use remit_git::Tracked;
use remit_sandbox::Operation;
use std::path::Path;

/// What lies in `.git` and says what git will do next.
const PLANS: [&[u8]; 3] = [b"rebase-merge", b"rebase-apply", b"sequencer"];

/// Tells scratch from work.
#[derive(Debug)]
pub struct Scratch {
    folders: Vec<AbsPath>,
    workspace: AbsPath,
    ignored: Gitignore,
    /// What git tracks is work, whatever is ignored. Where nothing is tracked, or that cannot be told, all is work:
    /// who takes everything from the index must not make scratch of it.
    tracked: Option<Tracked>,
}

impl Scratch {
    /// For a workspace; `folders` are scratch as a whole, and no other folder has a file of theirs. `rules` are the
    /// lines of ignore files, those that count less first.
    pub fn new(workspace: &AbsPath, folders: Vec<AbsPath>, tracked: Option<Tracked>, rules: &[&str]) -> Self {
        let mut builder = GitignoreBuilder::new(workspace.as_path());
        for line in rules.iter().flat_map(|text| text.lines()) {
            // A bad line ignores nothing: more is recorded, never less.
            drop(builder.add_line(None, line));
        }
        let ignored = builder.build().unwrap_or_else(|_| Gitignore::empty());
        let tracked = tracked.filter(|tracked| !tracked.is_empty());
        Self { folders, workspace: workspace.clone(), ignored, tracked }
    }

    /// Whether an allowed change is only counted.
    pub fn takes(&self, operation: &Operation<'_>) -> bool {
        // What is written to a file that has several names is written to all of them, and nobody can say where they
        // are. Programs hardly ever do that: they replace such a file.
        let shared = operation.links > 1 && !operation.is_dir && operation.verb == Verb::Write;
        if shared && !self.is_private(operation.path) {
            return false;
        }
        // Git writes its index anew and never lets go of it; without one nobody knows what is tracked.
        let goes = matches!(operation.verb, Verb::Delete | Verb::Rename);
        if goes && operation.path.file_name() == Some(b"index") && in_git(operation.path).is_some() {
            return false;
        }
        let to = operation.to.as_ref().is_none_or(|to| self.has(to.path, operation.is_dir));
        to && self.has(operation.path, operation.is_dir)
    }

    /// Whether it lies in a folder of the session's own.
    fn is_private(&self, path: &AbsPath) -> bool {
        self.workspace.strip(path).is_none() && self.folders.iter().any(|folder| folder.covers(path))
    }

    /// Whether a name is scratch.
    fn has(&self, path: &AbsPath, is_dir: bool) -> bool {
        if let Some(rest) = in_git(path) {
            // What git will do next is not its bookkeeping: a todo list can name programs.
            return !PLANS.contains(&rest);
        }
        // A workspace below a scratch folder (in `/tmp`, say) is work all the same.
        match self.workspace.strip(path) {
            Some(b"") => false,
            Some(rest) if self.tracked.as_ref().is_none_or(|t| t.contains(rest)) => false,
            Some(rest) => {
                use std::os::unix::ffi::OsStrExt;
                let below = Path::new(std::ffi::OsStr::from_bytes(rest));
                self.ignored.matched_path_or_any_parents(below, is_dir).is_ignore()
            }
            None => self.is_private(path),
        }
    }
}

/// What comes after `.git` in a path.
fn in_git(path: &AbsPath) -> Option<&[u8]> {
    path.components().skip_while(|component| *component != b".git").nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked() -> Option<Tracked> {
        let repository = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let done = std::process::Command::new("git").args(args).current_dir(repository.path()).status();
            assert!(done.unwrap().success());
        };
        git(&["init", "-q"]);
        std::fs::write(repository.path().join("kept.o"), "").unwrap();
        git(&["add", "-f", "kept.o"]);
        remit_git::tracked(&repository.path().join(".git")).unwrap()
    }

    fn scratch(tracked: Option<Tracked>) -> Scratch {
        let folders = ["/home/agent", "/w"].map(|path| AbsPath::new(path).unwrap()).to_vec();
        Scratch::new(&AbsPath::new("/w/p").unwrap(), folders, tracked, &["target/\n*.o\n", "!keep.o\n"])
    }

    #[test]
    fn ignored_files_git_and_private_folders_are_scratch() {
        let scratch_with = scratch(tracked());
        let has = |path: &str| scratch_with.has(&AbsPath::new(path).unwrap(), false);
        assert!(has("/w/p/target/debug/x") && has("/w/p/a/b.o") && has("/w/p/.git/index.lock"));
        assert!(!has("/w/p/.git/rebase-merge/git-rebase-todo") && !has("/w/p/.git"));
        assert!(!has("/w/p/src/main.rs") && !has("/w/p/keep.o") && !has("/w/p/.gitignore"));
        assert!(!has("/w/p/kept.o"), "it is tracked");
        assert!(has("/home/agent/x") && has("/w/x") && !has("/srv/x"));
        for unknown in [None, Some(Tracked::default())] {
            let scratch = scratch(unknown);
            assert!(!scratch.has(&AbsPath::new("/w/p/a/b.o").unwrap(), false), "it could be tracked");
        }
    }

    #[test]
    fn a_file_with_several_names_and_the_loss_of_the_index_are_work() {
        let scratch = scratch(tracked());
        let takes = |verb, path: &str, links| {
            scratch.takes(&Operation {
                verb,
                syscall: "call",
                asked: b"",
                path: &AbsPath::new(path).unwrap(),
                to: None,
                pid: 2,
                exists: true,
                is_dir: false,
                is_file: true,
                closes: false,
                below: None,
                links,
                fixed: None,
            })
        };
        for path in ["/w/p/.git/ml", "/w/p/target/x"] {
            assert!(takes(Verb::Write, path, 1) && !takes(Verb::Write, path, 2), "{path}");
            assert!(takes(Verb::Delete, path, 2), "the other names stay as they are");
        }
        assert!(takes(Verb::Write, "/home/agent/x", 2), "its other name is in there too");
        assert!(!takes(Verb::Delete, "/w/p/.git/index", 1));
        assert!(!takes(Verb::Delete, "/w/p/.git/worktrees/a/index", 1));
        assert!(takes(Verb::Write, "/w/p/.git/index", 1) && takes(Verb::Delete, "/w/p/.git/index.lock", 1));
    }
}
