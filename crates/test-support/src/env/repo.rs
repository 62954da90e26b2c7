//! A git repository whose commits have the same ids in every run.

use super::TestEnv;
use anyhow::{Context as _, Result, ensure};
use std::{
    cell::Cell,
    path::{Path, PathBuf},
};

/// The time of the first commit, in seconds since 1970: 2026-01-01T00:00:00Z. Each later one is a minute later.
const FIRST: u64 = 1_767_225_600;

/// A repository and its work tree.
#[derive(Debug)]
pub struct Repo<'a> {
    env: &'a TestEnv,
    path: PathBuf,
    commits: Cell<u64>,
}

impl<'a> Repo<'a> {
    pub(super) fn init(env: &'a TestEnv, path: PathBuf) -> Result<Self> {
        let repo = Self { env, path, commits: Cell::new(0) };
        repo.git(["init", "--quiet", "--initial-branch=main"])?;
        Ok(repo)
    }

    /// The root of the work tree.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file at `path` in the work tree.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<PathBuf> {
        self.env.write(self.path.join(path), text)
    }

    /// Commits all that stands in the work tree, ignored files excepted, and answers the commit's id.
    pub fn commit(&self, message: &str) -> Result<String> {
        self.git(["add", "--all"])?;
        self.git(["commit", "--quiet", "--allow-empty", "--message", message])?;
        self.commits.set(self.commits.get() + 1);
        self.head()
    }

    /// The id of the commit that is checked out.
    pub fn head(&self) -> Result<String> {
        self.git(["rev-parse", "HEAD"])
    }

    /// A linked work tree beside this one, on a new branch of the same name.
    pub fn worktree(&self, name: &str) -> Result<PathBuf> {
        let path = self.env.root().join(name);
        self.git(["worktree", "add", "--quiet", "-b", name, path.to_str().context("not UTF-8")?])?;
        Ok(path)
    }

    /// Runs git here and answers what it printed, less the last line break. A code other than 0 is an error.
    pub fn git<'b>(&self, args: impl IntoIterator<Item = &'b str>) -> Result<String> {
        let args: Vec<&str> = args.into_iter().collect();
        let time = format!("{} +0000", FIRST + 60 * self.commits.get());
        let mut command = self.env.command("git")?;
        command.args(&args).current_dir(&self.path);
        command.env("GIT_AUTHOR_DATE", &time).env("GIT_COMMITTER_DATE", &time);
        let outcome = self.env.run(&mut command)?;
        ensure!(outcome.code == 0, "git {args:?}: exit code {}: {}", outcome.code, outcome.stderr);
        let text = String::from_utf8(outcome.raw).context("git did not print UTF-8")?;
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }
}
