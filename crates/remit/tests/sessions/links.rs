//! Links with protected names: where they lead is protected with them.

use crate::place::{POLICY, each_user, remit, sh};
use anyhow::Result;
use std::fs;
use std::os::unix::fs::symlink;
use test_support::TestEnv;

fn link(env: &TestEnv, at: &str, to: &str) -> Result<()> {
    let at = env.project().join(at);
    fs::create_dir_all(at.parent().unwrap_or(&at))?;
    match fs::symlink_metadata(&at) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(&at)?,
        Ok(_) => fs::remove_file(&at)?,
        Err(_) => {}
    }
    symlink(to, &at)?;
    std::os::unix::fs::lchown(&at, Some(env.uid()), Some(env.uid()))?;
    if let Some(folder) = at.parent() {
        std::os::unix::fs::chown(folder, Some(env.uid()), Some(env.uid()))?;
    }
    Ok(())
}

/// Each try changes what the file says, or fails.
fn kept(env: &TestEnv, target: &str, tries: &[&str]) -> Result<()> {
    let before = fs::read_to_string(env.project().join(target))?;
    for attempt in tries {
        let outcome = sh(env, attempt)?;
        assert_ne!(outcome.code, 0, "{attempt}: {}{}", outcome.stdout, outcome.stderr);
        assert_eq!(fs::read_to_string(env.project().join(target))?, before, "{attempt}");
    }
    Ok(())
}

#[test]
fn what_a_hook_that_is_a_link_runs_cannot_be_changed() -> Result<()> {
    each_user(POLICY, |env| {
        env.write(env.project().join("scripts/pre-commit"), "#!/bin/sh\n")?;
        env.write(env.project().join("scripts/other"), "#!/bin/sh\n")?;
        link(env, ".git/hooks/pre-commit", "../../way")?;
        link(env, "way", "scripts/pre-commit")?;
        kept(
            env,
            "scripts/pre-commit",
            &[
                "echo evil >>scripts/pre-commit",
                "rm -f scripts/pre-commit",
                "mv scripts old",
                "mv scripts/other scripts/pre-commit",
                "ln -sfn other way",
                "chmod 0 scripts",
            ],
        )?;
        sh(env, "echo fine >>scripts/other")?.ended(0)?;
        Ok(())
    })
}

#[test]
fn a_folder_of_hooks_that_is_a_link_leads_to_protected_hooks_and_their_links() -> Result<()> {
    each_user(POLICY, |env| {
        env.write(env.project().join("scripts/gh/pre-push"), "#!/bin/sh\n")?;
        env.write(env.project().join("tools/real"), "#!/bin/sh\n")?;
        link(env, ".git/hooks", "../scripts/gh")?;
        link(env, "scripts/gh/pre-commit", "../../tools/real")?;
        kept(env, "scripts/gh/pre-push", &["echo evil >>scripts/gh/pre-push"])?;
        kept(env, "tools/real", &["echo evil >>tools/real", "echo x >scripts/gh/post-merge"])
    })
}

#[test]
fn settings_by_way_of_links_are_protected_whether_they_exist_yet_or_not() -> Result<()> {
    each_user(POLICY, |env| {
        env.write(env.project().join("conf/mcp.json"), "{}")?;
        env.write(env.project().join("dot/claude/notes"), "text\n")?;
        link(env, ".mcp.json", "conf/mcp.json")?;
        link(env, "sub/.claude", "../dot/claude")?;
        link(env, ".cursor/hooks.json", "../conf/absent.json")?;
        kept(
            env,
            "conf/mcp.json",
            &[
                "echo x >conf/mcp.json",
                "echo x >dot/claude/settings.json",
                "mkdir -p dot/claude/hooks",
                "echo x >conf/absent.json",
            ],
        )?;
        sh(env, "echo fine >>dot/claude/notes")?.ended(0)?;
        Ok(())
    })
}

#[test]
fn explain_check_and_a_hook_outside_say_the_same_and_name_the_link() -> Result<()> {
    each_user(POLICY, |env| {
        env.write(env.project().join("scripts/pre-commit"), "#!/bin/sh\n")?;
        link(env, ".git/hooks/pre-commit", "../../scripts/pre-commit")?;
        let outcome = remit(env, &["explain", "default", "write", "scripts/pre-commit"])?.ended(1)?;
        assert!(outcome.stdout.contains("by way of the link"), "{}", outcome.stdout);
        assert!(outcome.stdout.contains(".git/hooks/pre-commit"), "{}", outcome.stdout);
        let outcome = remit(env, &["check"])?.ended(0)?;
        assert!(outcome.stderr.contains("protected-link"), "{}{}", outcome.stdout, outcome.stderr);
        let call = format!(
            r#"{{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Write","cwd":"{0}","tool_input":{{"file_path":"{0}/scripts/pre-commit","content":"x"}}}}"#,
            env.project().display()
        );
        let outcome = env.feed(&mut env.remit(["hook", "claude", "PreToolUse"])?, call.as_bytes())?;
        assert!(outcome.stdout.contains("deny"), "{}{}", outcome.stdout, outcome.stderr);
        Ok(())
    })
}

#[test]
fn a_link_that_leads_in_a_circle_or_to_everything_is_refused_by_name() -> Result<()> {
    each_user(POLICY, |env| {
        for to in ["settings.json", "../.."] {
            link(env, ".claude/settings.json", to)?;
            let outcome = sh(env, "true")?;
            assert_eq!(outcome.code, 125, "{to}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(".claude/settings.json"), "{}", outcome.stderr);
        }
        link(env, ".claude/settings.json", "/dev/null")?;
        sh(env, "echo x >/dev/null")?.ended(0)?;
        Ok(())
    })
}
