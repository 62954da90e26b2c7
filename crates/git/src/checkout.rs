//! Which repository a folder belongs to: the work tree, its git folder, and the main checkout that linked
//! worktrees share.

use crate::read::{small, told};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A git work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The folder that holds `.git`.
    pub work_tree: PathBuf,
    /// This work tree's git folder.
    pub git_dir: PathBuf,
    /// The git folder that linked worktrees share, as git itself finds it; equal to `git_dir` in a main
    /// checkout.
    pub common_dir: PathBuf,
    /// The main checkout: the work tree itself, or the one that it is linked to.
    pub main: PathBuf,
}

/// The work tree that `folder` lies in, if it lies in one. A `.git` pointer leads to another main checkout only
/// where the folder that it names points back, so that a forged pointer leads nowhere.
pub fn checkout(folder: &Path) -> io::Result<Option<Checkout>> {
    for work_tree in folder.ancestors() {
        let dot_git = work_tree.join(".git");
        // Git follows a link here, so that the folder may have any name.
        let kind = match fs::metadata(&dot_git) {
            Ok(meta) => meta.file_type(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(told(&dot_git, e)),
        };
        if kind.is_dir() {
            let git_dir = if fs::symlink_metadata(&dot_git)?.is_symlink() {
                fs::canonicalize(&dot_git)?
            } else {
                dot_git
            };
            return Ok(Some(Checkout {
                work_tree: work_tree.to_owned(),
                git_dir: git_dir.clone(),
                common_dir: git_dir,
                main: work_tree.to_owned(),
            }));
        }
        if kind.is_file() {
            return linked(work_tree, &dot_git);
        }
    }
    Ok(None)
}

fn linked(work_tree: &Path, pointer: &Path) -> io::Result<Option<Checkout>> {
    let Some(text) = small(&fs::canonicalize(pointer)?)? else { return Ok(None) };
    let Some(target) = text.strip_prefix(b"gitdir:") else { return Ok(None) };
    let git_dir = work_tree.join(OsStr::from_bytes(target.trim_ascii()));
    let git_dir = match fs::canonicalize(&git_dir) {
        Ok(found) => found,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let alone = Checkout {
        work_tree: work_tree.to_owned(),
        git_dir: git_dir.clone(),
        common_dir: git_dir.clone(),
        main: work_tree.to_owned(),
    };
    let common = match small(&git_dir.join("commondir"))? {
        Some(text) => git_dir.join(OsStr::from_bytes(text.trim_ascii())),
        // A submodule, or a separate git folder: it has no main checkout but itself.
        None => return Ok(Some(alone)),
    };
    let back = small(&git_dir.join("gitdir"))?.unwrap_or_default();
    let back = fs::canonicalize(git_dir.join(OsStr::from_bytes(back.trim_ascii())));
    let points_back = back.ok() == fs::canonicalize(pointer).ok();
    let common_dir = fs::canonicalize(&common).map_err(|e| told(&common, e))?;
    let main = common_dir
        .parent()
        .filter(|_| points_back && common_dir.file_name() == Some(OsStr::new(".git")))
        .map_or_else(|| work_tree.to_owned(), Path::to_owned);
    Ok(Some(Checkout { main, common_dir, ..alone }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_plain_checkout_is_its_own_main() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".git")).unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        let found = checkout(&dir.path().join("a/b")).unwrap().unwrap();
        assert_eq!(found.main, dir.path());
        assert_eq!(found.git_dir, found.common_dir);
        assert_eq!(checkout(Path::new("/")).unwrap(), None);
    }

    #[test]
    fn a_linked_worktree_leads_to_the_main_checkout() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let admin = root.join("main/.git/worktrees/w");
        write(&admin.join("commondir"), "../..\n");
        write(&admin.join("gitdir"), &format!("{}/w/.git\n", root.display()));
        write(&root.join("w/.git"), &format!("gitdir: {}\n", admin.display()));
        let found = checkout(&root.join("w")).unwrap().unwrap();
        assert_eq!(found.main, root.join("main"));
        assert_eq!(found.common_dir, root.join("main/.git"));
    }

    #[test]
    fn a_git_folder_under_another_name_is_found_by_link_pointer_and_worktree() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let admin = root.join(".bare/worktrees/w");
        write(&admin.join("commondir"), "../..\n");
        write(&admin.join("gitdir"), "../../../w/.git\n");
        write(&root.join("w/.git"), "gitdir: ../.bare/worktrees/w\n");
        write(&root.join("p/.git"), "gitdir: ../.bare\n");
        fs::create_dir_all(root.join("l")).unwrap();
        std::os::unix::fs::symlink("../.bare", root.join("l/.git")).unwrap();
        for (tree, git_dir) in [("w", ".bare/worktrees/w"), ("p", ".bare"), ("l", ".bare")] {
            let found = checkout(&root.join(tree)).unwrap().unwrap();
            assert_eq!((found.git_dir, found.common_dir), (root.join(git_dir), root.join(".bare")), "{tree}");
            assert_eq!(found.main, root.join(tree), "{tree}");
        }
    }

    #[test]
    fn a_forged_pointer_gives_no_other_main() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let admin = root.join("main/.git/worktrees/w");
        write(&admin.join("commondir"), "../..\n");
        write(&admin.join("gitdir"), &format!("{}/w/.git\n", root.display()));
        write(&root.join("w/.git"), "gitdir: ../main/.git/worktrees/w\n");
        write(&root.join("evil/.git"), "gitdir: ../main/.git/worktrees/w\n");
        assert_eq!(checkout(&root.join("evil")).unwrap().unwrap().main, root.join("evil"));
        write(&root.join("lost/.git"), "gitdir: /nowhere/at/all\n");
        assert_eq!(checkout(&root.join("lost")).unwrap(), None);
    }
}
