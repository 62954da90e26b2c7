//! Words of agents and of other programs, shown to a person: none of them acts on a terminal or forges a line.

use crate::place::{remit, workspace};
use anyhow::{Context, Result};
use remit_core::path::is_unprintable;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use test_support::TestEnv;

/// Clears the screen, forges a line, begins a command by one byte, turns the writing.
const NASTY: &str =
    "x\u{1b}[2J\n     9 2026-01-01T00:00:00Z  default  allow\u{9b}31m\r\u{7}\u{202e}\u{200f}\\x1b";

/// Fails if something of it would act on a terminal; line ends are ours.
fn harmless(text: &str) -> Result<()> {
    let bad = text.chars().find(|c| *c != '\n' && is_unprintable(*c));
    anyhow::ensure!(bad.is_none(), "{bad:?} in {text:?}");
    Ok(())
}

/// A hook call, as the host of an agent makes it.
fn hook(env: &TestEnv, event: &str, rest: &Value) -> Result<()> {
    let root = env.project().display().to_string();
    let mut payload = json!({"hook_event_name": event, "session_id": NASTY, "cwd": root, "agent_id": NASTY});
    payload.as_object_mut().context("an object")?.extend(rest.as_object().context("an object")?.clone());
    let args = ["hook", "claude", event, "--root", &root, "--agent", "default"];
    let outcome = env.feed(&mut env.remit(args)?, payload.to_string().as_bytes())?;
    harmless(&outcome.stderr)?;
    assert!(matches!(outcome.code, 0 | 2), "{}", outcome.code);
    Ok(())
}

/// A ledger with such words in every place that an agent fills.
fn recorded() -> Result<TestEnv> {
    let env = workspace()?;
    let script = format!(": '{NASTY}'; echo x >\"docs/$(printf 'a\\033[2J\\nb')\"; exit 0");
    remit(&env, &["run", "--", "/bin/sh", "-c", &script])?.ended(0)?;
    let root = env.project().display().to_string();
    let file = json!({"file_path": format!("{root}/docs/{NASTY}"), "content": NASTY});
    for (id, tool, input) in [
        ("t1", "Write", file.clone()),
        ("t2", NASTY, file),
        ("t3", "Bash", json!({"command": format!("echo '{NASTY}'")})),
        ("t4", NASTY, json!({})),
        // What cannot be judged is recorded with what is wrong with it.
        ("t5", "NotebookEdit", json!({"notebook_path": "x", "edit_mode": NASTY})),
        ("t6", "Write", json!({"file_path": format!("{NASTY}\0")})),
        (NASTY, "Bash", json!({"command": "true"})),
    ] {
        hook(&env, "PreToolUse", &json!({"tool_name": tool, "tool_use_id": id, "tool_input": input}))?;
    }
    hook(&env, "SubagentStart", &json!({}))?;
    Ok(env)
}

#[test]
fn a_record_is_one_line_of_the_log_whatever_an_agent_wrote() -> Result<()> {
    let env = recorded()?;
    let outcome = remit(&env, &["log", "-n", "0"])?.ended(0)?;
    let text = String::from_utf8(outcome.raw)?;
    harmless(&text)?;
    let json = String::from_utf8(remit(&env, &["log", "-n", "0", "--json"])?.ended(0)?.raw)?;
    harmless(&json)?;
    let records: Vec<Value> = json.lines().map(|l| Ok(serde_json::from_str(l)?)).collect::<Result<_>>()?;
    assert_eq!(text.lines().count(), records.len(), "{text}");
    for (number, line) in text.lines().enumerate() {
        assert!(line.trim_start().starts_with(&format!("{} 20", number + 1)), "{line}");
    }
    // JSON says what was written, byte for byte.
    let record = |key: &str, value: &str| records.iter().any(|line| line["record"][key] == value);
    assert!(record("tool", NASTY) && record("subagent", NASTY) && record("conversation", NASTY), "{json}");
    assert!(text.contains(r"[x\x1b[2J\x0a"), "{text}");
    assert!(text.contains(r"has an unknown `edit_mode`: `x\x1b[2J\x0a"), "{text}");
    assert!(text.contains(r"\\x1b"), "what only looks like an escape is told from one: {text}");
    harmless(&remit(&env, &["verify"])?.ended(0)?.stdout)
}

#[test]
fn nor_does_anything_else_that_a_command_shows() -> Result<()> {
    let env = recorded()?;
    let name = "a\u{1b}[2J\u{9b}\u{202e}";
    env.write(env.project().join("secrets").join(name), "")?;
    env.repo()?.git(["add", "--force", "secrets"])?;
    env.repo()?.commit("with an odd name")?;
    let settings = env.project().join(".claude/settings.local.json");
    let program = env.write(
        env.root().join("bin").join("loud"),
        format!("#!/bin/sh\nprintf '{name}\\033[2J' >&2\nexit 1\n"),
    )?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    remit(&env, &["hooks", "install", "claude"])?.ended(0)?;
    let text = std::fs::read_to_string(&settings)?;
    let bent = text.replace(env!("CARGO_BIN_EXE_remit"), &program.display().to_string());
    for (args, part) in [
        (&["check"][..], r"a\x1b[2J"),
        (&["explain", "default", "read", name], r"a\x1b[2J"),
        (&["explain", "default", "read", name, "--json"], "a"),
        (&["explain", "default", "connect", &format!("{name}:1")], r"a\x1b[2J"),
        (&["explain", name, "read", "x"], r"a\x1b[2J"),
        (&["explain", "default", name, "x"], r"a\x1b[2J"),
        (&["run", name], r"a\x1b[2J"),
        (&["run", "--", name], r"a\x1b[2J"),
        (&["-C", name, "check"], r"a\x1b[2J"),
        (&["log", "--since", name], r"a\x1b[2J"),
        (&["log", "--agent", name], r"a\x1b[2J"),
        (&["hooks", "install", name], r"a\x1b[2J"),
        (&["check", name], r"a\x1b[2J"),
        (&["hooks", "test", "claude"], r"a\x1b[2J"),
        (&["hooks", "test", "claude", "--json"], "refused"),
    ] {
        env.write(&settings, if args.contains(&"test") { &bent } else { &text })?;
        let outcome = remit(&env, args)?;
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        harmless(&said).with_context(|| args.join(" "))?;
        assert!(said.contains(part), "{args:?}: {said}");
    }
    Ok(())
}

#[test]
fn a_policy_that_was_cloned_shows_nothing_that_acts_on_a_terminal() -> Result<()> {
    let env = workspace()?;
    for text in [
        "version: \"1.0\"\nagents:\n  \"a\\e[2J\": {permissions: []}\n",
        "version: \"1.0\"\nagents: {default: {permissions: [{path: \"gone\\e[2J\\x9b\\u202e\", access: all}]}}\n",
        "version: \"1.0\"\nagents: {default: {permisions\u{9b}2J: 1}}\n",
        "version: \"1.0\" # \u{1b}[2J\nagents: []\nx: 1\n",
        "version: \"1.0\"\nagents: {default: {cli: \"a\\e[2J\", permissions: [{path: \".\", access: all}]}}\n",
    ] {
        env.write(env.project().join("remit.yaml"), text)?;
        for args in [
            &["check"][..],
            &["explain", "default", "read", "gone"],
            &["run", "default"],
            &["hooks", "status", "claude"],
        ] {
            let outcome = remit(&env, args)?;
            harmless(&format!("{}{}", outcome.stdout, outcome.stderr))
                .with_context(|| format!("{args:?} {text:?}"))?;
        }
    }
    Ok(())
}

#[test]
fn a_workspace_with_an_odd_name_is_named_harmlessly() -> Result<()> {
    let env = workspace()?;
    for name in [&b"odd\x1b[2J\n\xff"[..], b"odd\x1b[2J\n"] {
        let odd = env.root().join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir(&odd)?;
        for args in [
            &["check"][..],
            &["hooks", "status", "claude"],
            &["hooks", "uninstall", "claude"],
            &["init"],
            &["hooks", "install", "claude"],
            &["hooks", "status", "claude"],
            &["hooks", "test", "claude"],
            &["hooks", "uninstall", "claude"],
            &["run", "--", "./gone"],
            &["doctor"],
            &["log"],
        ] {
            let outcome = env.run(env.remit(args)?.current_dir(&odd))?;
            harmless(&format!("{}{}", outcome.stdout, outcome.stderr)).with_context(|| args.join(" "))?;
        }
    }
    Ok(())
}
