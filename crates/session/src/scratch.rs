//! What is work and what is scratch. Scratch is held by the policy like everything else, but its allowed
//! changes are only counted: the private home, temporary folders, git's internals, what git ignores, what the policy
//! calls so.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use remit_core::{AbsPath, Verb};
use remit_git::Tracked;
use remit_policy::Policy;
use remit_sandbox::Operation;
use std::path::Path;
use std::sync::Arc;

/// Folders of `.git` that say what git will do next: that there is one is no bookkeeping.
const PLANS: [&[u8]; 3] = [b"rebase-merge", b"rebase-apply", b"sequencer"];
/// What in them can name a program. The rest says how far git has come.
const ORDERS: [&[u8]; 5] = [b"git-rebase-todo", b"todo", b"opts", b"strategy", b"strategy_opts"];

/// Tells scratch from work.
#[derive(Debug)]
pub struct Scratch {
    folders: Vec<AbsPath>,
    /// What the policy calls scratch.
    policy: Arc<Policy>,
    workspace: AbsPath,
    ignored: Gitignore,
    /// What git tracks is work, whatever is ignored. Where nothing is tracked, or that cannot be told, all is work:
    /// who takes everything from the index must not make scratch of it.
    tracked: Option<Tracked>,
}

impl Scratch {
    /// For a workspace; `folders` are scratch as a whole, and no other folder has a file of theirs. `rules` are the
    /// lines of ignore files, those that count less first.
    pub fn new(policy: Arc<Policy>, folders: Vec<AbsPath>, tracked: Option<Tracked>, rules: &[&str]) -> Self {
        let workspace = policy.world().workspace.clone();
        let mut builder = GitignoreBuilder::new(workspace.as_path());
        for line in rules.iter().flat_map(|text| text.lines()) {
            // A bad line ignores nothing: more is recorded, never less.
            drop(builder.add_line(None, line));
        }
        let ignored = builder.build().unwrap_or_else(|_| Gitignore::empty());
        let tracked = tracked.filter(|tracked| !tracked.is_empty());
        Self { folders, policy, workspace, ignored, tracked }
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
        // Orders that are gone name nothing.
        let orders = operation.verb != Verb::Delete || operation.is_dir;
        let has = |path: &AbsPath| !(orders && is_plan(path)) && self.has(path, operation.is_dir);
        operation.to.as_ref().is_none_or(|to| has(to.path)) && has(operation.path)
    }

    /// Whether it lies in a folder of the session's own.
    pub fn is_private(&self, path: &AbsPath) -> bool {
        self.workspace.strip(path).is_none() && self.folders.iter().any(|folder| folder.covers(path))
    }

    /// Whether a name is scratch.
    fn has(&self, path: &AbsPath, is_dir: bool) -> bool {
        if in_git(path).is_some() || self.policy.is_scratch(path) {
            return true;
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

/// Whether it says what git will do next, wherever in a `.git`: linked worktrees and submodules have theirs deeper.
fn is_plan(path: &AbsPath) -> bool {
    let mut names = path.components().rev();
    let (last, above) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    in_git(path).is_some() && (PLANS.contains(&last) || PLANS.contains(&above) && ORDERS.contains(&last))
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

    fn policy() -> Arc<Policy> {
        let world = remit_policy::World {
            workspace: AbsPath::new("/w/p").unwrap(),
            home: AbsPath::new("/home/me").unwrap(),
            base: Vec::new(),
            sealed: Vec::new(),
            protected: Vec::new(),
            git_dirs: Vec::new(),
            linked: None,
            private: Vec::new(),
            single_files: Default::default(),
        };
        let text = "version: \"1.0\"\nscratch: [gen, \"**/*.log\"]\n";
        let source = remit_config::load("remit.yaml", text.as_bytes()).unwrap();
        Arc::new(Policy::compile(&source, &world).unwrap().policy)
    }

    fn scratch(tracked: Option<Tracked>) -> Scratch {
        let folders = ["/home/agent", "/w"].map(|path| AbsPath::new(path).unwrap()).to_vec();
        Scratch::new(policy(), folders, tracked, &["target/\n*.o\n", "!keep.o\n"])
    }

    #[test]
    fn ignored_files_git_and_private_folders_are_scratch() {
        let scratch_with = scratch(tracked());
        let has = |path: &str| scratch_with.has(&AbsPath::new(path).unwrap(), false);
        assert!(has("/w/p/target/debug/x") && has("/w/p/a/b.o") && has("/w/p/.git/index.lock"));
        assert!(!has("/w/p/.git"));
        assert!(!has("/w/p/src/main.rs") && !has("/w/p/keep.o") && !has("/w/p/.gitignore"));
        assert!(!has("/w/p/kept.o"), "it is tracked");
        assert!(has("/w/p/gen/a/b") && has("/w/p/src/x.log") && !has("/w/p/generated"), "the policy says so");
        assert!(has("/home/agent/x") && has("/w/x") && !has("/srv/x"));
        for unknown in [None, Some(Tracked::default())] {
            let scratch = scratch(unknown);
            assert!(!scratch.has(&AbsPath::new("/w/p/a/b.o").unwrap(), false), "it could be tracked");
        }
    }

    fn operation<'a>(verb: Verb, path: &'a AbsPath) -> Operation<'a> {
        Operation {
            verb,
            syscall: "call",
            asked: b"",
            path,
            to: None,
            pid: 2,
            exists: true,
            is_dir: false,
            is_file: true,
            closes: false,
            below: None,
            links: 1,
            fixed: None,
        }
    }

    #[test]
    fn what_git_is_told_to_do_next_is_work_and_how_far_it_has_come_is_not() {
        let scratch = scratch(tracked());
        let takes = |verb, path: &str| scratch.takes(&operation(verb, &AbsPath::new(path).unwrap()));
        for git in ["/w/p/.git", "/w/p/.git/worktrees/a", "/w/p/.git/modules/m"] {
            for name in [
                "rebase-merge",
                "rebase-apply",
                "sequencer",
                "rebase-merge/git-rebase-todo",
                "sequencer/todo",
            ] {
                assert!(!takes(Verb::Create, &format!("{git}/{name}")), "{git}/{name}");
            }
            for name in
                ["rebase-merge/onto", "rebase-merge/git-rebase-todo.lock", "rebase-apply/0001", "todo"]
            {
                assert!(takes(Verb::Create, &format!("{git}/{name}")), "{git}/{name}");
            }
            assert!(takes(Verb::Delete, &format!("{git}/rebase-merge/git-rebase-todo")));
            let folder = AbsPath::new(format!("{git}/rebase-merge")).unwrap();
            assert!(!scratch.takes(&Operation { is_dir: true, ..operation(Verb::Delete, &folder) }));
        }
    }

    /// A plan that is made under another name counts when it gets its own.
    #[test]
    fn a_plan_that_is_moved_into_place_is_work() {
        let scratch = scratch(tracked());
        for (from, to, is_dir) in [
            ("/w/p/.git/x", "/w/p/.git/rebase-merge", true),
            ("/w/p/.git/x", "/w/p/.git/rebase-merge/git-rebase-todo", false),
            ("/w/p/.git/rebase-merge", "/w/p/.git/x", true),
        ] {
            let (from, to) = (AbsPath::new(from).unwrap(), AbsPath::new(to).unwrap());
            let to = Some(remit_sandbox::Target { asked: b"", path: &to, exists: false });
            assert!(!scratch.takes(&Operation { to, is_dir, ..operation(Verb::Rename, &from) }));
        }
    }

    #[test]
    fn a_file_with_several_names_and_the_loss_of_the_index_are_work() {
        let scratch = scratch(tracked());
        let takes = |verb, path: &str, links| {
            scratch.takes(&Operation { links, ..operation(verb, &AbsPath::new(path).unwrap()) })
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
