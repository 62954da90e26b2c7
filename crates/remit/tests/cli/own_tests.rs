//! The policy's own tests: one that fails stops whoever would act under the policy, and nobody who only asks.

use crate::place::{POLICY, remit, trimmed, workspace};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use test_support::TestEnv;

/// A policy whose second test is wrong, or right.
fn tested(expect: &str) -> Result<TestEnv> {
    let env = workspace()?;
    let tests = format!(
        "tests:\n  - {{agent: default, verb: read, path: src/a.rs, expect: allow}}\n  - {{agent: default, verb: write, path: docs/x, expect: {expect}}}\n"
    );
    env.write(env.project().join("remit.yaml"), POLICY.to_owned() + &tests)?;
    Ok(env)
}

/// A call that the policy itself allows, by a hook that no session started.
fn hook(env: &TestEnv) -> Result<test_support::env::Outcome> {
    let root = env.project().display().to_string();
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "theirs", "cwd": root, "tool_name": "Write",
        "tool_use_id": "t", "tool_input": {"file_path": format!("{root}/src/new"), "content": ""},
    });
    let args = ["hook", "claude", "PreToolUse", "--root", &root, "--agent", "default"];
    env.feed(&mut env.remit(args)?, payload.to_string().as_bytes())
}

const WRONG: &str = "remit.yaml:14:57: `default` write `docs/x` came out as `deny`, not `allow`";

#[test]
fn nothing_runs_under_a_policy_that_fails_its_own_test() -> Result<()> {
    let env = tested("allow")?;
    let outcome = remit(&env, &["run", "--", "/bin/sh", "-c", "echo ran >src/new"])?.ended(125)?;
    assert!(!env.project().join("src/new").exists());
    let last = outcome.stderr.lines().last().context("a line")?;
    assert!(last.starts_with(&format!("error: `remit.yaml` has 1 error ({WRONG}")), "{last}");
    assert!(outcome.stderr.contains("error[failed-test]"), "{}", outcome.stderr);
    remit(&env, &["check"])?.ended(3)?;
    Ok(())
}

#[test]
fn the_hook_refuses_and_says_why_and_what_a_person_can_do() -> Result<()> {
    let env = tested("allow")?;
    let outcome = hook(&env)?.ended(2)?;
    let said: Value = serde_json::from_slice(&outcome.raw)?;
    assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "deny");
    let reason = said["hookSpecificOutput"]["permissionDecisionReason"].as_str().context("a reason")?;
    for part in [WRONG, "`remit check`", "`remit hooks uninstall claude`"] {
        assert!(reason.contains(part), "{part} is missing in: {reason}");
    }
    remit(&env, &["hooks", "install", "claude", "--agent", "default"])?.ended(0)?;
    let status = remit(&env, &["hooks", "status", "claude"])?.ended(0)?;
    assert!(
        status.stderr.contains("every call is refused") && status.stderr.contains(WRONG),
        "{}",
        status.stderr
    );
    Ok(())
}

#[test]
fn explain_answers_and_says_on_the_side_that_nothing_runs() -> Result<()> {
    let env = tested("allow")?;
    let outcome = remit(&env, &["explain", "default", "write", "src/a.rs"])?.ended(0)?;
    assert!(outcome.stdout.starts_with("allow  "), "{}", outcome.stdout);
    insta::assert_snapshot!(trimmed(&outcome.stderr), @"remit: a test of the policy itself fails, so nothing runs under it (remit.yaml:14:57: `default` write `docs/x` came out as `deny`, not `allow`: agent layer, not granted by rule `docs/** read` (remit.yaml:8))");
    Ok(())
}

#[test]
fn a_policy_that_passes_its_tests_is_not_spoken_of() -> Result<()> {
    let env = tested("deny")?;
    let outcome = remit(&env, &["explain", "default", "write", "src/a.rs"])?.ended(0)?;
    assert_eq!(outcome.stderr, "");
    remit(&env, &["run", "--", "/bin/true"])?.ended(0)?;
    hook(&env)?.ended(0)?;
    Ok(())
}

#[test]
fn what_a_session_has_beside_decides_no_test() -> Result<()> {
    let env = workspace()?;
    // A program from a folder of its own brings that folder into the session, and tests are about every session.
    let program = env.write(env.root().join("own/tool/run"), "#!/bin/sh\nexit 4\n")?;
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let program = program.display().to_string();
    let tests = format!("tests:\n  - {{agent: default, verb: execute, path: \"{program}\", expect: deny}}\n");
    env.write(env.project().join("remit.yaml"), POLICY.to_owned() + &tests)?;
    remit(&env, &["check"])?.ended(0)?;
    remit(&env, &["run", "--", &program])?.ended(4)?;
    Ok(())
}

/// A session also sees the folder of its own program. What a test says is about what all sessions have, and it must
/// come out in each as `check` says.
#[test]
fn what_one_session_has_beside_changes_no_test() -> Result<()> {
    for (expect, checked, ran) in [("deny", 0, 0), ("allow", 3, 125)] {
        let env = workspace()?;
        let program = env.root().join("tools/true");
        env.write(&program, "#!/bin/sh\nexit 0\n")?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        let path = env.root().join("tools/x").display().to_string();
        let test =
            format!("tests:\n  - {{agent: default, verb: read, path: \"{path}\", expect: {expect}}}\n");
        env.write(env.project().join("remit.yaml"), POLICY.to_owned() + &test)?;
        remit(&env, &["check"])?.ended(checked)?;
        remit(&env, &["run", "--", &program.display().to_string()])?.ended(ran)?;
    }
    Ok(())
}
