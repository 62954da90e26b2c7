//! `remit hooks` and what it registers, by the real program: installed, shown, tested, called, taken out.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::PathBuf;
use test_support::TestEnv;
use test_support::env::Outcome;

const POLICY: &str = r#"version: "1.0"
agents:
  claude:
    cli: claude
    permissions:
      - {path: ".", access: all}
      - {path: "docs/**", access: read}
  reviewer:
    permissions:
      - {path: ".", access: read}
"#;

fn workspace() -> Result<TestEnv> {
    let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
    env.repo()?.write("remit.yaml", POLICY)?;
    Ok(env)
}

fn hooks(env: &TestEnv, args: &[&str]) -> Result<Outcome> {
    env.run(&mut env.remit([&["hooks"], args].concat())?)
}

fn settings(env: &TestEnv) -> PathBuf {
    env.project().join(".claude/settings.local.json")
}

fn parsed(env: &TestEnv) -> Result<Value> {
    Ok(serde_json::from_slice(&std::fs::read(settings(env))?)?)
}

/// The command that is registered for an event, alone in its group at the end.
fn registered(env: &TestEnv, event: &str) -> Result<Vec<String>> {
    let groups = parsed(env)?["hooks"][event].clone();
    let hook = &groups.as_array().and_then(|list| list.last()).context("a group")?["hooks"][0];
    let words = std::iter::once(&hook["command"]).chain(hook["args"].as_array().into_iter().flatten());
    words.map(|word| word.as_str().map(str::to_owned).context("a word")).collect()
}

#[test]
fn a_program_without_hooks_is_told_which_have_them() -> Result<()> {
    let env = workspace()?;
    for action in ["install", "uninstall", "status", "test"] {
        let outcome = hooks(&env, &[action, "cluade"])?.ended(6)?;
        assert_eq!(outcome.stdout, "");
        assert_eq!(
            outcome.stderr,
            "error: there are no hooks for a program `cluade`\nhint: did you mean `claude`? known here: `claude`\n"
        );
    }
    let outcome = hooks(&env, &["install", "banana"])?.ended(6)?;
    assert!(outcome.stderr.ends_with("hint: known here: `claude`\n"), "{}", outcome.stderr);
    let outcome = hooks(&env, &["install", "claude", "--agent", "reviwer"])?.ended(6)?;
    assert!(outcome.stderr.contains("did you mean `reviewer`?"), "{}", outcome.stderr);
    assert!(!settings(&env).exists());
    Ok(())
}

#[test]
fn outside_of_a_session_the_folder_for_temporary_files_is_the_machines_own() -> Result<()> {
    let env = workspace()?;
    hooks(&env, &["install", "claude"])?.ended(0)?;
    let place = if env.root().starts_with("/var/tmp") { "/tmp" } else { "/var/tmp" };
    let dir = tempfile::Builder::new().prefix("remit-").tempdir_in(place)?;
    let file = |name: &str| format!("{}{}/{name}", "../".repeat(20), dir.path().display());
    assert_eq!(call(&env, &file("notes"), "t1")?.code, 0);
    let refused = call(&env, &file(".git/hooks/pre-commit"), "t2")?.ended(2)?;
    assert!((refused.stdout + &refused.stderr).contains("what git runs by itself"));
    Ok(())
}

/// Calls what is registered before a tool call, as Claude Code does.
fn call(env: &TestEnv, file: &str, id: &str) -> Result<Outcome> {
    let root = env.project().display().to_string();
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "8c1f6bb4-ad23-4bb7-9e8e-0d1bb7f6f6a1", "cwd": root,
        "tool_name": "Write", "tool_use_id": id, "tool_input": {"file_path": format!("{root}/{file}"), "content": ""},
    });
    let words = registered(env, "PreToolUse")?;
    let (program, args) = words.split_first().context("a program")?;
    env.feed(env.command(program)?.args(args), payload.to_string().as_bytes())
}

const FOREIGN: &str = "{\n    \"permissions\" : { \"allow\": [\"Bash(ls:*)\"] },\n\t\"hooks\": {\"PreToolUse\": [ {\"matcher\":\"Bash\",\n \"hooks\":[{\"type\":\"command\",\"command\":\"echo foreign\"}]} ],\n      \"Notification\": []},\n  \"env\":{\"X\":\"\\u00e9 \\\\ é\"}   }\n\n";

#[test]
fn what_was_installed_is_taken_out_byte_for_byte() -> Result<()> {
    for before in
        [FOREIGN, "", "{}", "{ }\n", "\n{\"hooks\":{}}\n", &FOREIGN.replace('\n', "\r\n"), FOREIGN.trim_end()]
    {
        let env = workspace()?;
        env.write(settings(&env), before)?;
        hooks(&env, &["install", "claude"])?.ended(0)?;
        let after = std::fs::read_to_string(settings(&env))?;
        assert_ne!(after, before);
        assert_eq!(after.contains("echo foreign"), before.contains("echo foreign"));
        hooks(&env, &["status", "claude"])?.ended(0)?;
        hooks(&env, &["test", "claude"])?.ended(0)?;
        // A second time nothing changes, nor what is restored.
        hooks(&env, &["install", "claude"])?.ended(0)?;
        assert_eq!(std::fs::read_to_string(settings(&env))?, after);
        hooks(&env, &["uninstall", "claude"])?.ended(0)?;
        assert_eq!(std::fs::read_to_string(settings(&env))?, before);
        hooks(&env, &["status", "claude"])?.ended(1)?;
        hooks(&env, &["uninstall", "claude"])?.ended(0)?;
        assert_eq!(std::fs::read_to_string(settings(&env))?, before);
    }
    Ok(())
}

#[test]
fn a_file_that_was_not_there_is_gone_afterwards() -> Result<()> {
    let env = workspace()?;
    hooks(&env, &["install", "claude"])?.ended(0)?;
    hooks(&env, &["uninstall", "claude"])?.ended(0)?;
    assert!(!settings(&env).exists());
    Ok(())
}

#[test]
fn what_a_person_changed_in_between_stays() -> Result<()> {
    let env = workspace()?;
    env.write(settings(&env), FOREIGN)?;
    hooks(&env, &["install", "claude"])?.ended(0)?;
    let edited = std::fs::read_to_string(settings(&env))?.replacen("{\n", "{\n    \"model\": \"opus\",\n", 1);
    env.write(settings(&env), &edited)?;
    hooks(&env, &["status", "claude"])?.ended(0)?;
    hooks(&env, &["uninstall", "claude"])?.ended(0)?;
    let mut expected: Value = serde_json::from_str(FOREIGN)?;
    expected["model"] = "opus".into();
    assert_eq!(parsed(&env)?, expected);
    Ok(())
}

/// Several commands, what they said, and their codes.
fn transcript(env: &TestEnv, commands: &[&[&str]]) -> Result<String> {
    let mut all = String::new();
    for args in commands {
        let outcome = hooks(env, args)?;
        all.push_str(&format!("$ remit hooks {}\n{}", args.join(" "), outcome.stdout));
        all.extend(outcome.stderr.lines().map(|line| format!("2> {line}\n")));
        all.push_str(&format!("= {}\n", outcome.code));
    }
    Ok(all)
}

#[test]
fn what_is_said_to_a_person() -> Result<()> {
    let env = workspace()?;
    let before: [&[&str]; 2] = [&["status", "claude"], &["test", "claude"]];
    insta::assert_snapshot!(transcript(&env, &before)?, @"
    $ remit hooks status claude
    not in force: `remit hooks install claude`  [PROJECT]/.claude/settings.local.json
      PreToolUse          absent
      PostToolUse         absent
      PostToolUseFailure  absent
      SessionStart        absent
      UserPromptSubmit    absent
      Stop                absent
      SubagentStart       absent
      SubagentStop        absent
      SessionEnd          absent
    = 1
    $ remit hooks test claude
    not held  no hook of remit is registered for the event before a tool call
    2> hint: `remit hooks install claude` registers it
    = 1
    ");
    let during: [&[&str]; 4] =
        [&["install", "claude"], &["install", "claude"], &["status", "claude"], &["test", "claude"]];
    insta::assert_snapshot!(transcript(&env, &during)?, @"
    $ remit hooks install claude
    ok  [PROJECT]/.claude/settings.local.json asks remit before every tool call
    2> remit: hooks are advice that the program can lose; `remit run` lets the kernel hold the session
    = 0
    $ remit hooks install claude
    ok  [PROJECT]/.claude/settings.local.json has the hooks already
    = 0
    $ remit hooks status claude
    in force  [PROJECT]/.claude/settings.local.json, as the agent `claude`
      PreToolUse          current
      PostToolUse         current
      PostToolUseFailure  current
      SessionStart        current
      UserPromptSubmit    current
      Stop                current
      SubagentStart       current
      SubagentStop        current
      SessionEnd          current
    = 0
    $ remit hooks test claude
    ok  the registered hook refused a call that must be refused
    = 0
    ");
    let after: [&[&str]; 2] = [&["uninstall", "claude"], &["uninstall", "claude"]];
    insta::assert_snapshot!(transcript(&env, &after)?, @"
    $ remit hooks uninstall claude
    ok  [PROJECT]/.claude/settings.local.json was remit's alone, and is gone
    = 0
    $ remit hooks uninstall claude
    ok  [PROJECT]/.claude/settings.local.json has no hooks of remit
    = 0
    ");
    let log = env.run(&mut env.remit(["log", "--event", "hooks", "--json"])?)?.ended(0)?;
    let text = String::from_utf8(log.raw)?;
    let said: Vec<Value> = text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect::<Result<_>>()?;
    let words: Vec<&Value> = said.iter().map(|line| &line["record"]["detail"]["hooks"]).collect();
    assert_eq!(words.first(), Some(&&json!("installed")), "{said:?}");
    assert_eq!(words.last(), Some(&&json!("removed")), "{said:?}");
    Ok(())
}

#[test]
fn what_is_said_to_programs_and_of_another_agent() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["test", "claude", "--json"]])?, @r#"
    $ remit hooks test claude --json
    {"host":"claude","refused":false,"version":1,"why":"no hook of remit is registered for the event before a tool call"}
    = 1
    "#);
    hooks(&env, &["install", "claude"])?.ended(0)?;
    let after: [&[&str]; 3] = [
        &["status", "claude", "--json"],
        &["test", "claude", "--json"],
        &["status", "claude", "--agent", "reviewer"],
    ];
    insta::assert_snapshot!(transcript(&env, &after)?, @r#"
    $ remit hooks status claude --json
    {"agent":"claude","disabled":false,"events":{"PostToolUse":"current","PostToolUseFailure":"current","PreToolUse":"current","SessionEnd":"current","SessionStart":"current","Stop":"current","SubagentStart":"current","SubagentStop":"current","UserPromptSubmit":"current"},"host":"claude","in_force":true,"settings":"[PROJECT]/.claude/settings.local.json","version":1}
    = 0
    $ remit hooks test claude --json
    {"host":"claude","refused":true,"version":1,"why":""}
    = 0
    $ remit hooks status claude --agent reviewer
    not in force for `reviewer`: `remit hooks install claude --agent reviewer`  [PROJECT]/.claude/settings.local.json, as the agent `claude`
      PreToolUse          current
      PostToolUse         current
      PostToolUseFailure  current
      SessionStart        current
      UserPromptSubmit    current
      Stop                current
      SubagentStart       current
      SubagentStop        current
      SessionEnd          current
    = 1
    "#);
    Ok(())
}

#[test]
fn a_malformed_file_is_named_and_left_alone() -> Result<()> {
    for (text, place) in [
        ("{\"a\":", "line 1"),
        ("{\n  \"hooks\": {,}\n}\n", "line 2"),
        ("[]\n", "line 1"),
        ("{\"hooks\": []}\n", "line 1"),
        ("{\"hooks\": {\"PreToolUse\": {}}}\n", "line 1"),
    ] {
        let env = workspace()?;
        env.write(settings(&env), text)?;
        for action in ["install", "status", "uninstall"] {
            let outcome = hooks(&env, &[action, "claude"])?;
            assert_eq!(outcome.code, 3, "{action} {text:?}: {}{}", outcome.stdout, outcome.stderr);
            assert!(outcome.stderr.contains(place), "{action} {text:?}: {}", outcome.stderr);
            assert_eq!(std::fs::read_to_string(settings(&env))?, text, "{action}");
        }
        assert_eq!(hooks(&env, &["test", "claude"])?.code, 1, "{text:?}");
    }
    Ok(())
}

#[test]
fn the_agent_is_the_one_that_is_named_or_the_one_called_like_the_program() -> Result<()> {
    let env = workspace()?;
    let agent = |env: &TestEnv| -> Result<Option<String>> {
        let words = registered(env, "PreToolUse")?;
        Ok(words.iter().position(|word| word == "--agent").and_then(|at| words.get(at + 1).cloned()))
    };
    hooks(&env, &["install", "claude"])?.ended(0)?;
    assert_eq!(agent(&env)?.as_deref(), Some("claude"));
    assert_eq!(call(&env, "src/a", "t1")?.code, 0);
    hooks(&env, &["install", "claude", "--agent", "reviewer"])?.ended(0)?;
    assert_eq!(agent(&env)?.as_deref(), Some("reviewer"));
    assert_eq!(parsed(&env)?["hooks"]["PreToolUse"].as_array().map(Vec::len), Some(1), "installed twice");
    assert_eq!(call(&env, "src/a", "t2")?.code, 2);
    hooks(&env, &["status", "claude", "--agent", "reviewer"])?.ended(0)?;
    // Whoever is registered is in force, without being named.
    hooks(&env, &["status", "claude"])?.ended(0)?;
    hooks(&env, &["status", "claude", "--agent", "claude"])?.ended(1)?;
    let before = std::fs::read(settings(&env))?;
    let outcome = hooks(&env, &["install", "claude", "--agent", "nobody"])?.ended(6)?;
    assert!(outcome.stderr.contains("`claude`, `reviewer`"), "{}", outcome.stderr);
    assert_eq!(std::fs::read(settings(&env))?, before);
    Ok(())
}

#[test]
fn without_an_agent_of_its_name_the_only_agent_is_meant_and_of_several_none() -> Result<()> {
    let env = workspace()?;
    let only = "version: \"1.0\"\nagents:\n  me: {permissions: [{path: src, access: all}]}\n";
    env.write(env.project().join("remit.yaml"), only)?;
    hooks(&env, &["install", "claude"])?.ended(0)?;
    assert!(!registered(&env, "PreToolUse")?.contains(&"--agent".to_owned()));
    assert_eq!(call(&env, "src/a", "t1")?.code, 0);
    assert_eq!(call(&env, "docs/a", "t2")?.code, 2);
    env.write(
        env.project().join("remit.yaml"),
        format!("{only}  you: {{permissions: [{{path: src, access: all}}]}}\n"),
    )?;
    let outcome = call(&env, "src/a", "t3")?;
    assert_eq!(outcome.code, 2, "{}", outcome.stdout);
    assert!(outcome.stderr.contains("me, you"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn outside_a_session_a_call_is_recorded_as_claimed_under_the_hosts_session() -> Result<()> {
    let env = workspace()?;
    hooks(&env, &["install", "claude"])?.ended(0)?;
    let allowed = call(&env, "src/a", "toolu_1")?.ended(0)?;
    assert_eq!((allowed.stdout.as_str(), allowed.stderr.as_str()), ("", ""));
    let refused = call(&env, "docs/a", "toolu_2")?.ended(2)?;
    let said: Value = serde_json::from_slice(&refused.raw)?;
    assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "deny");
    let reason = said["hookSpecificOutput"]["permissionDecisionReason"].as_str().context("a reason")?;
    assert!(reason.contains("`docs/** read` (remit.yaml:7)"), "{reason}");
    assert!(refused.stderr.contains("`docs/** read`"), "{}", refused.stderr);
    for (id, effect) in [("toolu_1", "allow"), ("toolu_2", "deny")] {
        let log = env.run(&mut env.remit(["log", "--json", "--call", id])?)?.ended(0)?;
        let line = String::from_utf8(log.raw)?;
        let record =
            serde_json::from_str::<Value>(line.lines().next().context("a record")?)?["record"].clone();
        for (key, value) in [
            ("assurance", "claimed"),
            ("session", "8c1f6bb4-ad23-4bb7-9e8e-0d1bb7f6f6a1"),
            ("conversation", "8c1f6bb4-ad23-4bb7-9e8e-0d1bb7f6f6a1"),
            ("agent", "claude"),
            ("host", "claude"),
            ("door", "hook"),
            ("tool", "Write"),
            ("effect", effect),
        ] {
            assert_eq!(record[key], value, "{id} {key}: {record}");
        }
    }
    assert_eq!(env.run(&mut env.remit(["verify"])?)?.code, 0);
    Ok(())
}

#[test]
fn a_hook_that_lost_its_program_or_was_bent_or_switched_off_is_not_in_force() -> Result<()> {
    let env = workspace()?;
    hooks(&env, &["install", "claude"])?.ended(0)?;
    let whole = std::fs::read_to_string(settings(&env))?;
    let remit = env!("CARGO_BIN_EXE_remit");
    for (bent, tested) in [
        (whole.replace(remit, "/no/such/remit"), 1),
        (whole.replace(&env.project().display().to_string(), "/no/such/folder"), 0),
        (whole.replacen("\"PreToolUse\"", "\"PreToolUsed\"", 1), 1),
        (whole.replacen("{\n", "{\n  \"disableAllHooks\": true,\n", 1), 1),
    ] {
        assert_ne!(bent, whole);
        env.write(settings(&env), &bent)?;
        let status = hooks(&env, &["status", "claude"])?;
        assert_eq!(status.code, 1, "{}", status.stdout);
        let outcome = hooks(&env, &["test", "claude"])?;
        assert_eq!(outcome.code, tested, "{bent}\n{}{}", outcome.stdout, outcome.stderr);
    }
    Ok(())
}

#[test]
fn settings_that_are_a_link_stay_one() -> Result<()> {
    let env = workspace()?;
    let real = env.write(env.root().join("dotfiles/claude.json"), FOREIGN)?;
    std::fs::create_dir(env.project().join(".claude"))?;
    std::os::unix::fs::symlink(&real, settings(&env))?;
    let installed = hooks(&env, &["install", "claude"])?;
    if installed.code == 0 {
        hooks(&env, &["uninstall", "claude"])?.ended(0)?;
    }
    assert!(settings(&env).symlink_metadata()?.is_symlink(), "{}{}", installed.stdout, installed.stderr);
    assert_eq!(std::fs::read_to_string(&real)?, FOREIGN);
    Ok(())
}

/// Each event's word in the rows of a status.
fn words(outcome: &Outcome) -> Vec<&str> {
    outcome.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect()
}

#[test]
fn whoever_is_registered_is_in_force_and_is_named() -> Result<()> {
    let env = workspace()?;
    for agent in ["reviewer", "claude"] {
        hooks(&env, &["install", "claude", "--agent", agent])?.ended(0)?;
        let status = hooks(&env, &["status", "claude"])?.ended(0)?;
        assert!(status.stdout.starts_with("in force  "), "{}", status.stdout);
        assert!(
            status.stdout.contains(&format!("settings.local.json, as the agent `{agent}`\n")),
            "{}",
            status.stdout
        );
        assert_eq!(words(&status), ["current"; 9]);
        let json: Value =
            serde_json::from_slice(&hooks(&env, &["status", "claude", "--json"])?.ended(0)?.raw)?;
        assert_eq!((&json["agent"], &json["in_force"]), (&json!(agent), &json!(true)));
    }
    // What is stale is so for the agent that is registered, and the advice keeps that agent.
    hooks(&env, &["install", "claude", "--agent", "reviewer"])?.ended(0)?;
    let whole = std::fs::read_to_string(settings(&env))?;
    env.write(settings(&env), whole.replace("\"block\"", "\"continue\""))?;
    let status = hooks(&env, &["status", "claude"])?.ended(1)?;
    assert!(
        status.stdout.starts_with("not in force: `remit hooks install claude --agent reviewer`  "),
        "{}",
        status.stdout
    );
    assert_eq!(words(&status), ["stale"; 9]);
    hooks(&env, &["install", "claude", "--agent", "reviewer"])?.ended(0)?;
    assert_eq!(std::fs::read_to_string(settings(&env))?, whole);
    // An agent that the policy does not have any more is refused everything.
    let policy = POLICY.replace("reviewer:", "renamed:");
    env.write(env.project().join("remit.yaml"), policy)?;
    let status = hooks(&env, &["status", "claude"])?.ended(0)?;
    assert!(status.stderr.contains("every call is refused"), "{}", status.stderr);
    assert!(status.stderr.contains("no agent `reviewer`"), "{}", status.stderr);
    assert_eq!(call(&env, "src/a", "t1")?.code, 2);
    Ok(())
}

#[test]
fn without_an_agent_the_status_says_so() -> Result<()> {
    let env = workspace()?;
    let only = "version: \"1.0\"\nagents:\n  me: {permissions: [{path: src, access: all}]}\n";
    env.write(env.project().join("remit.yaml"), only)?;
    hooks(&env, &["install", "claude"])?.ended(0)?;
    let status = hooks(&env, &["status", "claude"])?.ended(0)?;
    assert!(status.stdout.contains("settings.local.json, as the only agent\n"), "{}", status.stdout);
    let json: Value = serde_json::from_slice(&hooks(&env, &["status", "claude", "--json"])?.ended(0)?.raw)?;
    assert_eq!(json["agent"], Value::Null);
    Ok(())
}

/// Ways in which a policy can be missing or broken, each with a part of what is said.
const BROKEN: &[(&str, Option<&str>, &str)] = &[
    ("gone", None, "there is no `remit.yaml`"),
    ("half", Some("version: \"1.0\"\nagents:\n  claude: {permisions: []}\n"), "remit.yaml:3:12"),
    ("empty", Some(""), "`remit.yaml` has 1 error"),
    ("unknown role", Some("version: \"1.0\"\nagents:\n  claude: {roles: [nobody]}\n"), "remit.yaml:3:20"),
];

#[test]
fn where_the_policy_is_gone_or_broken_hooks_can_be_looked_at_and_taken_out() -> Result<()> {
    for (name, policy, said) in BROKEN {
        let env = workspace()?;
        env.write(settings(&env), FOREIGN)?;
        env.write(env.project().join("sub/deep/x"), "")?;
        hooks(&env, &["install", "claude"])?.ended(0)?;
        match policy {
            Some(text) => drop(env.write(env.project().join("remit.yaml"), text)?),
            None => std::fs::remove_file(env.project().join("remit.yaml"))?,
        }
        // The refusal says why, and both ways out.
        let refused = call(&env, "src/a", "t1")?.ended(2)?;
        for part in [said, "`remit check`", "`remit hooks uninstall claude`", "[PROJECT]"] {
            assert!(refused.stderr.contains(part), "{name}: {part} is missing in: {}", refused.stderr);
        }
        let deep = |args: &[&str]| env.run(env.remit(args)?.current_dir(env.project().join("sub/deep")));
        let status = deep(&["hooks", "status", "claude"])?.ended(0)?;
        assert!(status.stdout.starts_with("in force  [PROJECT]/.claude"), "{name}: {}", status.stdout);
        assert!(
            status.stderr.contains("every call is refused") && status.stderr.contains(said),
            "{name}: {}",
            status.stderr
        );
        deep(&["hooks", "install", "claude"])?.ended(3)?;
        deep(&["hooks", "uninstall", "claude"])?.ended(0)?;
        assert_eq!(std::fs::read_to_string(settings(&env))?, FOREIGN, "{name}");
        let status = deep(&["hooks", "status", "claude"])?.ended(1)?;
        assert_eq!(words(&status), ["absent"; 9], "{name}");
    }
    Ok(())
}

#[test]
fn where_nothing_is_registered_nothing_is_made() -> Result<()> {
    let env = workspace()?;
    std::fs::remove_file(env.project().join("remit.yaml"))?;
    hooks(&env, &["uninstall", "claude"])?.ended(0)?;
    hooks(&env, &["status", "claude"])?.ended(1)?;
    assert!(!env.state().exists() || std::fs::read_dir(env.state())?.next().is_none());
    Ok(())
}

#[test]
fn a_workspace_within_another_keeps_its_own_hooks_when_its_policy_is_gone() -> Result<()> {
    let env = workspace()?;
    let inner = env.project().join("inner");
    env.write(inner.join("remit.yaml"), POLICY)?;
    let within = |args: &[&str]| env.run(env.remit([&["hooks"], args].concat())?.current_dir(&inner));
    within(&["install", "claude"])?.ended(0)?;
    std::fs::remove_file(inner.join("remit.yaml"))?;
    let status = within(&["status", "claude"])?.ended(0)?;
    assert!(status.stdout.contains("[PROJECT]/inner/.claude"), "{}", status.stdout);
    within(&["uninstall", "claude"])?.ended(0)?;
    assert!(!inner.join(".claude").exists());
    Ok(())
}

#[test]
fn those_who_install_and_take_out_at_the_same_time_wait_for_each_other() -> Result<()> {
    let env = workspace()?;
    env.write(settings(&env), FOREIGN)?;
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..4)
            .map(|number| {
                let env = &env;
                scope.spawn(move || -> Result<()> {
                    for round in 0..4 {
                        let action = if (number + round) % 2 == 0 { "install" } else { "uninstall" };
                        hooks(env, &[action, "claude"])?.ended(0)?;
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|e| anyhow::anyhow!("{e:?}"))?)
    })?;
    hooks(&env, &["uninstall", "claude"])?.ended(0)?;
    assert_eq!(std::fs::read_to_string(settings(&env))?, FOREIGN);
    Ok(())
}
