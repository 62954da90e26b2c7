//! After a session there is no process, no socket and no home, however it ended.

use crate::place::{POLICY, each_user, names, own, remit, sh, state};
use crate::watch::{Session, all_gone, called, mark, marked};
use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use test_support::TestEnv;

fn files_below(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.symlink_metadata()?.is_dir() {
            true => found.extend(files_below(&path)?),
            false => found.push(path.display().to_string()),
        }
    }
    Ok(found)
}

/// No socket and no folder for one, no home, no note of placeholders.
fn nothing_is_left(env: &TestEnv) -> Result<()> {
    assert_eq!(files_below(&env.root().join("run"))?, Vec::<String>::new());
    assert_eq!(std::fs::read_dir(env.root().join("run/remit"))?.count(), 0, "a folder for sockets was left");
    assert_eq!(std::fs::read_dir(state(env)?.join("homes"))?.count(), 0, "a home was left");
    let placeholders = std::fs::read(state(env)?.join("placeholders.json")).unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(&placeholders), "", "a placeholder is still noted");
    assert_eq!(std::fs::read_dir(env.tmp())?.count(), 0, "something was left in TMPDIR");
    assert_eq!(names(env, "")?, [".git", "remit.yaml", "src", "sub"]);
    Ok(())
}

#[test]
fn what_a_session_started_in_the_background_ends_with_it() -> Result<()> {
    each_user(POLICY, |env| {
        let mark = mark();
        let script = format!(
            "sleep {mark} & setsid sleep {mark} & (trap '' HUP TERM INT; setsid sleep {mark}) >/dev/null 2>&1 </dev/null & echo started"
        );
        let outcome = sh(env, &script)?.ended(0)?;
        assert_eq!(outcome.stdout, "started\n");
        all_gone(&mark)?;
        nothing_is_left(env)
    })
}

#[test]
fn a_session_that_never_started_leaves_nothing() -> Result<()> {
    each_user(POLICY, |env| {
        remit(env, &["run", "--", "./absent"])?.ended(125)?;
        nothing_is_left(env)
    })
}

#[test]
fn a_home_deeper_than_any_path_is_removed() -> Result<()> {
    each_user(POLICY, |env| {
        let deep = "import os\nfor folder in (os.environ['HOME'], os.environ['TMPDIR']):\n os.chdir(folder)\n for level in range(2000):\n  os.mkdir('d'); os.chdir('d')\n open('file', 'w')";
        remit(env, &["run", "--", "python3", "-c", deep])?.ended(0)?;
        nothing_is_left(env)
    })
}

#[test]
fn killing_the_holder_leaves_nothing_running_and_loses_no_record() -> Result<()> {
    each_user(POLICY, |env| {
        let mark = mark();
        let script = format!("sleep {mark} & echo x >src/made; echo ready; exec sleep {mark}");
        let session = Session::start(env, &script)?;
        assert!(!marked(&mark)?.is_empty());
        session.signal(Signal::KILL)?;
        session.end()?;
        all_gone(&mark)?;
        let outcome = remit(env, &["verify", "--json"])?.ended(0)?;
        assert_eq!(serde_json::from_slice::<Value>(&outcome.raw)?["intact"], true);
        let outcome = remit(env, &["log", "--path", "src/made", "--effect", "allow"])?.ended(0)?;
        assert!(outcome.stdout.contains("create [PROJECT]/src/made"), "{}", outcome.stdout);
        // The next one works, and clears away what the dead one could not.
        sh(env, "echo again >src/made")?.ended(0)?;
        assert_eq!(names(env, "")?, [".git", "remit.yaml", "src", "sub"]);
        assert_eq!(remit(env, &["verify"])?.code, 0);
        Ok(())
    })
}

#[test]
fn a_holder_that_is_told_to_end_takes_the_session_with_it() -> Result<()> {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let (env, mark) = (own()?, mark());
        let session = Session::start(&env, &format!("echo ready; exec sleep {mark}"))?;
        session.signal(signal)?;
        session.end()?;
        all_gone(&mark)?;
        assert_eq!(remit(&env, &["verify"])?.code, 0, "{signal:?}");
        sh(&env, "true")?.ended(0)?;
        assert_eq!(names(&env, "")?, [".git", "remit.yaml", "src", "sub"], "{signal:?}");
    }
    Ok(())
}

#[test]
fn killing_the_gate_ends_the_session_and_the_answer_is_not_a_success() -> Result<()> {
    let (env, mark) = (own()?, mark());
    let session = Session::start(&env, &format!("echo ready; exec sleep {mark}"))?;
    // The gate is the parent of the program.
    let program = called(&mark, "sleep")?;
    let status = std::fs::read_to_string(format!("/proc/{program}/status"))?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:\t")?.parse().ok());
    let gate = parent.and_then(rustix::process::Pid::from_raw).context("a parent")?;
    rustix::process::kill_process(gate, Signal::KILL)?;
    let (code, _) = session.end()?;
    assert_ne!(code, Some(0));
    all_gone(&mark)?;
    assert_eq!(remit(&env, &["verify"])?.code, 0);
    Ok(())
}
