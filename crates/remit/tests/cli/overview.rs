//! `remit explain` of more than one action: many at once, and an agent's whole remit.

use crate::place::{remit, transcript, workspace};
use anyhow::{Context, Result};
use serde_json::Value;

#[test]
fn many_objects_are_a_line_each_and_end_as_the_strictest() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[
        &["explain", "default", "read", "src/a.rs", "docs", "secrets/key"],
        &["explain", "default", "read", "src/a.rs", "docs"],
        &["explain", "default", "read"],
    ])?, @"
    $ remit explain default read src/a.rs docs secrets/key
    allow  [PROJECT]/src/a.rs     granted by rule `. all` (remit.yaml:7)
    allow  [PROJECT]/docs         granted by rule `docs/** read` (remit.yaml:8)
    deny   [PROJECT]/secrets/key  the path is out of bounds by rule `secrets/** none` (remit.yaml:3)
    = 1
    $ remit explain default read src/a.rs docs
    allow  [PROJECT]/src/a.rs  granted by rule `. all` (remit.yaml:7)
    allow  [PROJECT]/docs      granted by rule `docs/** read` (remit.yaml:8)
    = 0
    $ remit explain default read
    2> error: to what would `default` do that: a path is missing
    2> hint: `remit explain default read .` is about this folder
    = 2
    ");
    let input = b"src/a.rs\n\n\"docs/guide.md\"\n{\"path\": \"docs/guide.md\", \"verb\": \"write\"}\r\n";
    let outcome =
        env.feed(&mut env.remit(["explain", "default", "read", "-", "--json"])?, input)?.ended(1)?;
    let said: Vec<Value> =
        outcome.stdout.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?;
    let effects: Vec<&Value> = said.iter().map(|one| &one["effect"]).collect();
    assert_eq!(effects, ["allow", "allow", "deny"]);
    for (wrong, words) in [
        ("a\n{\"paht\": \"x\"}\n", "line 2"),
        ("\"x\n", "line 1"),
        ("{\"path\": \"x\", \"verb\": \"fly\"}", "line 1"),
    ] {
        let outcome =
            env.feed(&mut env.remit(["explain", "default", "read", "-"])?, wrong.as_bytes())?.ended(2)?;
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
    Ok(())
}

#[test]
fn an_agents_remit_at_one_look() -> Result<()> {
    let env = workspace()?;
    let text = r#"version: "1.0"
base: none
global_rules:
  - {path: "**/.env", access: none, for: all}
  - {path: "secrets/**", access: none, for: all}
roles:
  dev:
    permissions:
      - {path: "web/src/**/*.ts", access: read-write}
agents:
  front:
    cli: claude
    roles: [dev]
    max_access: read-write
    permissions:
      - {path: "web/**", access: read}
      - {path: "docs", access: all}
      - {path: "/srv/data", access: read}
    tools: {deny: [WebFetch], allow: [Read, WebFetch]}
    verbs: {deny: [delete]}
    git: none
    capabilities:
      requires: [{path: "docs", access: read, reason: "to write it"}]
"#;
    env.write(env.project().join("remit.yaml"), text)?;
    let outcome = remit(&env, &["explain", "front"])?.ended(0)?;
    let longer = env.project().as_os_str().len().saturating_sub(25);
    assert!(outcome.stdout.lines().all(|line| line.chars().count() <= 80 + longer), "{}", outcome.stdout);
    let shown = env.normal(&outcome.stdout);
    let (rules, rest) = shown.split_once("every session").context("what every session has")?;
    insta::assert_snapshot!(rules, @"
    front  remit.yaml:11
      program  claude
      roles    dev
      at most  read-write (remit.yaml:14)
      tools    only Read, WebFetch
      tools    not WebFetch
      verbs    not delete
      git      none

    [PROJECT]
           .
           ├─ **
      ---  │  ├─ .env         remit.yaml:4 for all
      ---  │  └─ .git         remit.yaml:21 own
      ---  ├─ .git            remit.yaml:21 own
      rw-  ├─ docs            remit.yaml:17 own, says all
      ---  ├─ secrets         remit.yaml:5 for all
      r--  └─ web             remit.yaml:16 own
      r--     └─ src/**/*.ts  remit.yaml:9 role dev, says read-write

    elsewhere
           /
      r--  └─ srv/data  remit.yaml:18 own
    ");
    let (_, end) = rest.split_once("all else").context("the default")?;
    insta::assert_snapshot!(end, @"
     is denied
    1 need: remit explain front --requires

    r read, w write, x execute, --- nothing: it is hidden. What a program would obey
    by itself (policies, git's hooks, agents' settings) is changed by no rule.
    ");
    let said: Value = serde_json::from_slice(&remit(&env, &["explain", "front", "--json"])?.ended(0)?.raw)?;
    let rows = said["rules"].as_array().context("rules")?;
    let of = |id: &str| {
        rows.iter()
            .find(|row| row["rule"]["id"] == id)
            .map(|row| (row["says"].clone(), row["access"].clone(), row["origin"].clone()))
    };
    assert_eq!(of("agents.front.permissions[1]"), Some(("all".into(), "read-write".into(), "own".into())));
    assert_eq!(of("roles.dev.permissions[0]"), Some(("read-write".into(), "read".into(), "role dev".into())));
    Ok(())
}

#[test]
fn a_thousand_questions_are_answered_in_one_go() -> Result<()> {
    let env = workspace()?;
    let input: String = (0..1000).map(|n| format!("src/{n}/file\n")).collect();
    let outcome =
        env.feed(&mut env.remit(["explain", "narrow", "write", "-"])?, input.as_bytes())?.ended(0)?;
    assert_eq!(outcome.stdout.lines().count(), 1000);
    Ok(())
}
