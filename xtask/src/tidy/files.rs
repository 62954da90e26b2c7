//! The text files of the tree.

use anyhow::{Context as _, Result};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Folders that hold nothing written by hand.
const SKIPPED: [&str; 5] = [".git", "target", "node_modules", "dist", "corpus"];

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    /// From the root.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl File {
    #[cfg(test)]
    pub(super) fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// The path as text with `/`.
    pub(super) fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// All files below `root` that are UTF-8, in order. Links are not followed.
pub(super) fn read(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    walk(root, root, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<File>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && !SKIPPED.iter().any(|name| entry.file_name() == *name) {
            walk(root, &path, files)?;
        } else if kind.is_file() {
            match fs::read_to_string(&path) {
                Ok(text) => files.push(File { path: path.strip_prefix(root)?.to_path_buf(), text }),
                // Pictures and the like.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
            }
        }
    }
    Ok(())
}
