//! What is work and what is scratch. Scratch is held by the policy like everything else, but its allowed
//! changes are only counted: the private home, temporary folders, git's internals, what git ignores.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use remit_core::AbsPath;
use remit_git::Tracked;
use std::path::Path;

/// The longest ignore file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// What lies in `.git` and says what git will do next.
const PLANS: [&[u8]; 3] = [b"rebase-merge", b"rebase-apply", b"sequencer"];

/// The lines of an ignore file that is a plain file: a session may have left a pipe, a link or a giant there.
fn lines(file: &Path) -> Vec<String> {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
        .open(file);
    let Ok(opened) = opened else { return Vec::new() };
    if !opened.metadata().is_ok_and(|m| m.is_file() && m.len() <= LONGEST) {
        return Vec::new();
    }
    let mut bytes = Vec::new();
    match opened.take(LONGEST).read_to_end(&mut bytes) {
        Ok(_) => String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect(),
        Err(_) => Vec::new(),
    }
}

/// Tells scratch from work.
#[derive(Debug)]
pub struct Scratch {
    folders: Vec<AbsPath>,
    workspace: AbsPath,
    ignored: Gitignore,
    /// What git tracks is work, whatever is ignored; `None`: that cannot be told, and all is work.
    tracked: Option<Tracked>,
}

impl Scratch {
    /// For a workspace; `folders` are scratch as a whole. The workspace's own ignore files are read here, once.
    pub fn new(workspace: &AbsPath, folders: Vec<AbsPath>, tracked: Option<Tracked>) -> Self {
        let root = workspace.as_path();
        let mut builder = GitignoreBuilder::new(root);
        for file in [".git/info/exclude", ".gitignore"] {
            for line in lines(&root.join(file)) {
                // A bad line ignores nothing: more is recorded, never less.
                drop(builder.add_line(None, &line));
            }
        }
        let ignored = builder.build().unwrap_or_else(|_| Gitignore::empty());
        Self { folders, workspace: workspace.clone(), ignored, tracked }
    }

    /// Whether a change of this path is only counted.
    pub fn has(&self, path: &AbsPath, is_dir: bool) -> bool {
        if let Some(rest) = path.components().skip_while(|c| *c != b".git").nth(1) {
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
            None => self.folders.iter().any(|f| f.covers(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_git_and_private_folders_are_scratch() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".gitignore"), "target/\n*.o\n!keep.o\n").unwrap();
        let root = AbsPath::try_from(dir.path()).unwrap();
        let scratch = Scratch::new(
            &root,
            vec![AbsPath::new("/home/agent").unwrap(), root.parent().unwrap()],
            Some(Tracked::default()),
        );
        let has = |rest: &str| scratch.has(&AbsPath::lexical(&root, rest).unwrap(), false);
        assert!(has("target/debug/x") && has("a/b.o") && has(".git/index.lock"));
        assert!(!has(".git/rebase-merge/git-rebase-todo") && !has(".git"));
        assert!(!has("src/main.rs") && !has("keep.o") && !has(".gitignore"));
        assert!(scratch.has(&AbsPath::new("/home/agent/x").unwrap(), false));
        assert!(!scratch.has(&AbsPath::new("/srv/x").unwrap(), false));
        let unknown = Scratch::new(&root, Vec::new(), None);
        assert!(!unknown.has(&AbsPath::lexical(&root, "a/b.o").unwrap(), false), "it could be tracked");
    }
}
