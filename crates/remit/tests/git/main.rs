//! Git in a session: an ordinary repository, a linked worktree, a scratch repository; and what stays closed.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

mod narrowed;

use anyhow::Result;
use std::path::Path;
use test_support::TestEnv;
use test_support::env::Outcome;

const POLICY: &str = "version: \"1.0\"\nagents:\n  default:\n    permissions: [{path: \".\", access: all}]\n  reader:\n    permissions: [{path: \".\", access: execute}]\n";

fn env() -> Result<TestEnv> {
    let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
    env.write(env.home().join(".gitconfig"), "[user]\n\tname = A Person\n\temail = person@example.org\n")?;
    let repo = env.repo()?;
    repo.write("remit.yaml", POLICY)?;
    repo.write("a.txt", "one\n")?;
    repo.commit("first")?;
    Ok(env)
}

fn sh(env: &TestEnv, folder: &Path, agent: &str, script: &str) -> Result<Outcome> {
    let folder = folder.display().to_string();
    env.run(&mut env.remit(["-C", &folder, "run", agent, "--", "sh", "-ec", script])?)
}

const WORK: &str = "git status --porcelain; echo two >>a.txt; git add a.txt; git commit -qm second; git log --format='%an %s' -1; git stash list; git branch other; git gc -q; git fsck --no-progress";

#[test]
fn an_ordinary_repository_is_worked_in_with_the_persons_name() -> Result<()> {
    let env = env()?;
    let outcome = sh(&env, &env.project(), "default", WORK)?.ended(0)?;
    assert_eq!(outcome.stdout, "A Person second\n", "{}", outcome.stderr);
    Ok(())
}

#[test]
fn a_branch_of_a_remote_one_is_checked_out_without_an_upstream() -> Result<()> {
    let env = env()?;
    env.run(env.command("git")?.args(["update-ref", "refs/remotes/origin/main", "HEAD"]))?.ended(0)?;
    env.run(env.command("git")?.args(["remote", "add", "origin", "/nowhere"]))?.ended(0)?;
    let script = "git checkout -q -b new origin/main; git branch --show-current";
    assert_eq!(sh(&env, &env.project(), "default", script)?.ended(0)?.stdout, "new\n");
    Ok(())
}

#[test]
fn a_linked_worktree_is_worked_in_and_the_shared_settings_stay_closed() -> Result<()> {
    let env = env()?;
    let tree = env.repo()?.worktree("side")?;
    // `gc` would also tidy what is the main checkout's own.
    let outcome = sh(&env, &tree, "default", &WORK.replace("git gc -q; ", ""))?.ended(0)?;
    assert_eq!(outcome.stdout, "A Person second\n", "{}", outcome.stderr);
    let main = env.project().join(".git");
    for (name, what) in [
        ("hooks/pre-commit", "echo"),
        ("config", "[x]"),
        ("info/attributes", "*"),
        ("HEAD", "x"),
        ("index", "x"),
    ] {
        let file = main.join(name);
        let before = std::fs::read(&file).ok();
        let script = format!("echo '{what}' >>'{}'", file.display());
        assert_ne!(sh(&env, &tree, "default", &script)?.code, 0, "{name}");
        assert_eq!(std::fs::read(&file).ok(), before, "{name}");
    }
    // Who may not write the work tree does not write its records either.
    let outcome =
        sh(&env, &tree, "reader", "git log --format=%s -1; git branch mine 2>/dev/null || echo refused")?;
    assert_eq!(outcome.ended(0)?.stdout, "second\nrefused\n");
    Ok(())
}

#[test]
fn scratch_repositories_can_be_made_and_none_in_the_work_tree() -> Result<()> {
    let env = env()?;
    let script = "cd \"$TMPDIR\"; git init -q r; cd r; echo x >f; git add f; git commit -qm x; git log --format=%s; git clone -q . ../c; ls ../c";
    assert_eq!(sh(&env, &env.project(), "default", script)?.ended(0)?.stdout, "x\nf\n");
    let outcome = sh(
        &env,
        &env.project(),
        "default",
        "git init -q sub 2>/dev/null || echo refused; mv \"$TMPDIR\"/r . 2>/dev/null; ls -A",
    )?;
    assert!(outcome.stdout.starts_with("refused"), "{}", outcome.stdout);
    let script = "git init -q \"$TMPDIR\"/r; mv \"$TMPDIR\"/r moved 2>/dev/null || cp -r \"$TMPDIR\"/r copied 2>/dev/null || echo refused";
    sh(&env, &env.project(), "default", script)?;
    for name in ["sub", "moved", "copied"] {
        let git = env.project().join(name).join(".git");
        assert!(!git.join("config").exists() && !git.join("hooks").exists(), "{name}");
    }
    Ok(())
}

#[test]
fn a_link_cannot_stand_where_settings_are_looked_for() -> Result<()> {
    let env = env()?;
    let script = "mkdir evil; for name in .claude .codex .github .cursor; do ln -s evil $name 2>/dev/null && echo made; done; ln -s a.txt fine && cat fine";
    assert_eq!(sh(&env, &env.project(), "default", script)?.ended(0)?.stdout, "one\n");
    Ok(())
}
