//! The scratch machine: what programs see of it, and that nothing of it stays.
#![expect(clippy::disallowed_methods, reason = "the tests look at files and processes")]

use anyhow::Result;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};
use test_support::{TestEnv, env::NOBODY};

#[test]
fn a_program_sees_the_scratch_environment_and_nothing_of_ours() -> Result<()> {
    let env = TestEnv::new()?;
    let outcome = env.run(&mut env.command("env")?)?.ended(0)?;
    assert!(outcome.stdout.contains("HOME=[HOME]\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("REMIT_STATE_DIR=[STATE]\n"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("CARGO"), "{}", outcome.stdout);
    Ok(())
}

#[test]
fn commits_have_the_same_ids_in_every_run_and_for_every_user() -> Result<()> {
    let mut ids = Vec::new();
    for env in [TestEnv::new()?, TestEnv::new()?.as_user(NOBODY)?] {
        let repo = env.repo()?;
        repo.write("src/a.rs", "fn a() {}\n")?;
        let first = repo.commit("first")?;
        repo.write("src/a.rs", "fn b() {}\n")?;
        ids.push((first, repo.commit("second")?));
        let tree = repo.worktree("side")?;
        assert!(tree.join("src/a.rs").is_file());
    }
    assert_eq!(ids[0], ids[1]);
    assert_eq!(ids[0].0, "697c1038bfdc9bbb753834f8f33e533e5b3cc1f5");
    Ok(())
}

#[test]
fn another_user_owns_the_folders_and_reaches_a_staged_program() -> Result<()> {
    let env = TestEnv::new()?.as_user(NOBODY)?;
    // A folder that only its owner can enter.
    let hidden = tempfile::Builder::new().prefix("hidden-").tempdir()?;
    fs::set_permissions(hidden.path(), fs::Permissions::from_mode(0o700))?;
    let program = hidden.path().join("tool");
    fs::copy("/bin/sh", &program)?;
    let mut command = env.command(&program)?;
    command.args(["-c", "id -u && echo made > here && cat /proc/self/status"]);
    let outcome = env.run(&mut command)?.ended(0)?;
    assert!(outcome.stdout.starts_with(&format!("{}\n", env.uid())), "{}", outcome.stdout);
    if env.uid() == NOBODY {
        assert!(outcome.stdout.contains("CapEff:\t0000000000000000"), "{}", outcome.stdout);
    }
    assert_eq!(fs::read_to_string(env.project().join("here"))?, "made\n");
    Ok(())
}

#[test]
fn an_installed_program_is_found_by_its_name_and_can_be_replaced() -> Result<()> {
    for env in [TestEnv::new()?, TestEnv::new()?.as_user(NOBODY)?] {
        env.install("agent", Path::new("/bin/false"))?;
        env.install("agent", Path::new("/bin/echo"))?;
        let outcome = env.run(env.command("sh")?.args(["-c", "agent hello"]))?.ended(0)?;
        assert_eq!(outcome.stdout, "hello\n");
    }
    Ok(())
}

#[test]
fn what_a_test_leaves_running_and_read_only_is_gone_after_it() -> Result<()> {
    let env = TestEnv::new()?;
    let script = "mkdir -p deep/er && chmod 0 deep && (setsid sleep 600 >/dev/null 2>&1 & echo $!)";
    let outcome = env.run(env.command("sh")?.args(["-c", script]))?.ended(0)?;
    let process = format!("/proc/{}", outcome.stdout.trim());
    assert!(Path::new(&process).join("environ").exists());
    let root = env.root().to_path_buf();
    env.close()?;
    assert!(!root.exists());
    // Ended: gone, or not yet collected by its new parent, which shows as an empty environment.
    let environment = fs::read(Path::new(&process).join("environ")).unwrap_or_default();
    assert!(environment.is_empty());
    Ok(())
}

#[test]
fn a_program_that_ever_becomes_another_is_gone_after_its_test() -> Result<()> {
    for _ in 0..20 {
        let env = TestEnv::new()?;
        let again = env.project().join("again");
        env.write(&again, "exec sh ./again\n")?;
        let script = "setsid sh ./again >/dev/null 2>&1 & echo $!";
        let outcome = env.run(env.command("sh")?.args(["-c", script]))?.ended(0)?;
        let process = format!("/proc/{}/exe", outcome.stdout.trim());
        env.close()?;
        assert!(fs::read_link(&process).is_err());
    }
    Ok(())
}

#[test]
fn a_program_that_fails_is_told_with_all_it_said() -> Result<()> {
    let env = TestEnv::new()?;
    let outcome = env.feed(env.command("sh")?.args(["-c", "cat >&2; kill -9 $$"]), b"words")?;
    assert_eq!((outcome.code, outcome.stderr.as_str()), (137, "words"));
    let error = outcome.ended(0).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("137") && error.contains("words"), "{error}");
    Ok(())
}

#[test]
fn the_program_under_test_must_be_named() -> Result<()> {
    let error = TestEnv::new()?.remit(["check"]).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("with_remit"), "{error}");
    Ok(())
}
