//! The demonstration: what it says, what it leaves behind, and for what it waits.

use crate::place::own;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use test_support::TestEnv;

/// The scratch repositories that are there.
fn left(env: &TestEnv) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(env.tmp())?.map(|entry| Ok(entry?.path()));
    let all = entries.collect::<Result<Vec<_>>>()?;
    Ok(all.into_iter().filter(|path| path.to_string_lossy().contains("remit-demo-")).collect())
}

#[test]
fn without_a_terminal_or_with_once_nothing_is_left() -> Result<()> {
    let env = own()?;
    for args in [&["demo"][..], &["demo", "--once"]] {
        let outcome = env.run(&mut env.remit(args)?)?.ended(0)?;
        assert!(
            outcome.stdout.contains("refused  Write backend/server.py (by the hook)"),
            "{}",
            outcome.stdout
        );
        assert!(!outcome.stdout.contains("Enter"), "{}", outcome.stdout);
        assert!(left(&env)?.is_empty(), "{args:?}");
    }
    Ok(())
}

#[test]
fn what_is_to_be_kept_is_kept_and_named_and_can_be_looked_at() -> Result<()> {
    let env = own()?;
    for args in [&["demo", "--keep"][..], &["demo", "--keep", "--once"]] {
        let outcome = env.run(&mut env.remit(args)?)?.ended(0)?;
        let [folder] = left(&env)?.try_into().map_err(|all| anyhow::anyhow!("{all:?}"))?;
        let text = String::from_utf8(outcome.raw)?;
        assert!(text.contains(&format!("rm -r {} removes it all", folder.display())), "{text}");
        let mut log = env.remit(["log", "--effect", "deny"])?;
        log.env("REMIT_STATE_DIR", folder.join("state")).current_dir(folder.join("shop"));
        assert!(env.run(&mut log)?.ended(0)?.stdout.contains("deny"), "{args:?}");
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}

#[test]
fn on_a_terminal_it_says_that_it_waits_and_enter_removes_it_all() -> Result<()> {
    let env = own()?;
    let remit = env.stage(env!("CARGO_BIN_EXE_remit").as_ref())?;
    let mut script = env.command("script")?;
    script.args(["-qec", &format!("{} demo", remit.display()), "/dev/null"]);
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("a pipe")?;
    let mut output = BufReader::new(child.stdout.take().context("a pipe")?);
    // The last thing that it says before it waits has no end of line.
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains("Enter removes it all, Ctrl-C leaves it there.") {
        anyhow::ensure!(output.read_until(b'.', &mut said)? > 0, "{}", String::from_utf8_lossy(&said));
    }
    assert_eq!(left(&env)?.len(), 1);
    input.write_all(b"\n")?;
    output.read_to_end(&mut said)?;
    assert_eq!(child.wait()?.code(), Some(0));
    assert!(left(&env)?.is_empty());
    Ok(())
}
