//! `remit hook` under bad conditions: it answers 0 or 2, says no where it cannot judge, and leaves a record.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files and processes")]

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use test_support::TestEnv;
use test_support::env::Outcome;

const POLICY: &str = r#"version: "1.0"
agents:
  claude:
    cli: claude
    permissions:
      - {path: ".", access: all}
      - {path: "out/**", access: read}
"#;

fn workspace() -> Result<TestEnv> {
    let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
    env.repo()?.write("remit.yaml", POLICY)?;
    std::fs::create_dir_all(env.project().join("out"))?;
    Ok(env)
}

fn payload(env: &TestEnv, tool: &str, id: &str, input: Value) -> String {
    json!({
        "hook_event_name": "PreToolUse", "session_id": "theirs", "cwd": env.project(), "tool_name": tool,
        "tool_use_id": id, "tool_input": input,
    })
    .to_string()
}

fn hook(env: &TestEnv, input: &[u8]) -> Result<Outcome> {
    let root = env.project().display().to_string();
    env.feed(&mut env.remit(["hook", "claude", "PreToolUse", "--root", &root, "--agent", "claude"])?, input)
}

fn bash(env: &TestEnv, command: &str) -> Result<Outcome> {
    hook(env, payload(env, "Bash", "t1", json!({"command": command})).as_bytes())
}

fn records(env: &TestEnv, more: &[&str]) -> Result<Vec<Value>> {
    let log = env.run(&mut env.remit([&["log", "--json"], more].concat())?)?.ended(0)?;
    let text = String::from_utf8(log.raw)?;
    text.lines().map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone())).collect()
}

#[test]
fn a_command_is_judged_where_it_will_run() -> Result<()> {
    let env = workspace()?;
    for allowed in [
        "[ -d /no/such ] && cd /no/such; echo > src/f",
        "cd out && ls; cd ..; echo > f",
        "cd /no/such 2>/dev/null; echo > f",
        "cd out || exit; cd /no/such || exit; echo > f",
        "f() { echo > out/f; }; echo",
        "touch -c out/nosuch",
        &format!("touch out/{}", "n".repeat(300)),
        "cat <<'E'\n$(echo > out/f)\nE",
    ] {
        assert_eq!(bash(&env, allowed)?.code, 0, "{allowed}");
    }
    for refused in [
        "cd /no/such 2>/dev/null; echo > out/f",
        "cd /no/such || cd out; echo > f",
        "false && cd src; echo > out/f",
        "true || cd src; echo > out/f",
        "if false; then cd src; fi; echo > out/f",
        "test $x && cd out; echo > f",
        "f() { echo > out/f; }; f",
        "cat <<E\n$(echo > remit.yaml)\nE",
    ] {
        assert_eq!(bash(&env, refused)?.code, 2, "{refused}");
    }
    Ok(())
}

#[test]
fn every_refusal_has_a_record_before_it() -> Result<()> {
    let env = workspace()?;
    let good = env.project().join("remit.yaml");
    let broken = [
        payload(&env, "Write", "t1", json!({"file_path": 7})),
        payload(&env, "Write", "t2", json!({"file_path": "a\u{0}b"})),
        "{not json".to_owned(),
        String::new(),
    ];
    for (n, input) in broken.iter().enumerate() {
        let refused = hook(&env, input.as_bytes())?.ended(2)?;
        assert!(!refused.stderr.contains("not recorded"), "{}", refused.stderr);
        assert_eq!(records(&env, &["--effect", "deny"])?.len(), n + 1, "{input}");
    }
    let found = records(&env, &["--call", "t1"])?;
    for (key, value) in [
        ("event", "call"),
        ("effect", "deny"),
        ("agent", "claude"),
        ("assurance", "claimed"),
        ("session", "theirs"),
        ("host", "claude"),
        ("tool", "Write"),
        ("door", "hook"),
        ("why", "the input of `Write` has a `file_path` that is not a string"),
    ] {
        assert_eq!(found[0][key], value, "{key}: {found:?}");
    }
    // A policy that cannot be read refuses, and that too is recorded.
    env.write(&good, "agents: [")?;
    let refused = hook(&env, payload(&env, "Write", "t9", json!({"file_path": "a"})).as_bytes())?.ended(2)?;
    assert!(!refused.stderr.contains("not recorded"), "{}", refused.stderr);
    env.write(&good, POLICY)?;
    let found = records(&env, &["--call", "t9"])?;
    assert!(found[0]["why"].as_str().context("why")?.contains("remit.yaml"), "{found:?}");
    assert_eq!(env.run(&mut env.remit(["verify"])?)?.code, 0);
    Ok(())
}

#[test]
fn a_folder_that_is_no_workspace_gets_no_state() -> Result<()> {
    let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
    let refused = hook(&env, b"{")?.ended(2)?;
    assert!(refused.stderr.contains("it is not recorded: `"), "{}", refused.stderr);
    assert_eq!(std::fs::read_dir(env.state()).map_or(0, Iterator::count), 0);
    Ok(())
}

/// A shell that does something first, and then becomes the hook.
fn after(env: &TestEnv, first: &str, event: &str) -> Result<Command> {
    let mut shell = env.command("/bin/sh")?;
    let root = env.project().display().to_string();
    let exe = env!("CARGO_BIN_EXE_remit");
    shell.args(["-c", &format!("{first}; exec {exe} hook claude {event} --root '{root}' --agent claude")]);
    Ok(shell)
}

#[test]
fn no_limit_and_no_signal_makes_it_end_otherwise_than_with_its_answer() -> Result<()> {
    let env = workspace()?;
    let input = payload(&env, "Write", "t1", json!({"file_path": "a"}));
    for limit in ["-f 0", "-S -t 1", "-n 4", "-c 0", "-s 64"] {
        let outcome =
            env.feed(&mut after(&env, &format!("ulimit {limit}"), "PreToolUse")?, input.as_bytes())?;
        assert!(matches!(outcome.code, 0 | 2), "{limit}: {} {}", outcome.code, outcome.stderr);
        assert_eq!(outcome.code, if limit == "-f 0" { 2 } else { outcome.code }, "{limit}");
    }
    for (event, code) in [("PreToolUse", 2), ("Tomorrow", 2), ("Stop", 0)] {
        for signal in ["HUP", "INT", "QUIT", "TERM", "ALRM", "USR1", "XCPU", "SEGV", "ABRT", "SYS", "RTMIN"] {
            let mut child = after(&env, ":", event)?
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            let pid = child.id().to_string();
            let caught = || -> Result<bool> {
                let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
                let mask =
                    status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).context("a mask")?;
                Ok(status.contains("Name:\tremit") && u64::from_str_radix(mask, 16)? & 1 << 14 != 0)
            };
            while !caught()? {
                std::thread::yield_now();
            }
            assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status()?.success());
            assert_eq!(child.wait()?.code(), Some(code), "{event} {signal}");
        }
    }
    Ok(())
}

#[test]
fn a_limit_on_files_is_the_programs_own_and_ends_no_session() -> Result<()> {
    let env = workspace()?;
    env.write(env.project().join("remit.yaml"), POLICY.replace("  claude:\n    cli: claude", "  default:"))?;
    let exe = env!("CARGO_BIN_EXE_remit");
    // The program of a session meets its limit as any other: it is ended by a signal.
    let script = format!("ulimit -f 64; exec {exe} run -- sh -c 'head -c 100000 /dev/zero >big; echo $?'");
    let outcome = env.run(env.command("/bin/sh")?.args(["-c", &script]))?.ended(0)?;
    assert!(outcome.stdout.contains("153"), "{}", outcome.stdout);
    Ok(())
}

#[test]
fn where_the_process_stands_does_not_matter_where_it_is_not_asked() -> Result<()> {
    let env = workspace()?;
    let gone = env.tmp().join("gone");
    let from_nowhere = |args: &str| -> Result<Command> {
        std::fs::create_dir_all(&gone)?;
        let mut shell = env.command("/bin/sh")?;
        let exe = env!("CARGO_BIN_EXE_remit");
        shell.args(["-c", &format!("cd '{0}' && rmdir '{0}' && exec {exe} {args}", gone.display())]);
        Ok(shell)
    };
    let root = env.project().display().to_string();
    let input = payload(&env, "Write", "t1", json!({"file_path": "a"}));
    for named in [format!("--root '{root}'"), format!("--root . -C '{root}'")] {
        let mut command = from_nowhere(&format!("hook claude PreToolUse {named}"))?;
        let outcome = env.feed(&mut command, input.as_bytes())?;
        assert_eq!(outcome.code, 0, "{named}: {}", outcome.stderr);
    }
    let mut lost = from_nowhere("hook claude PreToolUse --root .")?;
    let outcome = env.feed(&mut lost, input.as_bytes())?.ended(2)?;
    assert!(outcome.stderr.contains("the workspace `.` cannot be found"), "{}", outcome.stderr);
    assert_eq!(env.run(&mut from_nowhere(&format!("-C '{root}' check"))?)?.code, 0);
    assert_eq!(env.run(&mut from_nowhere("man")?)?.code, 0);
    let outcome = env.run(&mut from_nowhere("check")?)?;
    assert_eq!(outcome.code, 4, "{}", outcome.stderr);
    Ok(())
}

#[test]
fn a_tool_that_is_taken_away_is_refused_with_its_rule_in_one_record() -> Result<()> {
    let env = workspace()?;
    let more = "    tools: {deny: [\"mcp__db__*\", WebFetch]}\n    roles: [few]\nroles:\n  few: {tools: {allow: [Read, WebFetch, \"mcp__*\"]}}\n";
    env.write(env.project().join("remit.yaml"), format!("{POLICY}{more}"))?;
    let out = json!({"file_path": env.project().join("out/a")});
    for (id, tool, input, place) in [
        ("t1", "WebFetch", json!({"url": "https://example.org"}), Some("remit.yaml:8")),
        ("t2", "mcp__db__drop", json!({}), Some("remit.yaml:8")),
        ("t3", "Bash", json!({"command": "rm -r out"}), Some("remit.yaml:11")),
        ("t4", "mcp__web__get", json!({}), None),
        ("t5", "Read", out, None),
    ] {
        let outcome = hook(&env, payload(&env, tool, id, input).as_bytes())?;
        let records: Vec<Value> =
            records(&env, &["-n", "0"])?.into_iter().filter(|r| r["call"] == id).collect();
        assert_eq!(
            (outcome.code, records.len()),
            (if place.is_some() { 2 } else { 0 }, 1),
            "{tool}: {records:#?}"
        );
        let [record] = records.as_slice() else { continue };
        assert_eq!(record["tool"], tool);
        let Some(place) = place else { continue };
        assert!(
            outcome.stderr.contains(place) && outcome.stderr.contains("[layer agent]"),
            "{}",
            outcome.stderr
        );
        assert_eq!((&record["verb"], &record["layer"]), (&json!("call"), &json!("agent")), "{record:#}");
        assert_eq!(record["rule_at"], place, "{record:#}");
        let told = env.run(&mut env.remit(["explain", "claude", "call", tool])?)?.ended(1)?;
        assert!(told.stdout.contains(place.trim_start_matches("remit.yaml")), "{}", told.stdout);
    }
    let told = env.run(&mut env.remit(["explain", "claude", "call", "Read"])?)?.ended(0)?;
    assert!(told.stdout.contains("no rule takes this tool away"), "{}", told.stdout);
    Ok(())
}

const AUDIT: &str = r#"version: "1.0"
audit: {log_file: audit.jsonl, alert_on_violation: true, alert: {command: ["sh", "-c", "cat >>src/alerts"]}}
agents:
  claude:
    permissions:
      - {path: ".", access: all}
      - {path: "out/**", access: read}
"#;

fn audited() -> Result<TestEnv> {
    let env = workspace()?;
    env.write(env.project().join("remit.yaml"), AUDIT)?;
    std::fs::create_dir_all(env.project().join("src"))?;
    Ok(env)
}

#[test]
fn the_sink_has_what_hooks_outside_of_sessions_record_and_what_was_missed() -> Result<()> {
    let env = audited()?;
    // Nobody's terminal plays a part here.
    let quiet = AUDIT.replace("alert_on_violation: true", "alert_on_violation: false");
    env.write(env.project().join("remit.yaml"), quiet)?;
    let is_whole = || -> Result<usize> {
        let log = env.run(&mut env.remit(["log", "--json", "-n", "0"])?)?.ended(0)?;
        let sink = std::fs::read(env.project().join("audit.jsonl"))?;
        assert_eq!(sink, log.raw);
        Ok(sink.iter().filter(|byte| **byte == b'\n').count())
    };
    bash(&env, "echo > out/f")?.ended(2)?;
    bash(&env, "echo >src/f")?.ended(0)?;
    assert_eq!(is_whole()?, 2);
    // A call that the hook cannot judge.
    hook(&env, b"{")?.ended(2)?;
    assert_eq!(is_whole()?, 3);
    // As if one had been killed in the middle of a line.
    let sink = env.project().join("audit.jsonl");
    let text = std::fs::read(&sink)?;
    std::fs::write(&sink, &text[..text.len() - 40])?;
    bash(&env, "echo > audit.jsonl")?.ended(2)?;
    assert_eq!(is_whole()?, 4);
    std::fs::remove_file(&sink)?;
    std::os::unix::fs::symlink("src/f", &sink)?;
    bash(&env, "echo >src/g")?.ended(0)?;
    let told = records(&env, &["--event", "alert"])?;
    assert!(told[0]["why"].to_string().contains("`audit.jsonl` is a link"), "{told:?}");
    assert!(!env.project().join("src/f").exists());
    Ok(())
}

#[test]
fn a_refusal_outside_of_sessions_is_announced_on_the_terminal_and_the_next_ones_are_held_back() -> Result<()>
{
    let env = audited()?;
    let remit = env.stage(env!("CARGO_BIN_EXE_remit").as_ref())?;
    let root = env.project();
    let call = payload(&env, "Bash", "t1", json!({"command": "echo > out/f"}));
    env.write(env.home().join("call.json"), call)?;
    let line = format!(
        "{} hook claude PreToolUse --root {} --agent claude <{}/call.json >/dev/null 2>&1",
        remit.display(),
        root.display(),
        env.home().display()
    );
    let mut said = Vec::new();
    for _ in 0..2 {
        let mut command = env.command("script")?;
        command.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null());
        said.push(env.run(&mut command)?.stdout);
    }
    assert!(said[0].contains("\u{1b}]9;remit: refused claude to create [PROJECT]/out/f"), "{said:?}");
    assert!(!said[1].contains("remit"), "{said:?}");
    let alerts = records(&env, &["--event", "alert"])?;
    let to: Vec<&Value> = alerts.iter().map(|alert| &alert["detail"]["alert"]["to"]).collect();
    assert_eq!(to, ["terminal"]);
    assert_eq!(alerts[0]["agent"], "claude");
    assert!(!root.join("src/alerts").exists(), "nobody has trusted the policy whose program this is");
    Ok(())
}

#[test]
fn a_policy_that_asks_for_what_nothing_holds_yet_is_refused_by_name() -> Result<()> {
    let env = workspace()?;
    assert_eq!(bash(&env, "true")?.code, 0);
    let policy = format!("{POLICY}    network: {{allow: [\"example.org:443\"]}}\n");
    env.write(env.project().join("remit.yaml"), &policy)?;
    let outcome = bash(&env, "true")?;
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("`network` is not held yet"), "{}", outcome.stderr);
    env.write(env.project().join("remit.yaml"), format!("{policy}sandbox: advisory\n"))?;
    assert_eq!(bash(&env, "true")?.code, 0);
    Ok(())
}

#[test]
fn a_program_of_a_policy_that_a_person_has_trusted_is_handed_the_refusal() -> Result<()> {
    let env = audited()?;
    env.run(&mut env.remit(["trust", "--yes"])?)?.ended(0)?;
    bash(&env, "echo > out/f")?.ended(2)?;
    let alerts = env.project().join("src/alerts");
    // The hook does not wait for it.
    let start = std::time::Instant::now();
    let told = loop {
        match std::fs::read_to_string(&alerts) {
            Ok(text) if text.ends_with('\n') => break text,
            _ if start.elapsed().as_secs() > 20 => anyhow::bail!("nobody was told"),
            _ => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    let record: Value = serde_json::from_str(&told)?;
    assert!(record.to_string().contains("out/f") && record.to_string().contains("deny"), "{record:#}");
    let alerts = records(&env, &["--event", "alert"])?;
    assert_eq!(alerts.len(), 1, "{alerts:#?}");
    Ok(())
}

#[test]
fn an_alert_hands_its_program_the_record_and_a_failure_is_told_once() -> Result<()> {
    let env = audited()?;
    bash(&env, "echo >src/f")?.ended(0)?;
    let state = std::fs::read_dir(env.state())?.next().context("a state")??.path();
    let send = |script: &str| {
        let order = json!({
            "command": ["sh", "-c", script], "workspace": env.project(), "state": state,
            "ledger": state.join("ledger"), "variables": {"REMIT_PATH": "/w/x"}, "line": "{\"seq\":7}\n",
        });
        env.feed(&mut env.remit(["send-alert"])?, order.to_string().as_bytes())?.ended(0)
    };
    send("{ cat; echo $REMIT_PATH; } >src/got")?;
    assert_eq!(std::fs::read_to_string(env.project().join("src/got"))?, "{\"seq\":7}\n/w/x\n");
    for _ in 0..2 {
        send("exit 3")?;
    }
    let told = records(&env, &["--event", "alert"])?;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["why"], "the program `sh` of `audit.alert` failed with code 3");
    Ok(())
}
