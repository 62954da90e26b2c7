//! `remit explain`: every layer, every rule that speaks, and the exit code.

use crate::place::{POLICY, remit, transcript, workspace};
use anyhow::{Context, Result};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use test_support::TestEnv;

#[test]
fn what_a_rule_allows() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "default", "write", "src/a.rs"]])?, @r#"
    $ remit explain default write src/a.rs
    allow  default may write [PROJECT]/src/a.rs
           granted by rule `. all` (remit.yaml:7)

      remit.yaml:7:16
      5 │   default:
      6 │     permissions:
      7 │       - {path: ".", access: all}
        │                ^^^

    layers (–: no opinion)
      protected    –
      system       –
      client       –
      scope        –
      agent        allow  decided
      intent       –
      owned-scope  –
      freshness    –
      approval     –
    = 0
    "#);
    Ok(())
}

#[test]
fn what_a_rule_denies() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "default", "read", "secrets/key"]])?, @r#"
    $ remit explain default read secrets/key
    deny  default may not read [PROJECT]/secrets/key
          the path is out of bounds by rule `secrets/** none` (remit.yaml:3)
          to allow it, change that rule

      remit.yaml:3:12
      1 │ version: "1.0"
      2 │ global_rules:
      3 │   - {path: "secrets/**", access: none, for: all}
        │            ^^^^^^^^^^^^

    layers (–: no opinion)
      protected    –
      system       deny  decided
      client       –
      scope        –
      agent        –
      intent       –
      owned-scope  –
      freshness    –
      approval     –

    rules for [PROJECT]/secrets/key (together: none)
      remit.yaml:3  `secrets/** none`  decided (for all)
      remit.yaml:7  `. all`            dead under `secrets/** none`
    = 1
    "#);
    insta::assert_snapshot!(transcript(&env, &[&["explain", "narrow", "write", "docs/guide.md"]])?, @r#"
    $ remit explain narrow write docs/guide.md
    deny  narrow may not write [PROJECT]/docs/guide.md
          no rule covers it, and the default is to deny
          to allow it, add to agents.narrow.permissions, below remit.yaml:11:
            - {path: "docs/guide.md", access: read-write}

    layers (–: no opinion)
      protected    –
      system       –
      client       –
      scope        –
      agent        deny  decided
      intent       –
      owned-scope  –
      freshness    –
      approval     –
    = 1
    "#);
    Ok(())
}

#[test]
fn what_every_session_has_and_what_of_it_is_a_secret() -> Result<()> {
    let env = workspace()?;
    let shadow = remit(&env, &["explain", "default", "read", "/etc/shadow"])?.ended(1)?;
    for line in [
        "  base.etc     `/etc read`         yields to a nearer path",
        "  base.secret  `/etc/shadow none`  does not grant it",
    ] {
        assert!(shadow.stdout.lines().any(|said| said == line), "{}", shadow.stdout);
    }
    let program = remit(&env, &["explain", "default", "execute", "/usr/bin/env"])?.ended(0)?;
    let second = program.stdout.lines().nth(1).context("a second line")?;
    assert_eq!(second.trim_start(), "every session has it: system programs and libraries (base.usr)");
    Ok(())
}

#[test]
fn what_no_rule_can_grant() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "default", "write", ".git/hooks/pre-commit"]])?, @"
    $ remit explain default write .git/hooks/pre-commit
    deny  default may not write [PROJECT]/.git/hooks/pre-commit
          what git runs by itself is protected, and no rule or grant lifts that
          nothing in remit.yaml changes that (protected.git-hooks)

    layers (–: no opinion)
      protected    deny   decided
      system       –
      client       –
      scope        –
      agent        allow  granted by rule `. all` (remit.yaml:7)
      intent       –
      owned-scope  –
      freshness    –
      approval     –

    rules for [PROJECT]/.git/hooks/pre-commit (together: all)
      remit.yaml:7    `. all`                                         decided
      base.git        `[PROJECT]/.git read-write`     not used
      base.git-hooks  `[PROJECT]/.git/hooks execute`  not used
    = 1
    ");
    Ok(())
}

#[test]
fn a_rename_counts_at_both_ends() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "default", "rename", "src/a.rs:docs/a.rs"]])?, @r#"
    $ remit explain default rename src/a.rs:docs/a.rs
    deny  default may not rename [PROJECT]/src/a.rs -> [PROJECT]/docs/a.rs
          not granted by rule `docs/** read` (remit.yaml:8)
          to allow it, change that rule
          or add to agents.default.permissions, below remit.yaml:8:
            - {path: "docs/a.rs", access: read-write}

      remit.yaml:8:16
      6 │     permissions:
      7 │       - {path: ".", access: all}
      8 │       - {path: "docs/**", access: read}
        │                ^^^^^^^^^

    layers (–: no opinion)
      protected    –
      system       –
      client       –
      scope        –
      agent        deny  decided
      intent       –
      owned-scope  –
      freshness    –
      approval     –

    rules for [PROJECT]/src/a.rs (together: all)
      remit.yaml:7  `. all`  counts

    rules for [PROJECT]/docs/a.rs (together: read)
      remit.yaml:7  `. all`         yields to the narrower `docs/** read`
      remit.yaml:8  `docs/** read`  decided
    = 1
    "#);
    Ok(())
}

#[test]
fn what_a_person_must_be_asked() -> Result<()> {
    let env = workspace()?;
    let asks =
        POLICY.replacen("global_rules", "default_policy: ask\nallow_insecure_default: true\nglobal_rules", 1);
    env.write(env.project().join("remit.yaml"), asks)?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "narrow", "write", "sub/x"]])?, @r#"
    $ remit explain narrow write sub/x
    ask  narrow must ask before it may write [PROJECT]/sub/x
         no rule covers it, and the default is to ask, but nobody can be asked yet
         to allow it, add to agents.narrow.permissions, below remit.yaml:13:
           - {path: "sub/x", access: read-write}

      remit.yaml:2:17
      1 │ version: "1.0"
      2 │ default_policy: ask
        │                 ^^^

    layers (–: no opinion)
      protected    –
      system       –
      client       –
      scope        –
      agent        ask  decided
      intent       –
      owned-scope  –
      freshness    –
      approval     –
    = 8
    "#);
    Ok(())
}

#[test]
fn a_rule_that_is_proposed_is_one_that_a_person_would_write_and_allows_it() -> Result<()> {
    let env = workspace()?;
    let home = env.home().join("notes").display().to_string();
    for (more, verb, object, proposed) in [
        ("", "write", "src/new.rs", r#"{path: "src/new.rs", access: read-write}"#),
        ("", "write", "~odd[1]", r#"{path: "./~odd\\[1]", access: read-write}"#),
        ("", "delete", "docs/run", r#"{path: "docs/run", access: read-write}"#),
        ("", "execute", "docs/run", r#"{path: "docs/run", access: execute}"#),
        ("", "read", &home, r#"{path: "~/notes", access: read}"#),
        ("", "write", "/srv/x", r#"{path: "/srv/x", access: read-write}"#),
        // A rule takes the place of what every session has.
        ("", "write", "/opt/x", r#"{path: "/opt/x", access: all}"#),
        ("base_workspace: src, ", "write", "src/new.rs", r#"{path: "new.rs", access: read-write}"#),
        ("base_workspace: src, ", "read", "docs/x", r#"{path: "[PROJECT]/docs/x", access: read}"#),
        ("root: workspace\n", "read", "docs/x", r#"{path: "docs/x", access: read}"#),
        ("root: workspace\nbase_workspace: src, ", "read", "docs/x", r#"{path: "/docs/x", access: read}"#),
        ("max_access: write, ", "write", "src/x", r#"{path: "src/x", access: write}"#),
    ] {
        let (top, own) = if more.starts_with("root") { more.split_at(16) } else { ("", more) };
        let policy = |rules: &str| {
            let text =
                format!("version: \"1.0\"\n{top}agents:\n  default: {{{own}permissions: [{rules}]}}\n");
            env.write(env.project().join("remit.yaml"), text)
        };
        policy("")?;
        let outcome = remit(&env, &["explain", "default", verb, object])?.ended(1)?;
        let line = outcome.stdout.lines().find_map(|line| line.trim_start().strip_prefix("- "));
        assert_eq!(line, Some(proposed), "{more} {verb} {object}: {}", outcome.stdout);
        // Taken as it stands, it does what was promised.
        policy(&proposed.replace("[PROJECT]", &env.project().display().to_string()))?;
        let outcome = remit(&env, &["explain", "default", verb, object])?;
        assert_eq!(outcome.code, 0, "{proposed}: {}{}", outcome.stdout, outcome.stderr);
    }
    // What no path of such a policy names is not proposed.
    env.write(
        env.project().join("remit.yaml"),
        "version: \"1.0\"\nroot: workspace\nagents: {default: {}}\n",
    )?;
    let outcome = remit(&env, &["explain", "default", "write", "/opt/x"])?.ended(1)?;
    assert!(outcome.stdout.contains("nothing in remit.yaml changes that"), "{}", outcome.stdout);
    Ok(())
}

/// A folder of the machine in whose place a session has its own: one in which the workspace does not lie.
fn behind(env: &TestEnv) -> Result<tempfile::TempDir> {
    let place = if env.root().starts_with("/var/tmp") { "/tmp" } else { "/var/tmp" };
    let dir = tempfile::Builder::new().prefix("remit-").tempdir_in(place)?;
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755))?;
    let tool = dir.path().join("tool");
    std::fs::write(&tool, "#!/bin/sh\necho found\n")?;
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755))?;
    Ok(dir)
}

#[test]
fn what_lies_behind_a_folder_of_the_sessions_own_is_not_there() -> Result<()> {
    let env = workspace()?;
    let dir = behind(&env)?;
    let tool = dir.path().join("tool").display().to_string();
    let mut path = env.vars().into_iter().find(|(name, _)| *name == "PATH").context("a PATH")?.1;
    path.push(":");
    path.push(dir.path());
    let with = |args: &[&str]| env.run(env.remit(args)?.env("PATH", &path));
    let with_rule = |rule: String| {
        let text = POLICY.replacen("  narrow:", &format!("      - {rule}\n  narrow:"), 1);
        env.write(env.project().join("remit.yaml"), text)
    };
    // A folder of PATH, a rule for everything: neither shows it.
    for rule in ["{path: sub, access: all}", "{path: /, access: execute}"] {
        with_rule(rule.to_owned())?;
        for verb in ["read", "execute"] {
            let outcome = with(&["explain", "default", verb, &tool])?.ended(1)?;
            let first = format!("deny  default may not {verb} {tool}\n      in a session `");
            assert!(outcome.stdout.starts_with(&first), "{rule}: {}", outcome.stdout);
            assert!(
                outcome.stdout.contains(&format!("- {{path: \"{tool}\", access: execute}}")),
                "{}",
                outcome.stdout
            );
        }
        let outcome = with(&["run", "--", "/bin/sh", "-c", "tool"])?;
        assert_eq!(outcome.code, 127, "{rule}: {}{}", outcome.stdout, outcome.stderr);
        let outcome = with(&["explain", "default", "execute", &tool, "--json"])?.ended(1)?;
        let said: Value = serde_json::from_slice(&outcome.raw)?;
        assert_eq!((&said["effect"], &said["layers"][0]["effect"]), (&"deny".into(), &"deny".into()));
    }
    // What is not there outside can be the session's own.
    with_rule("{path: sub, access: all}".to_owned())?;
    with(&["explain", "default", "write", &format!("{}-not", dir.path().display())])?.ended(0)?;
    // A rule that names it shows it.
    with_rule(format!("{{path: \"{tool}\", access: execute}}"))?;
    with(&["explain", "default", "execute", &tool])?.ended(0)?;
    assert_eq!(with(&["run", "--", "/bin/sh", "-c", &tool])?.ended(0)?.stdout, "found\n");
    Ok(())
}

#[test]
fn what_is_asked_wrongly_is_answered_with_an_example() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[
        &["explain", "defualt", "read", "x"],
        &["explain", "default", "connect", "example.com"],
        &["explain", "default", "connect", "example.com:port"],
        &["explain", "default", "rename", "src/a.rs"],
        &["explain", "default", "rename", "src/a.rs:"],
        &["explain", "default", "write", ""],
        &["explain", "default", "fly", "x"],
    ])?, @"
    $ remit explain defualt read x
    2> error: the policy has no agent `defualt`
    2> hint: did you mean `default`? known here: `default`, `narrow`
    = 6
    $ remit explain default connect example.com
    2> error: `example.com` has no port: connect takes a host and a port, such as `example.com:443`
    = 2
    $ remit explain default connect example.com:port
    2> error: `example.com:port` does not end in a port, 0 to 65535
    = 2
    $ remit explain default rename src/a.rs
    2> error: `src/a.rs` is one path: rename takes two, such as `src/a.rs:src/a.rs.old`
    = 2
    $ remit explain default rename src/a.rs:
    2> error: a path is empty: `.` is this folder
    = 2
    $ remit explain default write
    2> error: a path is empty: `.` is this folder
    = 2
    $ remit explain default fly x
    2> error: `fly` is not a verb (read, write, create, delete, rename, execute, connect, call)
    = 2
    ");
    Ok(())
}

#[test]
fn no_line_of_an_answer_is_longer_than_a_terminal_is_wide() -> Result<()> {
    let env = workspace()?;
    for args in [
        ["write", "src/a.rs"],
        ["write", "docs/guide.md"],
        ["read", "secrets/key"],
        ["write", ".git/hooks/h"],
    ] {
        let outcome = remit(&env, &[&["explain", "default"], &args[..]].concat())?;
        // Where the scratch folder lies is not ours to say.
        let longer = env.project().as_os_str().len().saturating_sub(25);
        for line in String::from_utf8(outcome.raw)?.lines() {
            assert!(line.chars().count() <= 80 + longer, "{line}");
        }
    }
    Ok(())
}

/// The answer of `explain --json` to a write of `docs/guide.md`.
fn answer_for_programs() -> Result<Value> {
    let env = workspace()?;
    let outcome = remit(&env, &["explain", "default", "write", "docs/guide.md", "--json"])?.ended(1)?;
    let said: Value = serde_json::from_slice(&outcome.raw)?;
    assert_eq!(said["digest"].as_str().map(str::len), Some(64));
    let mut said: Value = serde_json::from_str(&env.normal(&said.to_string()))?;
    said["digest"] = "[SHA256]".into();
    Ok(said)
}

#[test]
fn for_programs() -> Result<()> {
    let mut said = answer_for_programs()?;
    let layers = said["layers"].as_array().context("layers")?;
    assert_eq!(layers.len(), 9);
    said["layers"] = layers.iter().filter(|layer| !layer["effect"].is_null()).cloned().collect();
    said["paths"] = Value::Null;
    insta::assert_snapshot!(serde_json::to_string_pretty(&said)?, @r#"
    {
      "agent": "default",
      "digest": "[SHA256]",
      "effect": "deny",
      "epoch": 1,
      "layers": [
        {
          "decided": true,
          "effect": "deny",
          "excerpt": "      - {path: \"docs/**\", access: read}",
          "layer": "agent",
          "origin": "own",
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
      "mend": {
        "kind": "change",
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
      },
      "narrower": {
        "after": {
          "column": 16,
          "file": "remit.yaml",
          "line": 8,
          "width": 9
        },
        "kind": "add",
        "lines": [
          "- {path: \"docs/guide.md\", access: read-write}"
        ],
        "list": "agents.default.permissions"
      },
      "object": {
        "path": "[PROJECT]/docs/guide.md"
      },
      "paths": null,
      "remedy": "change `docs/** read` (remit.yaml:8)",
      "verb": "write",
      "version": 1
    }
    "#);
    Ok(())
}

#[test]
fn every_rule_that_speaks_for_programs() -> Result<()> {
    insta::assert_snapshot!(serde_json::to_string_pretty(&answer_for_programs()?["paths"])?, @r#"
    [
      {
        "access": "read",
        "path": "[PROJECT]/docs/guide.md",
        "rules": [
          {
            "access": "all",
            "excerpt": "      - {path: \".\", access: all}",
            "fate": "yields to the narrower `docs/** read` (remit.yaml:8)",
            "origin": "own",
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
            "excerpt": "      - {path: \"docs/**\", access: read}",
            "fate": "decided",
            "origin": "own",
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
    ]
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

#[test]
fn a_temporary_sibling_that_was_there_before_is_nobodys() -> Result<()> {
    let env = workspace()?;
    env.write(
        env.project().join("remit.yaml"),
        "version: \"1.0\"\nagents:\n  default:\n    permissions:\n      - {path: notes.md, access: read-write}\n      - {path: src, access: read}\n",
    )?;
    env.write(env.project().join("notes.md"), "x")?;
    for verb in ["write", "create", "delete"] {
        assert_eq!(remit(&env, &["explain", "default", verb, "notes.md.tmp"])?.code, 0, "{verb}");
    }
    env.write(env.project().join("notes.md.tmp"), "not the session's")?;
    for verb in ["write", "create", "delete"] {
        let outcome = remit(&env, &["explain", "default", verb, "notes.md.tmp"])?.ended(1)?;
        assert!(outcome.stdout.contains("only by the session that made it"), "{}", outcome.stdout);
        // The kernel says the same.
        let script = match verb {
            "delete" => "rm -f notes.md.tmp",
            _ => "echo y >notes.md.tmp",
        };
        assert_ne!(remit(&env, &["run", "--", "sh", "-c", script])?.code, 0, "{verb}");
    }
    assert_eq!(remit(&env, &["explain", "default", "rename", "notes.md.tmp:notes.md"])?.code, 1);
    assert_eq!(remit(&env, &["explain", "default", "rename", "notes.md:notes.md.tmp"])?.code, 1);
    // The file itself never becomes a temporary name.
    assert_eq!(remit(&env, &["explain", "default", "rename", "notes.md:notes.md.old"])?.code, 1);
    assert_eq!(remit(&env, &["explain", "default", "rename", "notes.md.new:notes.md"])?.code, 0);
    assert_eq!(remit(&env, &["explain", "default", "write", "notes.md"])?.code, 0);
    Ok(())
}

#[test]
fn what_stands_against_the_whole_of_a_folder_is_named_with_its_rule() -> Result<()> {
    let env = workspace()?;
    env.write(env.project().join("sub/deep/secrets.d/.env"), "x")?;
    env.write(env.project().join("remit.yaml"), POLICY.replacen("secrets/**", "**/.env", 1))?;
    insta::assert_snapshot!(transcript(&env, &[&["explain", "default", "delete", "sub"]])?, @r#"
    $ remit explain default delete sub
    deny  default may not delete [PROJECT]/sub
          [PROJECT]/sub/deep/secrets.d/.env would go with it: the path is out of bounds by rule `**/.env none` (remit.yaml:3)
          to allow it, change that rule

      remit.yaml:3:12
      1 │ version: "1.0"
      2 │ global_rules:
      3 │   - {path: "**/.env", access: none, for: all}
        │            ^^^^^^^^^

    layers (–: no opinion)
      protected    –
      system       deny   decided
      client       –
      scope        –
      agent        allow  granted by rule `. all` (remit.yaml:7)
      intent       –
      owned-scope  –
      freshness    –
      approval     –
    = 1
    "#);
    env.write(env.project().join("src/x/.mcp.json"), "{}")?;
    let outcome = remit(&env, &["explain", "default", "rename", "src:src2"])?.ended(1)?;
    let second = outcome.stdout.lines().nth(1).context("a second line")?;
    assert!(second.contains("/src/x/.mcp.json would go with it: what an agent's own program"), "{second}");
    assert!(outcome.stdout.contains("nothing in remit.yaml changes that (protected.mcp-servers)"));
    Ok(())
}

#[test]
fn a_name_in_a_folder_that_only_leads_somewhere_is_said_to_be_out_of_reach_and_the_rule_it_shows_helps()
-> Result<()> {
    let env = workspace()?;
    let policy = |more: &str| {
        let rules = format!(
            "version: \"1.0\"\nagents:\n  default:\n    permissions:\n      - {{path: \"*.md\", access: all}}\n{more}"
        );
        env.write(env.project().join("remit.yaml"), rules)
    };
    env.write(env.project().join("old.md"), "x")?;
    for (verb, name, script) in [("create", "new.md", "echo x >new.md"), ("delete", "old.md", "rm -f old.md")]
    {
        policy("")?;
        let outcome = remit(&env, &["explain", "default", verb, name])?.ended(1)?;
        assert!(outcome.stdout.contains("at this place of the session's view"), "{}", outcome.stdout);
        assert_ne!(remit(&env, &["run", "--", "sh", "-c", script])?.code, 0, "{verb}");
        // As it was said, with the folder's real name.
        let said = String::from_utf8(outcome.raw)?;
        let line = said.lines().find(|line| line.trim().starts_with("- {")).context("a rule")?;
        policy(&format!("      {}\n", line.trim()))?;
        remit(&env, &["explain", "default", verb, name])?.ended(0)?;
        remit(&env, &["run", "--", "sh", "-c", script])?.ended(0)?;
    }
    Ok(())
}

#[test]
fn a_home_that_no_shell_has_read_is_the_one_of_the_policy() -> Result<()> {
    let env = workspace()?;
    for (typed, meant) in [("~/.cargo/x", "/.cargo/x"), ("~//.cargo/x", "/.cargo/x"), ("~", "")] {
        let outcome = remit(&env, &["explain", "default", "read", typed])?.ended(1)?;
        let first = outcome.stdout.lines().next().unwrap_or_default();
        assert_eq!(first, format!("deny  default may not read [HOME]{meant}"));
    }
    let outcome = remit(&env, &["explain", "default", "rename", "src/a.rs:~/b"])?.ended(1)?;
    assert!(outcome.stdout.contains("[HOME]/b"), "{}", outcome.stdout);
    // Such a name in the work tree is no home.
    remit(&env, &["explain", "default", "read", "./~/x"])?.ended(0)?;
    remit(&env, &["explain", "default", "read", "~x"])?.ended(0)?;
    Ok(())
}

#[test]
fn one_file_has_one_answer_however_it_is_named() -> Result<()> {
    let env = workspace()?;
    std::os::unix::fs::symlink("secrets", env.project().join("way"))?;
    std::os::unix::fs::symlink(env.project(), env.home().join("there"))?;
    let project = env.project().display().to_string();
    let mut answers = std::collections::BTreeSet::new();
    for name in [
        "secrets",
        "./secrets/",
        "secrets//",
        "src/../secrets",
        "way",
        "~/there/secrets/",
        &format!("{project}/secrets"),
        &format!("{project}/docs/.././secrets/"),
    ] {
        let outcome = remit(&env, &["explain", "default", "read", name, "--json"])?.ended(1)?;
        answers.insert(outcome.stdout);
    }
    assert_eq!(answers.len(), 1, "{answers:#?}");
    Ok(())
}
