//! What is told beside the ledger: the sink of `audit.log_file`, and the announcement of refusals.

use crate::place::{each_user, remit, sh, workspace};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;
use test_support::TestEnv;

const SINK: &str = r#"version: "1.0"
audit: {log_file: audit.jsonl}
global_rules:
  - {path: "secrets/**", access: none, for: all}
agents:
  default:
    permissions:
      - {path: ".", access: all}
"#;

/// Refuses and announces.
const ALERT: &str = r#"version: "1.0"
audit: {alert_on_violation: true}
global_rules:
  - {path: "out/**", access: read, for: all}
agents:
  default:
    permissions:
      - {path: ".", access: all}
"#;

/// The sink, as the ledger should have it.
fn is_whole(env: &TestEnv) -> Result<usize> {
    let log = remit(env, &["log", "--json", "-n", "0"])?.ended(0)?;
    let sink = fs::read(env.project().join("audit.jsonl"))?;
    anyhow::ensure!(sink == log.raw, "the sink differs from the log:\n{}", String::from_utf8_lossy(&sink));
    Ok(sink.iter().filter(|byte| **byte == b'\n').count())
}

fn alerts(env: &TestEnv) -> Result<Vec<Value>> {
    let log = remit(env, &["log", "--json", "--event", "alert"])?.ended(0)?;
    let text = String::from_utf8(log.raw)?;
    text.lines().map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone())).collect()
}

#[test]
fn the_sink_has_each_record_of_the_ledger_to_the_last() -> Result<()> {
    each_user(SINK, |env| {
        sh(env, "echo x >src/one.rs; echo x >>remit.yaml; exit 0")?.ended(0)?;
        let first = is_whole(env)?;
        let mode = fs::metadata(env.project().join("audit.jsonl"))?.permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        sh(env, "echo x >src/two.rs")?.ended(0)?;
        assert!(is_whole(env)? > first);
        let verified = remit(env, &["verify"])?.ended(0)?.stdout;
        assert!(
            verified.contains("`audit.jsonl` is a copy of the records, and not what is checked here"),
            "{verified}"
        );
        Ok(())
    })
}

#[test]
fn a_session_can_do_nothing_to_the_sink() -> Result<()> {
    each_user(SINK, |env| {
        sh(env, "true")?.ended(0)?;
        let script = "for deed in ': >audit.jsonl' 'echo x >>audit.jsonl' 'mv audit.jsonl b' 'rm -f audit.jsonl' \
                      'ln audit.jsonl src/b' 'truncate -s 0 audit.jsonl' 'echo x >n && mv n audit.jsonl' \
                      'chmod 666 audit.jsonl'; do \
                      (eval \"$deed\") 2>/dev/null && echo \"did $deed\"; done; rm -f n; exit 0";
        let outcome = sh(env, script)?.ended(0)?;
        assert_eq!(outcome.stdout, "", "{}", outcome.stderr);
        is_whole(env)?;
        let explained = remit(env, &["explain", "default", "write", "audit.jsonl"])?;
        assert!(explained.stdout.contains("the file to which records are written"), "{}", explained.stdout);
        Ok(())
    })
}

#[test]
fn what_a_killed_holder_has_left_out_comes_with_the_next() -> Result<()> {
    let env = workspace(TestEnv::new()?, SINK)?;
    for round in 0..3 {
        let mut sessions = Vec::new();
        for name in ["a", "b"] {
            let script = format!("n=0; while :; do n=$((n+1)); echo $n >src/{name}$n; done");
            let mut command = env.remit(["run", "--", "/bin/sh", "-c", &script])?;
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
            sessions.push(command.spawn()?);
        }
        let until = std::time::Instant::now() + Duration::from_secs(20);
        let done = |name: &str| env.project().join(format!("src/{name}{}", 20 + round)).exists();
        while !(done("a") && done("b")) {
            anyhow::ensure!(std::time::Instant::now() < until, "the sessions write nothing");
            std::thread::sleep(Duration::from_millis(10));
        }
        for mut session in sessions {
            let group = Pid::from_raw(i32::try_from(session.id())?).context("a process")?;
            kill_process_group(group, Signal::KILL)?;
            session.wait()?;
        }
        sh(&env, "rm -f src/a* src/b*")?;
        assert!(is_whole(&env)? > 40);
    }
    Ok(())
}

#[test]
fn a_sink_that_cannot_be_written_is_told_and_stops_nothing() -> Result<()> {
    let env = workspace(TestEnv::new()?, SINK)?;
    let file = env.project().join("audit.jsonl");
    std::os::unix::fs::symlink("src/other", &file)?;
    let outcome = sh(&env, "echo more >>src/a.rs")?.ended(0)?;
    assert!(
        outcome.stderr.contains("not held: `audit.log_file`: `audit.jsonl` is a link"),
        "{}",
        outcome.stderr
    );
    assert_eq!(fs::read_to_string(env.project().join("src/a.rs"))?, "text\nmore\n");
    assert!(!env.project().join("src/other").exists());
    sh(&env, "true")?.ended(0)?;
    let told = alerts(&env)?;
    assert_eq!(told.len(), 1, "it is told once: {told:#?}");
    fs::remove_file(&file)?;
    sh(&env, "true")?.ended(0)?;
    is_whole(&env)?;
    Ok(())
}

#[test]
fn refusals_are_announced_at_once_then_held_back_and_summed_up() -> Result<()> {
    each_user(ALERT, |env| {
        let outcome = sh(env, "mkdir -p d; for n in 1 2 3; do echo x >remit.yaml; done 2>/dev/null; exit 0")?;
        let outcome = outcome.ended(0)?;
        let said: Vec<&str> = outcome.stderr.lines().collect();
        let [first, rest, sum] = said.as_slice() else { anyhow::bail!("{said:?}") };
        assert!(first.starts_with("remit: refused default to write [PROJECT]/remit.yaml"), "{first}");
        assert!(rest.ends_with("; 1 more since the last"), "{rest}");
        assert!(sum.starts_with("remit: 3 refusals: `remit log --effect deny --session "), "{sum}");
        let alerts = alerts(env)?;
        let counts: Vec<_> = alerts.iter().map(|a| a["detail"]["alert"]["refusals"].as_u64()).collect();
        assert_eq!(counts, [Some(1), Some(2)]);
        assert_eq!(alerts[0]["detail"]["alert"]["to"], "standard error");
        let quiet = sh(env, "echo x >src/a.rs")?.ended(0)?;
        assert_eq!(quiet.stderr, "");
        Ok(())
    })
}

#[test]
fn nothing_in_a_name_acts_on_the_terminal() -> Result<()> {
    let env = workspace(TestEnv::new()?, ALERT)?;
    fs::create_dir(env.project().join("out"))?;
    let outcome = sh(&env, r#"echo x >"$(printf 'out/\033]0;x\007')" 2>/dev/null; exit 0"#)?;
    let outcome = outcome.ended(0)?;
    assert!(outcome.stderr.contains(r"\x1b]0;x\x07"), "{}", outcome.stderr);
    let announced = outcome.stderr.lines().filter(|line| line.starts_with("remit:")).collect::<String>();
    assert!(!announced.contains(['\u{1b}', '\u{7}']), "{announced:?}");
    Ok(())
}

#[test]
fn on_the_terminal_of_the_program_they_are_notifications_that_leave_the_screen_as_it_is() -> Result<()> {
    let env = workspace(TestEnv::new()?, ALERT)?;
    let remit = env.stage(env!("CARGO_BIN_EXE_remit").as_ref())?;
    let script = "echo begin; echo x >remit.yaml; sleep 1; echo end";
    let line = format!("{} run -- /bin/sh -c '{script}' ", remit.display());
    let mut command = env.command("script")?;
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm-256color").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let input = child.stdin.take();
    let outcome = child.wait_with_output()?;
    drop(input);
    let said = String::from_utf8(outcome.stdout)?;
    let note = "\u{1b}]9;remit: refused default to write ";
    let at = said.find(note).with_context(|| said.clone())?;
    let end = said[at..].find("\u{1b}\\").context("its end")?;
    assert!(!said[at..at + end].contains(['\n', '\r']), "{said:?}");
    assert!(said.find("end\r\n").is_some_and(|end| at < end), "while the program runs: {said:?}");
    assert!(said.contains("remit: 1 refusal: `remit log"), "{said:?}");
    assert_eq!(alerts(&env)?[0]["detail"]["alert"]["to"], "terminal");
    Ok(())
}
