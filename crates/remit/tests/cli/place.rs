//! A workspace to type commands in, and a transcript of what they said.

use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use test_support::TestEnv;
use test_support::env::Outcome;

/// All of the work tree but `docs/`, which may be read, and a second agent with less.
pub(crate) const POLICY: &str = r#"version: "1.0"
global_rules:
  - {path: "secrets/**", access: none, for: all}
agents:
  default:
    permissions:
      - {path: ".", access: all}
      - {path: "docs/**", access: read}
  narrow:
    permissions:
      - {path: "src/**", access: all}
"#;

/// An empty project.
pub(crate) fn empty() -> Result<TestEnv> {
    Ok(TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit")))
}

/// A project under [`POLICY`] with a few files.
pub(crate) fn workspace() -> Result<TestEnv> {
    let env = empty()?;
    let repo = env.repo()?;
    repo.write("remit.yaml", POLICY)?;
    // What is hidden inside, git does not want to add.
    repo.write(".git/info/exclude", "/secrets/\n")?;
    for file in ["src/a.rs", "docs/guide.md", "secrets/key", "sub/deep/x"] {
        repo.write(file, "text\n")?;
    }
    Ok(env)
}

/// Runs the program.
pub(crate) fn remit(env: &TestEnv, args: &[&str]) -> Result<Outcome> {
    env.run(&mut env.remit(args)?)
}

/// Runs a shell script as an agent, and answers its exit code. The script begins when the ledger says that it
/// was launched, so that the order of the records is the same every time.
pub(crate) fn session(env: &TestEnv, agent: &str, script: &str) -> Result<i32> {
    let started = || -> Result<usize> {
        let outcome = remit(env, &["log", "-n", "0", "--event", "moment"])?.ended(0)?;
        Ok(outcome.stdout.lines().count())
    };
    let before = started()?;
    let script = format!("read go; {script}");
    let mut command = env.remit(["run", agent, "--", "/bin/sh", "-c", &script])?;
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    while started()? == before {
        anyhow::ensure!(child.try_wait()?.is_none(), "the session has ended without a record");
    }
    child.stdin.take().context("a pipe")?.write_all(b"go\n")?;
    child.wait()?.code().context("an exit code")
}

/// Runs the program several times; what was typed, said and answered, one after the other.
pub(crate) fn transcript(env: &TestEnv, commands: &[&[&str]]) -> Result<String> {
    let mut out = String::new();
    for args in commands {
        let outcome = remit(env, args)?;
        writeln!(out, "$ remit {}", args.join(" "))?;
        out.push_str(&steady(&outcome.stdout));
        for line in steady(&outcome.stderr).lines() {
            writeln!(out, "2> {line}")?;
        }
        writeln!(out, "= {}", outcome.code)?;
    }
    Ok(trimmed(&out))
}

/// The same text without blanks at the ends of its lines.
pub(crate) fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The same text with placeholders for hashes, the beginnings of sessions' ids, and places in the ledger's files: the
/// records tell of the machine, and are longer on one than on another.
pub(crate) fn steady(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let hex = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (taken, shown) = match hex {
            64 => (64, "[SHA256]"),
            8 if out.ends_with(' ') && rest[8..].starts_with("  ") => (8, "[SESSION]"),
            1.. if out.ends_with(", byte ") => (hex, "[AT]"),
            // Longer or shorter runs of digits are something else, as a whole.
            1.. => (hex, &rest[..hex]),
            0 => (c.len_utf8(), &rest[..c.len_utf8()]),
        };
        out.push_str(shown);
        rest = &rest[taken..];
    }
    out
}

#[test]
fn only_hashes_and_places_are_replaced() {
    let hash = "0123456789abcdef".repeat(4);
    assert_eq!(steady(&format!("a {hash} b")), "a [SHA256] b");
    assert_eq!(steady(&format!("{hash}0")), format!("{hash}0"));
    assert_eq!(steady("12:34:56 é"), "12:34:56 é");
    assert_eq!(steady("a 0123abcd  x 0123abcd x"), "a [SESSION]  x 0123abcd x");
    assert_eq!(steady("record 3, byte 2005 of 12"), "record 3, byte [AT] of 12");
}
