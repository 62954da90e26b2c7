//! One policy gives one answer at every door: the same cases through `explain`, through the hook, and through
//! the kernel, where a confined program really tries.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

mod deeds;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;
use test_support::TestEnv;

const POLICY: &str = r#"version: "1.0"
default_policy: deny
global_rules:
  - {path: "secrets/**", access: none, for: all}
  - {path: "**/.env", access: none, for: all}
agents:
  default:
    permissions:
      - {path: "src/**", access: all}
      - {path: "src/gen/**", access: read}
      - {path: "docs/**", access: read}
      - {path: "notes.md", access: read-write}
  everywhere:
    permissions:
      - {path: ".", access: all}
"#;

const FILES: &[&str] = &[
    "src/a.rs",
    "src/gen/g.rs",
    "docs/d.md",
    "notes.md",
    "secrets/s",
    ".env",
    "src/.env",
    "other/o.txt",
    ".mcp.json",
    "src/.claude/settings.json",
];

/// Agent, file, and whether it may be written and read.
const CASES: &[(&str, &str, bool, bool)] = &[
    ("default", "src/a.rs", true, true),
    ("default", "src/new.rs", true, true),
    ("default", "src/gen/g.rs", false, true),
    ("default", "src/gen/new.rs", false, true),
    ("default", "docs/d.md", false, true),
    ("default", "notes.md", true, true),
    ("default", "secrets/s", false, false),
    ("default", ".env", false, false),
    ("default", "src/.env", false, false),
    ("default", "other/o.txt", false, false),
    ("default", "src/.claude/settings.json", false, true),
    ("everywhere", "other/o.txt", true, true),
    ("everywhere", "secrets/s", false, false),
    ("everywhere", "new/.env", false, false),
    ("everywhere", "remit.yaml", false, true),
    ("everywhere", ".mcp.json", false, true),
    ("everywhere", ".git/hooks/pre-commit", false, true),
    ("everywhere", ".git/config", false, true),
    ("everywhere", ".git/description", true, true),
];

fn workspace(env: &TestEnv) -> Result<()> {
    let repo = env.repo()?;
    repo.write("remit.yaml", POLICY)?;
    for file in FILES {
        repo.write(file, "text\n")?;
    }
    std::fs::create_dir_all(env.project().join("new"))?;
    Ok(())
}

fn explain(env: &TestEnv, agent: &str, verb: &str, file: &str) -> Result<bool> {
    let outcome = env.run(&mut env.remit(["explain", agent, verb, file])?)?;
    match outcome.code {
        0 => Ok(true),
        1 => Ok(false),
        code => anyhow::bail!("{code}: {}", outcome.stderr),
    }
}

fn hook(env: &TestEnv, agent: &str, tool: &str, file: &Path) -> Result<bool> {
    let root = env.project().display().to_string();
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": root, "tool_name": tool,
        "tool_use_id": format!("t-{agent}-{tool}-{}", file.display().to_string().replace(|c: char| !c.is_alphanumeric(), "_")),
        "tool_input": {"file_path": file, "content": "x", "old_string": "a", "new_string": "b"},
    });
    hooked(env, agent, &payload.to_string())
}

/// Whether the hook lets a call be made that it is told of outside of a session.
fn hooked(env: &TestEnv, agent: &str, payload: &str) -> Result<bool> {
    let root = env.project().display().to_string();
    let args = ["hook", "claude", "PreToolUse", "--root", &root, "--agent", agent];
    let outcome = env.feed(&mut env.remit(args)?, payload.as_bytes())?;
    match outcome.code {
        0 => Ok(true),
        2 => {
            let said: Value = serde_json::from_slice(&outcome.raw)?;
            let decision = &said["hookSpecificOutput"]["permissionDecision"];
            anyhow::ensure!(decision == "deny", "{said}");
            Ok(false)
        }
        code => anyhow::bail!("{code}: {}", outcome.stderr),
    }
}

/// What confined programs could do: for each case of the agent, one line `w` or `-`, then `r` or `-`.
fn kernel(env: &TestEnv, agent: &str) -> Result<Vec<(bool, bool)>> {
    let mut script = String::new();
    for (_, file, ..) in CASES.iter().filter(|c| c.0 == agent) {
        // Reading first: what is not there before it is written cannot be read, and says so by its code.
        script.push_str(&format!(
            "if [ -e '{file}' ]; then cat '{file}' >/dev/null 2>&1 && r=r || r=-; else r=?; fi\n\
             echo more 2>/dev/null >>'{file}' && w=w || w=-\necho \"$w$r\"\n"
        ));
    }
    let outcome = env.run(&mut env.remit(["run", agent, "--", "sh", "-c", &script])?)?.ended(0)?;
    let may = |line: &str| -> Result<(bool, bool)> {
        let (write, read) = line.split_at_checked(1).context("a short line")?;
        Ok((write == "w", read == "r"))
    };
    outcome.stdout.lines().map(may).collect()
}

#[test]
fn explain_hook_and_kernel_give_one_answer() -> Result<()> {
    let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
    workspace(&env)?;
    for (agent, file, write, read) in CASES {
        assert_eq!(explain(&env, agent, "write", file)?, *write, "explain: {agent} write {file}");
        assert_eq!(explain(&env, agent, "read", file)?, *read, "explain: {agent} read {file}");
        let path = env.project().join(file);
        assert_eq!(hook(&env, agent, "Write", &path)?, *write, "hook: {agent} Write {file}");
        assert_eq!(hook(&env, agent, "Read", &path)?, *read, "hook: {agent} Read {file}");
    }
    for agent in ["default", "everywhere"] {
        let cases = CASES.iter().filter(|c| c.0 == agent);
        let existed: Vec<bool> = cases.clone().map(|c| env.project().join(c.1).exists()).collect();
        let seen = kernel(&env, agent)?;
        assert_eq!(seen.len(), existed.len());
        for (((_, file, write, read), (may_write, may_read)), existed) in cases.zip(seen).zip(existed) {
            assert_eq!(may_write, *write, "kernel: {agent} write {file}");
            assert_eq!(may_read, *read && existed, "kernel: {agent} read {file}");
        }
    }
    Ok(())
}
