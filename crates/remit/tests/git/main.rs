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

#[test]
fn a_hidden_file_stops_git_inside_until_it_is_ignored_as_check_says() -> Result<()> {
    let env = env()?;
    let policy =
        POLICY.replace("agents:", "global_rules: [{path: \"**/.env\", access: none, for: all}]\nagents:");
    env.write(env.project().join("remit.yaml"), policy)?;
    env.repo()?.commit("a rule")?;
    env.write(env.project().join(".env"), "TOKEN=x\n")?;
    let check = || env.run(&mut env.remit(["check"])?)?.ended(0);
    let work = |script: &str| sh(&env, &env.project(), "default", script);
    let said = check()?.stderr;
    assert!(said.contains("none-not-ignored") && said.contains("add to `.gitignore`: `.env`"), "{said}");
    assert_ne!(work("echo x >new; git add -A")?.code, 0);
    assert_ne!(work("echo x >new; git stash -u")?.code, 0);
    env.write(env.project().join(".gitignore"), ".env\n")?;
    assert_eq!(check()?.stderr, "");
    work("echo x >new; git add -A; git stash -u; git stash pop")?.ended(0)?;
    Ok(())
}

#[test]
fn a_rebase_is_told_by_what_git_is_to_do_next_and_the_rest_is_counted() -> Result<()> {
    let env = env()?;
    let script = "git checkout -q -b side; echo 1 >b; git add b; git commit -qm b; git checkout -q -b other HEAD~1; echo 2 >c; git add c; git commit -qm c; git rebase -q side; echo x >.git/hooks/h || true";
    sh(&env, &env.project(), "default", script)?.ended(0)?;
    let log = env.run(&mut env.remit(["log", "-n", "0", "--path", ".git"])?)?.ended(0)?.stdout;
    let lines: Vec<&str> = log.lines().collect();
    let told = |part: &str| lines.iter().any(|line| line.contains(part));
    assert!(told("create [PROJECT]/.git/rebase-merge ") && told("/git-rebase-todo"), "{log}");
    assert!(told("deny  create [PROJECT]/.git/hooks/h"), "{log}");
    assert!(lines.len() < 8, "{log}");
    assert!(!told("/onto") && !told("/head-name"), "{log}");
    Ok(())
}
