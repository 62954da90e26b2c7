//! Tests run again as a user without rights. Cargo itself stays who it is; only the test programs change, by
//! cargo's own setting for a runner. Where that user cannot reach the checkout (one below `/root`, say), each
//! test program gets a mount namespace in which the closed folders are replaced by empty ones that show just
//! what it needs.

use anyhow::{Context as _, Result};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use test_support::env::NOBODY;

/// What a runner needs: a home, a script and an empty folder. The folder is removed when dropped.
pub(crate) struct Runner {
    folder: PathBuf,
}

impl Runner {
    /// Prepares the runner. `shown` are the folders that tests need.
    pub(crate) fn new(shown: &[PathBuf]) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("remit-unprivileged-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        let runner = Self { folder };
        fs::set_permissions(&runner.folder, fs::Permissions::from_mode(0o755))?;
        let home = runner.folder.join("home");
        fs::create_dir(&home)?;
        std::os::unix::fs::chown(&home, Some(NOBODY), Some(NOBODY))?;
        let stash = runner.folder.join("shown");
        fs::create_dir(&stash)?;
        let file = runner.file();
        fs::write(&file, script(&home, &stash, &hidden(shown)?))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
        Ok(runner)
    }

    /// The program for cargo's `CARGO_TARGET_<TRIPLE>_RUNNER`.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("runner")
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            println!("cannot remove `{}`: {error}", self.folder.display());
        }
    }
}

/// A folder that others may not enter, and the folders below it that must be seen.
type Hidden = (PathBuf, Vec<PathBuf>);

fn hidden(shown: &[PathBuf]) -> Result<Vec<Hidden>> {
    let mut hidden: Vec<Hidden> = Vec::new();
    for folder in shown {
        let folder = folder.canonicalize().with_context(|| format!("no folder `{}`", folder.display()))?;
        let Some(closed) = closed(&folder)? else { continue };
        match hidden.iter_mut().find(|(at, _)| *at == closed) {
            Some((_, below)) => below.push(folder),
            None => hidden.push((closed, vec![folder])),
        }
    }
    Ok(hidden)
}

/// The outermost folder on the way to `folder` that others may not enter.
fn closed(folder: &Path) -> Result<Option<PathBuf>> {
    let mut way: Vec<&Path> = folder.ancestors().collect();
    way.reverse();
    for step in way {
        if step.metadata()?.mode() & 0o001 == 0 {
            return Ok(Some(step.to_path_buf()));
        }
    }
    Ok(None)
}

/// The runner. `stash` is an empty folder where what is shown is held by a second name while an empty folder is
/// put over its parent.
fn script(home: &Path, stash: &Path, hidden: &[Hidden]) -> String {
    let mut lines = vec!["#!/bin/sh".to_owned(), "set -eu".to_owned()];
    if !hidden.is_empty() {
        // The second pass runs inside the namespace.
        lines.push("if [ \"${REMIT_SHOWN:-}\" != 1 ]; then".to_owned());
        lines.push("  REMIT_SHOWN=1 exec unshare --mount --propagation private -- \"$0\" \"$@\"".to_owned());
        lines.push("fi".to_owned());
        lines.push("unset REMIT_SHOWN; here=$(pwd)".to_owned());
    }
    let empty = |at: &Path| format!("mount -t tmpfs -o mode=0755 none {}", quote(at));
    let bind = |from: &Path, to: &Path| {
        let (from, to) = (quote(from), quote(to));
        format!("mkdir -p {to} && mount --rbind {from} {to}")
    };
    for (closed, below) in hidden {
        let held: Vec<PathBuf> = (0..below.len()).map(|n| stash.join(n.to_string())).collect();
        lines.push(empty(stash));
        lines.extend(below.iter().zip(&held).map(|(folder, held)| bind(folder, held)));
        lines.push(empty(closed));
        lines.extend(below.iter().zip(&held).map(|(folder, held)| bind(held, folder)));
        lines.push(format!("umount -R {}", quote(stash)));
    }
    if !hidden.is_empty() {
        lines.push("cd \"$here\"".to_owned());
    }
    let home = quote(home);
    lines.push(format!(
        "exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --inh-caps=-all -- \
         env -u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_STATE_HOME -u XDG_DATA_HOME -u XDG_RUNTIME_DIR \
         HOME={home} \"$@\""
    ));
    lines.join("\n") + "\n"
}

/// A path as one word of a shell.
fn quote(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_all_can_enter_needs_no_namespace() {
        assert!(!script(Path::new("/h"), Path::new("/s"), &[]).contains("unshare"));
        assert_eq!(closed(Path::new("/")).unwrap(), None);
    }

    #[test]
    fn folders_below_one_closed_folder_are_shown_together() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).unwrap();
        for name in ["a", "b/c"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let found = hidden(&[root.join("a"), root.join("b/c")]).unwrap();
        assert_eq!(found, [(root.clone(), vec![root.join("a"), root.join("b/c")])]);
    }

    #[test]
    fn a_quote_in_a_path_stays_in_its_word() {
        assert_eq!(quote(Path::new("/it's $HOME")), "'/it'\\''s $HOME'");
    }
}
