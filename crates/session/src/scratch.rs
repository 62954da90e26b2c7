//! What is work and what is scratch. Scratch is held by the policy like everything else, but its allowed
//! changes are only counted: the private home, temporary folders, git's internals, what git ignores.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use remit_core::AbsPath;
use std::path::Path;

/// Tells scratch from work.
#[derive(Debug)]
pub struct Scratch {
    folders: Vec<AbsPath>,
    workspace: AbsPath,
    ignored: Gitignore,
}

impl Scratch {
    /// For a workspace; `folders` are scratch as a whole. The workspace's own ignore files are read here, once.
    pub fn new(workspace: &AbsPath, folders: Vec<AbsPath>) -> Self {
        let root = workspace.as_path();
        let mut builder = GitignoreBuilder::new(root);
        for file in [".git/info/exclude", ".gitignore"] {
            // A file that is missing or has a bad line ignores less: more is recorded, never less.
            drop(builder.add(root.join(file)));
        }
        let ignored = builder.build().unwrap_or_else(|_| Gitignore::empty());
        Self { folders, workspace: workspace.clone(), ignored }
    }

    /// Whether a change of this path is only counted.
    pub fn has(&self, path: &AbsPath, is_dir: bool) -> bool {
        if path.components().any(|c| c == b".git") {
            return true;
        }
        // A workspace below a scratch folder (in `/tmp`, say) is work all the same.
        match self.workspace.strip(path) {
            Some(b"") => false,
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
        let scratch = Scratch::new(&root, vec![AbsPath::new("/home/agent").unwrap(), root.parent().unwrap()]);
        let has = |rest: &str| scratch.has(&AbsPath::lexical(&root, rest).unwrap(), false);
        assert!(has("target/debug/x") && has("a/b.o") && has(".git/index.lock"));
        assert!(!has("src/main.rs") && !has("keep.o") && !has(".gitignore"));
        assert!(scratch.has(&AbsPath::new("/home/agent/x").unwrap(), false));
        assert!(!scratch.has(&AbsPath::new("/srv/x").unwrap(), false));
    }
}
