//! What a policy names is not started before a person has said so.

use crate::place::{empty, remit, transcript};
use anyhow::Result;
use test_support::TestEnv;

const POLICY: &str = r#"version: "1.0"
agents:
  default: {permissions: [{path: ., access: all}]}
  tool:
    cli: [/bin/echo, it ran]
    permissions: [{path: ., access: all}]
"#;

fn cloned() -> Result<TestEnv> {
    let env = empty()?;
    env.repo()?.write("remit.yaml", POLICY)?;
    Ok(env)
}

#[test]
fn a_command_of_a_cloned_policy_starts_when_its_text_was_trusted() -> Result<()> {
    let env = cloned()?;
    insta::assert_snapshot!(transcript(&env, &[
        &["run", "tool"],
        &["run", "--", "/bin/echo", "no trust needed"],
        &["trust", "--show"],
        &["trust"],
        &["trust", "--yes"],
        &["trust", "--show"],
        &["run", "tool"],
    ])?, @"
    $ remit run tool
    2> error: the policy names a command for `tool` that is not trusted here: agents.tool.cli: /bin/echo 'it ran'
    2> hint: `remit trust` shows what the policy would start, and lets it
    = 125
    $ remit run -- /bin/echo no trust needed
    no trust needed
    = 0
    $ remit trust --show
    remit.yaml would start:
      agents.tool.cli: /bin/echo 'it ran'
    = 1
    $ remit trust
    remit.yaml would start:
      agents.tool.cli: /bin/echo 'it ran'
    2> error: nobody can be asked, since this is no terminal
    2> hint: `remit trust --yes` agrees without being asked
    = 8
    $ remit trust --yes
    remit.yaml would start:
      agents.tool.cli: /bin/echo 'it ran'
    ok  remit.yaml may start these commands as it stands
    = 0
    $ remit trust --show
    remit.yaml may start:
      agents.tool.cli: /bin/echo 'it ran'
    = 0
    $ remit run tool
    it ran
    = 0
    ");
    Ok(())
}

#[test]
fn a_policy_that_has_changed_is_trusted_anew_or_not_at_all() -> Result<()> {
    let env = cloned()?;
    remit(&env, &["trust", "--yes"])?.ended(0)?;
    let changed = POLICY.replace("it ran", "another");
    env.write(env.project().join("remit.yaml"), changed)?;
    insta::assert_snapshot!(transcript(&env, &[
        &["run", "tool"],
        &["trust", "--show"],
        &["trust", "--yes"],
        &["run", "tool"],
        &["trust", "--revoke"],
        &["trust", "--revoke"],
        &["run", "tool"],
    ])?, @"
    $ remit run tool
    2> error: the policy names a command for `tool` that is not trusted here: agents.tool.cli: /bin/echo another
    2>   because: the policy has changed since it was trusted
    2> hint: `remit trust` shows what the policy would start, and lets it
    = 125
    $ remit trust --show
    remit.yaml has changed since it was trusted, and would start:
      agents.tool.cli: /bin/echo another  (new)
    = 1
    $ remit trust --yes
    remit.yaml has changed since it was trusted, and would start:
      agents.tool.cli: /bin/echo another  (new)
    ok  remit.yaml may start these commands as it stands
    = 0
    $ remit run tool
    another
    = 0
    $ remit trust --revoke
    ok  the policy of [PROJECT] is trusted no longer
    = 0
    $ remit trust --revoke
    ok  the policy of [PROJECT] was not trusted
    = 0
    $ remit run tool
    2> error: the policy names a command for `tool` that is not trusted here: agents.tool.cli: /bin/echo another
    2> hint: `remit trust` shows what the policy would start, and lets it
    = 125
    ");
    Ok(())
}

#[test]
fn what_init_writes_needs_no_trust() -> Result<()> {
    let env = empty()?;
    env.repo()?;
    remit(&env, &["init"])?.ended(0)?;
    insta::assert_snapshot!(transcript(&env, &[&["trust", "--show"]])?, @"
    $ remit trust --show
    ok  remit.yaml names no command that needs trust
    = 0
    ");
    Ok(())
}

#[test]
fn no_session_reaches_what_is_trusted() -> Result<()> {
    let env = cloned()?;
    let home = env.home();
    let policy = POLICY.replace("path: .,", &format!("path: {},", home.display()));
    std::fs::create_dir_all(home.join(".config/remit"))?;
    env.write(env.project().join("remit.yaml"), policy)?;
    let script = format!("echo x >> {}/.config/remit/trusted", home.display());
    let outcome = remit(&env, &["run", "--", "/bin/sh", "-c", &script])?;
    assert_ne!(outcome.code, 0, "{}", outcome.stderr);
    assert!(!home.join(".config/remit/trusted").exists());
    remit(&env, &["explain", "default", "create", "~/.config/remit/remit.yaml"])?.ended(1)?;
    let elsewhere = home.join("settings");
    let file = elsewhere.join("remit/trusted").display().to_string();
    let mut explain = env.remit(["explain", "default", "create", &file])?;
    env.run(&mut explain)?.ended(0)?;
    let outcome = env.run(explain.env("XDG_CONFIG_HOME", &elsewhere))?.ended(1)?;
    assert!(outcome.stdout.contains("your own settings of Remit"), "{}", outcome.stdout);
    Ok(())
}
