//! A workspace to run sessions in, as this user and as one without rights.

use anyhow::{Context, Result};
use std::path::PathBuf;
use test_support::TestEnv;
use test_support::env::{NOBODY, Outcome};

/// All of the work tree but a folder out of bounds, which may be there or not.
pub(crate) const POLICY: &str = r#"version: "1.0"
global_rules:
  - {path: "secrets/**", access: none, for: all}
agents:
  default:
    permissions:
      - {path: ".", access: all}
"#;

/// A git repository under a policy, with one commit.
pub(crate) fn workspace(env: TestEnv, policy: &str) -> Result<TestEnv> {
    let env = env.with_remit(env!("CARGO_BIN_EXE_remit"));
    let repo = env.repo()?;
    repo.write("remit.yaml", policy)?;
    repo.write("src/a.rs", "text\n")?;
    repo.write("sub/deep/x", "text\n")?;
    repo.commit("a repository")?;
    Ok(env)
}

/// The same as whoever runs the tests.
pub(crate) fn own() -> Result<TestEnv> {
    workspace(TestEnv::new()?, POLICY)
}

/// Checks as whoever runs the tests; where that is root, again as a user without rights.
pub(crate) fn each_user(policy: &str, check: impl Fn(&TestEnv) -> Result<()>) -> Result<()> {
    check(&workspace(TestEnv::new()?, policy)?)?;
    if rustix::process::geteuid().is_root() {
        check(&workspace(TestEnv::new()?.as_user(NOBODY)?, policy)?).context("as a user without rights")?;
    }
    Ok(())
}

/// Runs the program.
pub(crate) fn remit(env: &TestEnv, args: &[&str]) -> Result<Outcome> {
    env.run(&mut env.remit(args)?)
}

/// Runs a shell script in a session.
pub(crate) fn sh(env: &TestEnv, script: &str) -> Result<Outcome> {
    remit(env, &["run", "--", "/bin/sh", "-c", script])
}

/// The state of the one workspace.
pub(crate) fn state(env: &TestEnv) -> Result<PathBuf> {
    Ok(std::fs::read_dir(env.state())?.next().context("a state folder")??.path())
}

/// The names in a folder of the workspace, in order.
pub(crate) fn names(env: &TestEnv, folder: &str) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(env.project().join(folder))?;
    let mut names =
        entries.map(|e| Ok(e?.file_name().to_string_lossy().into_owned())).collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}
