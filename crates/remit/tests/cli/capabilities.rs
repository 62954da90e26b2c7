//! What agents need and offer: an agent without what it needs is stopped by name, and offers can be found.

use crate::place::{remit, transcript, workspace};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use test_support::TestEnv;
use test_support::env::Outcome;

/// Two agents, of whom the second needs and offers something.
fn team(needs: &str, offers: &str) -> Result<TestEnv> {
    let env = workspace()?;
    let text = format!(
        r#"version: "1.0"
global_rules:
  - {{path: "secrets/**", access: none, for: all}}
agents:
  default:
    permissions:
      - {{path: ".", access: all}}
  back:
    base_workspace: src
    permissions:
      - {{path: ".", access: all}}
    capabilities:
      requires: [{needs}]
      provides: [{offers}]
  front:
    permissions:
      - {{path: "web/**", access: all}}
"#
    );
    env.write(env.project().join("remit.yaml"), text)?;
    Ok(env)
}

const OFFER: &str = r#"{path: "api/*.md", access: read, description: "the contract"}"#;

fn hook(env: &TestEnv) -> Result<Outcome> {
    let root = env.project().display().to_string();
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "theirs", "cwd": root, "tool_name": "Write",
        "tool_use_id": "t", "tool_input": {"file_path": format!("{root}/src/new"), "content": ""},
    });
    let args = ["hook", "claude", "PreToolUse", "--root", &root, "--agent", "back"];
    env.feed(&mut env.remit(args)?, payload.to_string().as_bytes())
}

#[test]
fn an_agent_without_what_it_needs_is_not_run_and_the_rule_to_add_helps() -> Result<()> {
    let need = r#"{path: "~/notes", access: read, reason: "the plan"}"#;
    let env = team(need, "")?;
    let ran = |env: &TestEnv| remit(env, &["run", "back", "--", "/bin/sh", "-c", "echo ran >src/new"]);
    let outcome = ran(&env)?.ended(125)?;
    assert!(!env.project().join("src/new").exists());
    for part in ["error[requires-not-granted]: `back` needs `~/notes read`", "remit.yaml:13:25"] {
        assert!(outcome.stderr.contains(part), "{part} is missing in: {}", outcome.stderr);
    }
    let line = r#"- {path: "~/notes", access: read}"#;
    assert!(
        outcome.stderr.contains(&format!("add to `agents.back.permissions`: `{line}`")),
        "{}",
        outcome.stderr
    );
    let check = remit(&env, &["check"])?.ended(3)?;
    assert!(check.stderr.contains("error[requires-not-granted]"), "{}", check.stderr);
    let said: Value = serde_json::from_slice(&hook(&env)?.ended(2)?.raw)?;
    let reason = said["hookSpecificOutput"]["permissionDecisionReason"].as_str().context("a reason")?;
    assert!(reason.contains("`back` needs `~/notes read`"), "{reason}");
    // The others run.
    remit(&env, &["run", "--", "/bin/true"])?.ended(0)?;
    let told = remit(&env, &["explain", "back", "read", "src/a.rs"])?.ended(0)?;
    assert!(told.stderr.contains("`back` lacks what its `capabilities` say"), "{}", told.stderr);
    let file = env.project().join("remit.yaml");
    let text = std::fs::read_to_string(&file)?;
    env.write(&file, text.replacen("    capabilities", &format!("      {line}\n    capabilities"), 1))?;
    ran(&env)?.ended(0)?;
    hook(&env)?.ended(0)?;
    remit(&env, &["check"])?.ended(0)?;
    Ok(())
}

#[test]
fn an_agent_that_offers_more_than_it_has_is_not_run() -> Result<()> {
    let env = team("", r#"{path: "/srv/dist", access: read, description: "the page"}"#)?;
    let outcome = remit(&env, &["run", "back", "--", "/bin/true"])?.ended(125)?;
    assert!(
        outcome.stderr.contains("error[provides-beyond-own]: `back` offers `/srv/dist read`"),
        "{}",
        outcome.stderr
    );
    // One path of a pattern is asked for: what is narrower below it is the agent's own affair.
    let env = team(r#"{path: "lib/**", access: read}"#, "")?;
    let file = env.project().join("remit.yaml");
    let text = std::fs::read_to_string(&file)?.replacen("secrets/**", "src/lib/deep/**", 1);
    env.write(&file, text)?;
    remit(&env, &["run", "back", "--", "/bin/true"])?.ended(0)?;
    // A `none` for all stands above a rule of its own, and an offer of what it hides is none.
    let env = team(r#"{path: "[PROJECT]/secrets/key", access: read, reason: "x"}"#, "")?;
    let file = env.project().join("remit.yaml");
    let text = std::fs::read_to_string(&file)?.replace("[PROJECT]", &env.project().display().to_string());
    env.write(&file, text)?;
    let outcome = remit(&env, &["run", "back", "--", "/bin/true"])?.ended(125)?;
    assert!(
        outcome.stderr.contains("what would change it: change `secrets/** none` (remit.yaml:3)"),
        "{}",
        outcome.stderr
    );
    Ok(())
}

#[test]
fn needs_and_offers_are_listed_with_the_rule_that_grants_them_or_that_would() -> Result<()> {
    let need = r#"{path: "lib/**", access: read-write, reason: "to build"}, {path: "/srv/x", access: read}"#;
    let env = team(need, OFFER)?;
    insta::assert_snapshot!(transcript(&env, &[
        &["explain", "back", "--requires"],
        &["explain", "front", "--requires"],
        &["explain", "--provides"],
        &["explain", "default", "--provides"],
        &["explain", "front", "--provides"],
        &["explain", "back", "--provides"],
    ])?, @r#"
    $ remit explain back --requires
    ok     read-write [PROJECT]/src/lib  remit.yaml:13
           to build
           granted by rule `. all` (remit.yaml:11)
    lacks  read /srv/x  remit.yaml:13
           no rule covers it, and the default is to deny
           to grant it, add to agents.back.permissions:
             - {path: "/srv/x", access: read}
    = 1
    $ remit explain front --requires
    `front` states no needs
    = 0
    $ remit explain --provides
    back offers read [PROJECT]/src/api/*.md  remit.yaml:14
      the contract
    = 0
    $ remit explain default --provides
    ok     back offers read [PROJECT]/src/api/*.md  remit.yaml:14
           the contract
           granted by rule `. all` (remit.yaml:7)
    = 0
    $ remit explain front --provides
    lacks  back offers read [PROJECT]/src/api/*.md  remit.yaml:14
           the contract
           no rule covers it, and the default is to deny
           to grant it, add to agents.front.permissions:
             - {path: "src/api/*.md", access: read}
    = 0
    $ remit explain back --provides
    no other agent offers `back` anything
    = 0
    "#);
    Ok(())
}

#[test]
fn the_rule_that_would_grant_an_offer_grants_it_and_offers_alone_grant_nothing() -> Result<()> {
    let env = team("", OFFER)?;
    let json = |args: &[&str]| -> Result<Value> { Ok(serde_json::from_slice(&remit(&env, args)?.raw)?) };
    let offers = ["explain", "front", "--provides", "--json"];
    let told = json(&offers)?;
    assert_eq!(told["provides"][0]["granted"], false);
    remit(&env, &["explain", "front", "read", "src/api/x.md"])?.ended(1)?;
    let line = told["provides"][0]["mend"]["lines"][0].as_str().context("a line")?;
    let file = env.project().join("remit.yaml");
    env.write(&file, format!("{}      {line}\n", std::fs::read_to_string(&file)?))?;
    assert_eq!(json(&offers)?["provides"][0]["granted"], true);
    remit(&env, &["explain", "front", "read", "src/api/x.md"])?.ended(0)?;
    remit(&env, &["explain", "front", "read", "src/api/x.rs"])?.ended(1)?;
    Ok(())
}

#[test]
fn an_agent_is_told_at_its_start_where_it_finds_offers_and_only_if_there_are_any() -> Result<()> {
    let env = team("", OFFER)?;
    let root = env.project().display().to_string();
    let started = |agent: &str| -> Result<Outcome> {
        let payload = json!({
            "hook_event_name": "SessionStart", "session_id": "theirs", "cwd": root, "source": "startup",
        });
        let args = ["hook", "claude", "SessionStart", "--root", &root, "--agent", agent];
        env.feed(&mut env.remit(args)?, payload.to_string().as_bytes())?.ended(0)
    };
    let said: Value = serde_json::from_slice(&started("front")?.raw)?;
    insta::assert_snapshot!(
        said["hookSpecificOutput"]["additionalContext"].as_str().context("a context")?,
        @"Other agents of this workspace offer you files to use. `remit explain front --provides` lists them, with what they are for and whether your own rules give you access; an offer alone gives none."
    );
    assert_eq!(started("back")?.stdout, "");
    let payload = json!({
        "hook_event_name": "SessionStart", "session_id": "theirs", "cwd": root, "source": "startup",
    });
    let hook = "remit hook claude SessionStart --root . ";
    let script = format!("echo '{payload}' | {hook} | grep -o '`.*provides`'");
    let outcome = remit(&env, &["run", "front", "--", "/bin/sh", "-c", &script])?.ended(0)?;
    assert_eq!(outcome.stdout, "`remit explain --provides`\n");
    Ok(())
}

#[test]
fn an_agent_finds_in_its_session_what_others_offer_and_what_it_has() -> Result<()> {
    let env = team("", OFFER)?;
    let file = env.project().join("remit.yaml");
    let text = std::fs::read_to_string(&file)?;
    env.write(&file, text.replacen("web/**", "src/api/**", 1))?;
    // What the file says by now is nothing to the session.
    let script = "remit explain --provides\nremit explain default | head -4\nremit explain | head -1\n\
         remit explain --requires\nremit explain default --requires\nremit explain front --requires\n\
         remit explain front; echo $?";
    let outcome = remit(&env, &["run", "--", "/bin/sh", "-c", script])?.ended(0)?;
    let said = env.normal(&outcome.stdout);
    insta::assert_snapshot!(said, @"
    ok     back offers read [PROJECT]/src/api/*.md  remit.yaml:14
           the contract
           granted by rule `. all` (remit.yaml:7)
    default  remit.yaml:5

    [PROJECT]
      rwx  .           remit.yaml:7 own
    default  remit.yaml:5
    no needs are stated
    `default` states no needs
    6
    ");
    insta::assert_snapshot!(outcome.stderr, @"
    error: this is a session of `default`, which is told of no other agent
    error: this is a session of `default`, which is told of no other agent
    ");
    Ok(())
}
