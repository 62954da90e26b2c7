//! Bad input gets a clear error or a denial: never a panic, never exit 1 from `hook`, never an ungoverned run.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

use anyhow::{Context, Result};
use serde_json::json;
use test_support::TestEnv;
use test_support::env::Outcome;

const POLICY: &str = "version: \"1.0\"\nagents:\n  default:\n    permissions: [{path: \".\", access: all}]\n";

fn env() -> Result<TestEnv> {
    Ok(TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit")))
}

fn policy(env: &TestEnv, text: impl AsRef<[u8]>) -> Result<()> {
    env.write(env.project().join("remit.yaml"), text).map(drop)
}

fn remit(env: &TestEnv, args: &[&str]) -> Result<Outcome> {
    env.run(&mut env.remit(args)?)
}

/// Runs a command that would leave a trace, and makes sure that it did not.
fn nothing_runs(env: &TestEnv) -> Result<Outcome> {
    let outcome = remit(env, &["run", "--", "sh", "-c", "echo ran >ran.txt; echo ran"])?;
    assert_eq!(outcome.code, 125, "{}{}", outcome.stdout, outcome.stderr);
    assert!(!outcome.stdout.contains("ran") && !env.project().join("ran.txt").exists(), "{}", outcome.stdout);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
    Ok(outcome)
}

#[test]
fn a_broken_policy_is_named_with_its_place_and_nothing_runs() -> Result<()> {
    let env = env()?;
    let deny_all = "version: \"1.0\"\nagents: {default: {permissions: [{path: ";
    for (text, code, place) in [
        ("version: \"1.0\"\nagents: [\n", "yaml", "remit.yaml:"),
        ("version: \"1.0\"\nagnts: {}\n", "unknown-key", "remit.yaml:2:1"),
        (
            "version: \"1.0\"\nagents: {a: {permissions: [{path: x, access: rread}]}}\n",
            "unknown-access",
            "remit.yaml:2",
        ),
        (&format!("{deny_all}\"../up\", access: all}}]}}}}\n"), "dots-in-pattern", "remit.yaml:2"),
        (&format!("{deny_all}\"a\\0b\", access: all}}]}}}}\n"), "", "remit.yaml:2"),
        (&format!("{deny_all}\"$HOME/x\", access: all}}]}}}}\n"), "variable-in-pattern", "remit.yaml:2"),
        ("version: \"1.0\"\ndefault_policy: allow\nagents: {}\n", "insecure-default", "remit.yaml:2"),
        ("", "empty", "remit.yaml"),
    ] {
        policy(&env, text)?;
        let outcome = nothing_runs(&env)?;
        let shown = outcome.stderr.replace("\u{1b}", "");
        assert!(shown.contains(code), "{text:?}: {shown}");
        assert!(shown.contains(place), "{text:?}: {shown}");
        assert_eq!(remit(&env, &["check"])?.code, 3, "{text:?}");
        assert_eq!(remit(&env, &["check", "--json"])?.code, 3, "{text:?}");
        assert_eq!(remit(&env, &["explain", "default", "read", "x"])?.code, 3, "{text:?}");
    }
    policy(&env, [0xff, 0xfe, 0x00])?;
    nothing_runs(&env)?;
    Ok(())
}

#[test]
fn without_a_policy_nothing_runs_and_the_way_out_is_named() -> Result<()> {
    let env = env()?;
    env.repo()?;
    let outcome = nothing_runs(&env)?;
    assert!(outcome.stderr.contains("remit init"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn a_planted_policy_further_down_does_not_loosen_a_hook() -> Result<()> {
    let env = env()?;
    let root = env.project();
    policy(&env, "version: \"1.0\"\nagents: {default: {permissions: [{path: src, access: read}]}}\n")?;
    env.write(root.join("src/remit.yaml"), POLICY)?;
    let cwd = root.join("src").display().to_string();
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": cwd, "tool_name": "Write", "tool_use_id": "t1",
        "tool_input": {"file_path": format!("{cwd}/a"), "content": ""},
    });
    let root = root.display().to_string();
    let mut command = env.remit(["-C", &cwd, "hook", "claude", "PreToolUse", "--root", &root])?;
    let outcome = env.feed(&mut command, payload.to_string().as_bytes())?;
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("`src read`"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn hook_input_of_any_kind_answers_zero_or_two() -> Result<()> {
    let env = env()?;
    policy(&env, POLICY)?;
    let root = env.project().display().to_string();
    let call = |event: &str, input: &[u8]| -> Result<Outcome> {
        let args = ["hook", "claude", event, "--root", &root];
        env.feed(&mut env.remit(args)?, input)
    };
    let long = vec![b' '; 33 << 20];
    let inputs: [&[u8]; 10] = [
        b"",
        b"   \n",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe{}",
        br#"{"hook_event_name":"PreToolUse"}"#,
        br#"{"hook_event_name":"Tomorrow","tool_name":"Write","tool_input":{}}"#,
        br#"{"hook_event_name":"PreToolUse","tool_name":"NotebookEdit","tool_use_id":"t","cwd":"/","tool_input":{"notebook_path":"/x","edit_mode":"sideways"}}"#,
        &long,
    ];
    for input in inputs {
        let shown = String::from_utf8_lossy(&input[..input.len().min(80)]).into_owned();
        let outcome = call("PreToolUse", input)?;
        assert_eq!(outcome.code, 2, "{shown}: {}", outcome.stderr);
        assert!(outcome.stdout.contains("\"deny\""), "{shown}: {}", outcome.stdout);
        for event in ["PostToolUse", "Stop", "SessionEnd", "Tomorrow"] {
            let outcome = call(event, input)?;
            assert!(matches!(outcome.code, 0 | 2), "{event} {shown}: {}", outcome.code);
        }
    }
    for args in [
        &["hook", "claude", "PreToolUse"][..],
        &["hook", "nobody", "PreToolUse"],
        &["hook", "claude", "PreToolUse", "--root", "/nowhere"],
    ] {
        let outcome = env.feed(&mut env.remit(args)?, b"{}")?;
        assert_eq!(outcome.code, 2, "{args:?}: {}", outcome.stderr);
    }
    Ok(())
}

#[test]
fn a_ledger_that_cannot_be_written_stops_the_session_and_the_hook() -> Result<()> {
    let env = env()?;
    policy(&env, POLICY)?;
    assert_eq!(remit(&env, &["run", "--", "true"])?.code, 0);
    let state = std::fs::read_dir(env.state())?.next().context("a state folder")??.path();
    let segment = state.join("ledger/000001.jsonl");
    let before = std::fs::read(&segment)?;
    // A file may not grow beyond one block: every append fails, as on a full disk.
    let exe = env!("CARGO_BIN_EXE_remit");
    let limited = |rest: &str| format!("ulimit -f 1; exec {exe} {rest}");
    let mut run = env.command("/bin/sh")?;
    let outcome = env.run(run.args(["-c", &limited("run -- sh -c 'echo ran; echo x >ran.txt'")]))?;
    assert_eq!(outcome.code, 125, "{}{}", outcome.stdout, outcome.stderr);
    assert!(!env.project().join("ran.txt").exists());
    let root = env.project().display().to_string();
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": root, "tool_name": "Write", "tool_use_id": "t1",
        "tool_input": {"file_path": format!("{root}/a"), "content": ""},
    });
    let mut hook = env.command("/bin/sh")?;
    hook.args(["-c", &limited(&format!("hook claude PreToolUse --root {root} --agent default"))]);
    let outcome = env.feed(&mut hook, payload.to_string().as_bytes())?;
    assert_eq!(outcome.code, 2, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("ledger"), "{}", outcome.stderr);
    // Nothing that was acknowledged is lost, and what was torn is sealed by the next writer.
    assert!(std::fs::read(&segment)?.starts_with(&before));
    assert_eq!(remit(&env, &["run", "--", "true"])?.code, 0);
    assert_eq!(remit(&env, &["verify"])?.code, 0);
    Ok(())
}

#[test]
fn odd_command_lines_are_usage_errors() -> Result<()> {
    let env = env()?;
    policy(&env, POLICY)?;
    for (args, code) in [(&["run", "--frobnicate"][..], 2), (&["frobnicate"], 2)] {
        let outcome = remit(&env, args)?;
        assert_eq!(outcome.code, code, "{args:?}: {}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.stderr.contains("error"), "{args:?}: {}", outcome.stderr);
    }
    Ok(())
}
