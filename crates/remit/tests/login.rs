//! A person's login survives: shared where it lies, refreshed in place, and nothing else of the folder in sight.
#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "the tests look at files")]

use anyhow::Result;
use std::os::unix::fs::PermissionsExt;
use test_support::{Block, Claude, Model, Script, TestEnv};

const POLICY: &str =
    "version: \"1.0\"\nagents:\n  claude:\n    cli: claude\n    permissions: [{path: \".\", access: all}]\n";

const CREDENTIALS: &str = r#"{"claudeAiOauth":{"accessToken":"sk-ant-oat01-dummy","refreshToken":"sk-ant-ort01-dummy","expiresAt":4102444800000,"scopes":["user:inference","user:profile"],"subscriptionType":"pro"}}"#;

const OWN: &str = r#"{"hasCompletedOnboarding":true,"projects":{"/other":{"history":["private words"]}}}"#;

/// A person who is logged in and has a history, in a workspace with a policy.
fn person() -> Result<TestEnv> {
    let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
    env.repo()?;
    env.write(env.project().join("remit.yaml"), POLICY)?;
    let folder = env.home().join(".claude");
    let file = env.write(folder.join(".credentials.json"), CREDENTIALS)?;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600))?;
    env.write(folder.join("history.jsonl"), "private words\n")?;
    env.write(folder.join("projects/x/y.jsonl"), "private words\n")?;
    env.write(folder.join("settings.json"), "{\"model\":\"opus\"}\n")?;
    env.write(folder.join("commands/hello.md"), "say hello\n")?;
    env.write(env.home().join(".claude.json"), OWN)?;
    Ok(env)
}

/// Runs a script in the place of Claude Code.
fn pretend(env: &TestEnv, script: &str) -> Result<test_support::env::Outcome> {
    let program = env.write(env.root().join("pretend"), format!("#!/bin/sh\n{script}\n"))?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    env.install("claude", &program)?;
    env.run(&mut env.remit(["run", "claude", "--no-hooks"])?)
}

#[test]
fn the_real_program_is_logged_in_and_the_original_is_unharmed() -> Result<()> {
    let env = person()?;
    let model = Model::start(Script::new().run("RUN-L", [vec![Block::text("done")]]))?;
    Claude::install(&env)?;
    let args = ["run", "claude", "--"].iter().map(Into::into).chain(Claude::arguments("RUN-L", &[], None));
    let mut command = env.remit(args.collect::<Vec<std::ffi::OsString>>())?;
    // Neither a key nor a folder of its own: only the login that lies in the person's home.
    let vars = Claude::vars(&env, &model);
    command.envs(vars.into_iter().filter(|(k, _)| !matches!(*k, "ANTHROPIC_API_KEY" | "CLAUDE_CONFIG_DIR")));
    let outcome = env.run(&mut command)?.ended(0)?;
    assert!(outcome.stdout.contains("done"), "{}", outcome.stdout);
    assert_eq!(std::fs::read_to_string(env.home().join(".claude/.credentials.json"))?, CREDENTIALS);
    assert_eq!(std::fs::read_to_string(env.home().join(".claude.json"))?, OWN);
    assert!(!env.home().join(".claude/projects").join("-").exists());
    assert_eq!(std::fs::read_dir(env.home().join(".claude/projects"))?.count(), 1);
    Ok(())
}

#[test]
fn a_refresh_reaches_the_original_and_nothing_else_of_the_folder_does() -> Result<()> {
    let env = person()?;
    let outcome = pretend(
        &env,
        r#"
        cd "$CLAUDE_SECURESTORAGE_CONFIG_DIR" || exit 1
        mkdir .oauth_refresh.lock && echo lock
        echo refreshed >.credentials.json.tmp.1 && mv .credentials.json.tmp.1 .credentials.json && echo renamed
        rmdir .oauth_refresh.lock && echo unlock
        cat .credentials.json
        cat history.jsonl projects/x/y.jsonl settings.json && echo leaked
        for victim in history.jsonl projects/x/y.jsonl settings.json new.json hooks.sh; do
            echo bad >>$victim && echo "wrote $victim"
            rm -f $victim 2>/dev/null && [ ! -e $victim ] && [ $victim != new.json ] && [ $victim != hooks.sh ] && echo "removed $victim"
        done
        exit 0"#,
    )?
    .ended(0)?;
    assert_eq!(outcome.stdout, "lock\nrenamed\nunlock\nrefreshed\n", "{}", outcome.stderr);
    let read = |name: &str| std::fs::read_to_string(env.home().join(".claude").join(name));
    assert_eq!(read(".credentials.json")?, "refreshed\n");
    assert_eq!(read("history.jsonl")?, "private words\n");
    assert_eq!(read("projects/x/y.jsonl")?, "private words\n");
    assert_eq!(read("settings.json")?, "{\"model\":\"opus\"}\n");
    assert!(!env.home().join(".claude/new.json").exists() && !env.home().join(".claude/hooks.sh").exists());
    Ok(())
}

#[test]
fn settings_are_seen_and_cannot_be_changed_and_other_workspaces_stay_private() -> Result<()> {
    let env = person()?;
    let outcome = pretend(
        &env,
        r#"
        cd "$CLAUDE_CONFIG_DIR" || exit 1
        cat settings.json commands/hello.md
        echo bad >settings.json; echo bad >commands/hello.md; echo bad >commands/new.md; rm -rf commands
        grep -c "private words" .claude.json
        grep -o hasTrustDialogAccepted .claude.json
        cat "$HOME/../../"*/.claude.json 2>/dev/null
        exit 0"#,
    )?
    .ended(0)?;
    assert_eq!(
        outcome.stdout, "{\"model\":\"opus\"}\nsay hello\n0\nhasTrustDialogAccepted\n",
        "{}",
        outcome.stderr
    );
    assert_eq!(std::fs::read_to_string(env.home().join(".claude/settings.json"))?, "{\"model\":\"opus\"}\n");
    assert_eq!(std::fs::read_to_string(env.home().join(".claude/commands/hello.md"))?, "say hello\n");
    assert!(!env.home().join(".claude/commands/new.md").exists());
    Ok(())
}
