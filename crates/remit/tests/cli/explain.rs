//! `remit explain`: every layer, every rule that speaks, and the exit code.

use crate::place::{POLICY, remit, transcript, workspace};
use anyhow::Result;
use serde_json::Value;

#[test]
fn what_a_rule_allows() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "default", "write", "src/a.rs"]])?, @"
    $ remit explain default write src/a.rs
    allow  default may write [PROJECT]/src/a.rs

      protected    –      no opinion
      system       –      no opinion
      client       –      no opinion
      scope        –      no opinion
      agent        allow  granted by rule `. all` (remit.yaml:7)
      intent       –      no opinion
      owned-scope  –      no opinion
      freshness    –      no opinion
      approval     –      no opinion

    rules for [PROJECT]/src/a.rs (together: all)
      `. all` (remit.yaml:7)  decided
    = 0
    ");
    Ok(())
}

#[test]
fn what_a_rule_denies() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "default", "read", "secrets/key"]])?, @"
    $ remit explain default read secrets/key
    deny  default may not read [PROJECT]/secrets/key

      protected    –     no opinion
      system       deny  the path is out of bounds by rule `secrets/** none` (remit.yaml:3)
      client       –     no opinion
      scope        –     no opinion
      agent        –     no opinion
      intent       –     no opinion
      owned-scope  –     no opinion
      freshness    –     no opinion
      approval     –     no opinion

    rules for [PROJECT]/secrets/key (together: none)
      `secrets/** none` (remit.yaml:3)  decided
      `. all` (remit.yaml:7)            dead under `secrets/** none` (remit.yaml:3)

    what would change it
      change `secrets/** none` (remit.yaml:3)
    = 1
    ");
    insta::assert_snapshot!(transcript(&env, &[&["explain", "narrow", "write", "docs/guide.md"]])?, @r#"
    $ remit explain narrow write docs/guide.md
    deny  narrow may not write [PROJECT]/docs/guide.md

      protected    –     no opinion
      system       –     no opinion
      client       –     no opinion
      scope        –     no opinion
      agent        deny  no rule covers it, and the default is to deny
      intent       –     no opinion
      owned-scope  –     no opinion
      freshness    –     no opinion
      approval     –     no opinion

    rules for [PROJECT]/docs/guide.md (together: none)
      none

    what would change it
      add to agents.narrow.permissions: - {path: "[PROJECT]/docs/guide.md", access: write}
    = 1
    "#);
    Ok(())
}

#[test]
fn what_no_rule_can_grant() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "default", "write", ".git/hooks/pre-commit"]])?, @"
    $ remit explain default write .git/hooks/pre-commit
    deny  default may not write [PROJECT]/.git/hooks/pre-commit

      protected    deny   what git runs by itself is protected, and no rule or grant lifts that
      system       –      no opinion
      client       –      no opinion
      scope        –      no opinion
      agent        allow  granted by rule `. all` (remit.yaml:7)
      intent       –      no opinion
      owned-scope  –      no opinion
      freshness    –      no opinion
      approval     –      no opinion

    rules for [PROJECT]/.git/hooks/pre-commit (together: all)
      `. all` (remit.yaml:7)                                  decided
      `[PROJECT]/.git read-write` (base.git)  not used: a rule or a nearer base path speaks

    what would change it
      nothing: what git runs by itself is protected
    = 1
    ");
    Ok(())
}

#[test]
fn a_rename_counts_at_both_ends() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "default", "rename", "src/a.rs:docs/a.rs"]])?, @"
    $ remit explain default rename src/a.rs:docs/a.rs
    deny  default may not rename [PROJECT]/src/a.rs -> [PROJECT]/docs/a.rs

      protected    –     no opinion
      system       –     no opinion
      client       –     no opinion
      scope        –     no opinion
      agent        deny  not granted by rule `docs/** read` (remit.yaml:8)
      intent       –     no opinion
      owned-scope  –     no opinion
      freshness    –     no opinion
      approval     –     no opinion

    rules for [PROJECT]/src/a.rs (together: all)
      `. all` (remit.yaml:7)  counted

    rules for [PROJECT]/docs/a.rs (together: read)
      `. all` (remit.yaml:7)         yields to the narrower `docs/** read` (remit.yaml:8)
      `docs/** read` (remit.yaml:8)  decided

    what would change it
      change `docs/** read` (remit.yaml:8)
    = 1
    ");
    Ok(())
}

#[test]
fn what_a_person_must_be_asked() -> Result<()> {
    let env = workspace()?;
    let asks =
        POLICY.replacen("global_rules", "default_policy: ask\nallow_insecure_default: true\nglobal_rules", 1);
    env.write(env.project().join("remit.yaml"), asks)?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "narrow", "write", "sub/x"]])?, @"
    $ remit explain narrow write sub/x
    ask  narrow may write [PROJECT]/sub/x

      protected    –    no opinion
      system       –    no opinion
      client       –    no opinion
      scope        –    no opinion
      agent        ask  no rule covers it, and the default is to ask
      intent       –    no opinion
      owned-scope  –    no opinion
      freshness    –    no opinion
      approval     –    no opinion

    rules for [PROJECT]/sub/x (together: none)
      none

    what would change it
      a person's answer
    = 8
    ");
    Ok(())
}

#[test]
fn for_programs() -> Result<()> {
    let env = workspace()?;
    let outcome = remit(&env, &["explain", "default", "write", "docs/guide.md", "--json"])?.ended(1)?;
    let said: Value = serde_json::from_slice(&outcome.raw)?;
    assert_eq!(said["digest"].as_str().map(str::len), Some(64));
    let mut said: Value = serde_json::from_str(&env.normal(&said.to_string()))?;
    said["digest"] = "[SHA256]".into();
    said["layers"] =
        said["layers"].as_array().into_iter().flatten().filter(|l| !l["effect"].is_null()).cloned().collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&said)?, @r#"
    {
      "agent": "default",
      "digest": "[SHA256]",
      "effect": "deny",
      "epoch": 1,
      "layers": [
        {
          "effect": "deny",
          "layer": "agent",
          "rule": {
            "id": "agents.default.permissions[1]",
            "place": {
              "column": 16,
              "file": "remit.yaml",
              "line": 8,
              "width": 9
            },
            "text": "docs/** read"
          },
          "why": "not granted by rule `docs/** read` (remit.yaml:8)"
        }
      ],
      "object": {
        "path": "[PROJECT]/docs/guide.md"
      },
      "paths": [
        {
          "access": "read",
          "path": "[PROJECT]/docs/guide.md",
          "rules": [
            {
              "access": "all",
              "fate": "yields to the narrower `docs/** read` (remit.yaml:8)",
              "rule": {
                "id": "agents.default.permissions[0]",
                "place": {
                  "column": 16,
                  "file": "remit.yaml",
                  "line": 7,
                  "width": 3
                },
                "text": ". all"
              }
            },
            {
              "access": "read",
              "fate": "decided",
              "rule": {
                "id": "agents.default.permissions[1]",
                "place": {
                  "column": 16,
                  "file": "remit.yaml",
                  "line": 8,
                  "width": 9
                },
                "text": "docs/** read"
              }
            }
          ]
        }
      ],
      "remedy": "change `docs/** read` (remit.yaml:8)",
      "verb": "write",
      "version": 1
    }
    "#);
    Ok(())
}

#[test]
fn paths_are_taken_from_where_the_command_is_given_and_links_are_followed() -> Result<()> {
    let env = workspace()?;
    std::os::unix::fs::symlink("../secrets/key", env.project().join("sub/link"))?;
    for (directory, path, code) in [
        ("sub", "link", 1),
        ("sub/deep", "../../secrets/key", 1),
        ("sub/deep", "x", 0),
        ("docs", "guide.md", 0),
        (".", "sub/../secrets/key", 1),
    ] {
        let outcome = remit(&env, &["-C", directory, "explain", "default", "read", path])?;
        assert_eq!(outcome.code, code, "{directory} {path}: {}{}", outcome.stdout, outcome.stderr);
    }
    Ok(())
}
