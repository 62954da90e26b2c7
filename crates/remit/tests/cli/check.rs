//! `remit check`: findings with their places, and what programs read.

use crate::place::{POLICY, empty, remit, transcript, workspace};
use anyhow::Result;
use serde_json::Value;

#[test]
fn a_clean_policy() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["check"], &["check", "remit.yaml"], &["check", "--json"]])?, @r#"
    $ remit check
    ok  remit.yaml: no errors, 0 warnings, 0 notes
    = 0
    $ remit check remit.yaml
    ok  remit.yaml: no errors, 0 warnings, 0 notes
    = 0
    $ remit check --json
    {"file":"remit.yaml","findings":[],"ok":true,"version":1}
    = 0
    "#);
    Ok(())
}

#[test]
fn errors_are_shown_where_they_stand() -> Result<()> {
    let env = empty()?;
    let text = "version: \"1.0\"\nagents:\n  a:\n    permisions: []\n  b:\n    permissions:\n      - {path: \"src\", access: rread}\n";
    env.write(env.project().join("remit.yaml"), text)?;
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @r#"
    $ remit check
    2> error[unknown-key]: `agents.a` has no key `permisions`
    2>   ╭▸ remit.yaml:4:5
    2>   │
    2> 4 │     permisions: []
    2>   │     ━━━━━━━━━━
    2>   │
    2>   ╰ help: did you mean `permissions`? known here: `cli`, `roles`, `base_workspace`, `permissions`, `requests`, `capabilities`, `network`, `max_access`, `system_message`, `tools`, `verbs`, `git`, `limits`
    2>
    2> error[unknown-access]: `rread` is no word for access
    2>   ╭▸ remit.yaml:7:31
    2>   │
    2> 7 │       - {path: "src", access: rread}
    2>   │                               ━━━━━
    2>   │
    2>   ╰ help: did you mean `read`? known here: `none`, `read`, `read-only`, `write`, `read-write`, `execute`, `all`
    2>
    2> remit.yaml: 2 errors
    = 3
    "#);
    let outcome = remit(&env, &["check", "--json"])?.ended(3)?;
    let said: Value = serde_json::from_slice(&outcome.raw)?;
    assert_eq!(said["ok"], false);
    insta::assert_snapshot!(serde_json::to_string_pretty(&said["findings"][0])?, @r#"
    {
      "code": "unknown-key",
      "help": "did you mean `permissions`? known here: `cli`, `roles`, `base_workspace`, `permissions`, `requests`, `capabilities`, `network`, `max_access`, `system_message`, `tools`, `verbs`, `git`, `limits`",
      "message": "`agents.a` has no key `permisions`",
      "place": {
        "column": 5,
        "file": "remit.yaml",
        "line": 4,
        "width": 10
      },
      "related": [],
      "severity": "error"
    }
    "#);
    Ok(())
}

#[test]
fn what_is_wrong_is_told_at_once_in_the_order_of_the_file() -> Result<()> {
    let env = empty()?;
    let text = r#"version: "1.0"
agents:
  a:
    base_workspace: absent
    permissions:
      - {path: "src/../x", access: read}
      - {path: "src", access: rread}
      - {path: "$HOME/x", access: read}
  b:
    rols: [x]
    roles: [nobody]
roles:
  circle: {extends: [circle]}
"#;
    env.write(env.project().join("remit.yaml"), text)?;
    let outcome = remit(&env, &["check", "--json"])?.ended(3)?;
    let said: Value = serde_json::from_slice(&outcome.raw)?;
    let found: Vec<String> = said["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|f| {
            format!("{}:{} {}", f["place"]["line"], f["place"]["column"], f["code"].as_str().unwrap_or("?"))
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"), @"
    4:21 base-workspace
    6:21 dots-in-pattern
    7:31 unknown-access
    8:17 variable-in-pattern
    10:5 unknown-key
    11:13 unknown-name
    13:22 role-cycle
    ");
    // `run` says the same.
    let run = remit(&env, &["run", "a", "--", "/bin/true"])?.ended(125)?;
    assert!(run.stderr.contains(&format!("`remit.yaml` has {} errors", found.len())), "{}", run.stderr);
    Ok(())
}

#[test]
fn what_only_the_disk_can_tell_does_not_hide_what_rules_say_of_one_another() -> Result<()> {
    let env = empty()?;
    let text = r#"version: "1.0"
agents:
  a:
    base_workspace: absent
    permissions:
      - {path: "src", access: read}
      - {path: "src", access: write}
"#;
    env.write(env.project().join("remit.yaml"), text)?;
    let outcome = remit(&env, &["check"])?.ended(3)?;
    for code in ["error[base-workspace]", "error[contradiction]"] {
        assert!(outcome.stderr.contains(code), "{code}: {}", outcome.stderr);
    }
    Ok(())
}

#[test]
fn a_root_that_is_misspelt_is_told_and_not_that_it_is_missing() -> Result<()> {
    let env = empty()?;
    let text =
        "version: \"1.0\"\nroot: worksapce\nagents: {a: {permissions: [{path: /srcs, access: read}]}}\n";
    env.write(env.project().join("remit.yaml"), text)?;
    env.write(env.project().join("srcs/x"), "")?;
    let outcome = remit(&env, &["check"])?.ended(3)?;
    assert!(outcome.stderr.contains("error[unknown-word]"), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("remit.yaml: 1 error\n"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn dead_rules_and_tests_that_fail() -> Result<()> {
    let env = empty()?;
    let text = POLICY.replace("\"src/**\", access: all}", "\"secrets/a/**\", access: read}")
        + "tests:\n  - {agent: default, verb: write, path: \"docs/x\", expect: allow}\n";
    env.write(env.project().join("remit.yaml"), text)?;
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @r#"
    $ remit check
    2> error[failed-test]: `default` write `docs/x` came out as `deny`, not `allow`: agent layer, not granted by rule `docs/** read` (remit.yaml:8)
    2>    ╭▸ remit.yaml:13:59
    2>    │
    2> 13 │   - {agent: default, verb: write, path: "docs/x", expect: allow}
    2>    │                                                           ━━━━━
    2>    │
    2>    ⸬  remit.yaml:8:16
    2>    │
    2>  8 │       - {path: "docs/**", access: read}
    2>    │                ───────── `docs/** read` decided
    2>    │
    2>    ╰ help: mend the rule, or the test if the answer is the right one
    2>
    2> warning[dead-rule]: `secrets/a/** read` grants nothing: a `none` covers all of it, and nothing reopens that
    2>    ╭▸ remit.yaml:11:16
    2>    │
    2> 11 │       - {path: "secrets/a/**", access: read}
    2>    │                ━━━━━━━━━━━━━━
    2>    │
    2>    ⸬  remit.yaml:3:12
    2>    │
    2>  3 │   - {path: "secrets/**", access: none, for: all}
    2>    │            ──────────── `secrets/** none` stands here
    2>    │
    2>    ╰ help: remove the rule
    2>
    2> note[matches-nothing]: `secrets/**` does not exist yet
    2>   ╭▸ remit.yaml:3:12
    2>   │
    2> 3 │   - {path: "secrets/**", access: none, for: all}
    2>   ╰╴           ━━━━━━━━━━━━
    2>
    2> note[matches-nothing]: `docs/**` does not exist yet
    2>   ╭▸ remit.yaml:8:16
    2>   │
    2> 8 │       - {path: "docs/**", access: read}
    2>   ╰╴               ━━━━━━━━━
    2>
    2> note[matches-nothing]: `secrets/a/**` does not exist yet
    2>    ╭▸ remit.yaml:11:16
    2>    │
    2> 11 │       - {path: "secrets/a/**", access: read}
    2>    ╰╴               ━━━━━━━━━━━━━━
    2>
    2> remit.yaml: 1 error
    = 3
    "#);
    Ok(())
}

#[test]
fn a_file_that_is_named() -> Result<()> {
    let env = workspace()?;
    env.write(env.project().join("other/mine.yaml"), "version: \"1.0\"\nagents: {}\n")?;
    insta::assert_snapshot!(transcript(&env, &[&["check", "other/mine.yaml"], &["check", "no/such.yaml"], &["check", "src"]])?, @"
    $ remit check other/mine.yaml
    ok  other/mine.yaml: no errors, 0 warnings, 0 notes
    = 0
    $ remit check no/such.yaml
    2> error: `no/such.yaml` cannot be read: No such file or directory (os error 2)
    = 3
    $ remit check src
    2> error: `src` cannot be read: Is a directory (os error 21)
    2> hint: `remit -C src check` reads the policy of that folder
    = 3
    ");
    Ok(())
}

#[test]
fn two_policies_in_one_folder_are_an_error() -> Result<()> {
    let env = workspace()?;
    env.write(env.project().join("massgen-permissions.yaml"), POLICY)?;
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @"
    $ remit check
    2> error: `[PROJECT]` holds both `remit.yaml` and `massgen-permissions.yaml`
    2> hint: move what you need to `remit.yaml` and remove `massgen-permissions.yaml`
    = 3
    ");
    Ok(())
}

#[test]
fn what_is_out_of_bounds_and_lies_in_gits_records_all_the_same() -> Result<()> {
    let env = workspace()?;
    env.repo()?.git(["add", "--force", "secrets"])?;
    env.repo()?.commit("with a secret in it")?;
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @r#"
    $ remit check
    2> error[none-but-tracked]: `secrets/** none` covers `secrets/key`, which git tracks: `git show` reads it from git's records, and `git add -A`, `git commit -a` or `git stash` inside fail on it
    2>   ╭▸ remit.yaml:3:12
    2>   │
    2> 3 │   - {path: "secrets/**", access: none, for: all}
    2>   │            ━━━━━━━━━━━━
    2>   │
    2>   ╰ help: `git rm --cached -- secrets/key` and commit; what was committed before stays readable until the history is rewritten, so change the secret; or write `git: none` for the agent, which then has no `.git`
    2>
    2> remit.yaml: 1 error
    = 3
    "#);
    Ok(())
}

#[test]
fn what_concerns_the_whole_file_is_said_so_and_a_setting_is_shown() -> Result<()> {
    let env = workspace()?;
    let text = "version: \"1.0\"\nintents: require\naudit:\n  alert: {command: say}\nagents: {}\nsandbox: advisory\n";
    env.write(env.project().join("remit.yaml"), text)?;
    std::os::unix::fs::symlink("docs", env.project().join(".claude"))?;
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @"
    $ remit check
    ok  remit.yaml: no errors, 5 warnings, 0 notes
    2> warning[protected-link]: [PROJECT]/.claude/settings.json leads by a link to [PROJECT]/docs/settings.json, which no session may change for that
    2>  │
    2>  ├ note: in remit.yaml
    2>  ╰ help: put a copy in the link's place if sessions are to work there
    2>
    2> warning[protected-link]: [PROJECT]/.claude/settings.local.json leads by a link to [PROJECT]/docs/settings.local.json, which no session may change for that
    2>  │
    2>  ├ note: in remit.yaml
    2>  ╰ help: put a copy in the link's place if sessions are to work there
    2>
    2> warning[protected-link]: [PROJECT]/.claude/hooks leads by a link to [PROJECT]/docs/hooks, which no session may change for that
    2>  │
    2>  ├ note: in remit.yaml
    2>  ╰ help: put a copy in the link's place if sessions are to work there
    2>
    2> warning[not-held-yet]: `intents` are not held yet: work need not be declared
    2>   ╭▸ remit.yaml:2:10
    2>   │
    2> 2 │ intents: require
    2>   ╰╴         ━━━━━━━
    2>
    2> warning[unheard-alert]: `audit.alert` does nothing without `alert_on_violation: true`
    2>   ╭▸ remit.yaml:4:20
    2>   │
    2> 4 │   alert: {command: say}
    2>   ╰╴                   ━━━
    2>
    = 0
    ");
    let outcome = remit(&env, &["check"])?;
    assert!(outcome.stderr.lines().all(|line| !line.ends_with(' ')), "{:?}", outcome.stderr);
    Ok(())
}

#[test]
fn what_is_missing_is_looked_for_in_the_folder_of_its_agent() -> Result<()> {
    let env = workspace()?;
    let text = "version: \"1.0\"\nagents:\n  a: {base_workspace: src, permissions: [{path: docs, access: read}]}\n  b: {permissions: [{path: gone, access: read}]}\n";
    env.write(env.project().join("remit.yaml"), text)?;
    let outcome = remit(&env, &["check", "--json"])?.ended(0)?;
    let said: Value = serde_json::from_slice(&outcome.raw)?;
    let messages: Vec<&str> =
        said["findings"].as_array().into_iter().flatten().filter_map(|f| f["message"].as_str()).collect();
    assert_eq!(messages, ["`docs` does not exist yet in `src`", "`gone` does not exist yet"]);
    Ok(())
}

#[test]
fn a_default_that_asks_is_told_to_refuse() -> Result<()> {
    let env = workspace()?;
    let text = "version: \"1.0\"\ndefault_policy: ask\nallow_insecure_default: true\nagents:\n  default: {permissions: [{path: src, access: all}]}\n";
    env.write(env.project().join("remit.yaml"), text)?;
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @"
    $ remit check
    ok  remit.yaml: no errors, 0 warnings, 1 note
    2> note[not-held-yet]: nobody can be asked yet: `remit run` and the hooks refuse what no rule covers
    2>   ╭▸ remit.yaml:2:17
    2>   │
    2> 2 │ default_policy: ask
    2>   ╰╴                ━━━
    2>
    = 0
    ");
    let outcome = remit(&env, &["run", "--", "/bin/sh", "-c", "echo x >new"])?;
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    for effect in ["ask", "deny"] {
        let log = remit(&env, &["log", "--effect", effect])?.ended(0)?;
        assert!(log.stdout.contains("ask   create [PROJECT]/new"), "{effect}: {}", log.stdout);
        assert!(log.stdout.contains("nobody can be asked yet"), "{effect}: {}", log.stdout);
    }
    Ok(())
}

#[test]
fn what_cannot_be_held_round_gits_hooks_says_that_they_lie_there() -> Result<()> {
    let env = workspace()?;
    let policy = |more: &str| {
        let text = format!(
            "version: \"1.0\"\nagents:\n  default:\n    permissions: [{{path: ., access: read-write}}, {more}]\n"
        );
        env.write(env.project().join("remit.yaml"), text)
    };
    let said = || -> Result<(i32, String)> {
        let outcome = remit(&env, &["check", "--json"])?;
        let said: Value = serde_json::from_slice(&outcome.raw)?;
        let errors = said["findings"].as_array().into_iter().flatten().filter(|f| f["severity"] == "error");
        let errors = errors.map(|f| format!("{} {}", f["code"], f["message"])).collect::<Vec<_>>();
        Ok((outcome.code, env.normal(&errors.join("\n"))))
    };
    let hooks = env.project().join(".git/hooks");
    if hooks.exists() {
        std::fs::remove_dir_all(&hooks)?;
    }
    env.write(env.project().join("sub/pre-commit"), "#!/bin/sh\n")?;
    std::os::unix::fs::symlink("../sub", &hooks)?;
    for rule in ["{path: sub/pre-commit, access: read-write}", "{path: sub/*.txt, access: read-write}"] {
        policy(rule)?;
        let (code, errors) = said()?;
        assert_eq!(code, 3, "{errors}");
        assert!(errors.contains("not-holdable"), "{errors}");
        let hooks = "git's hooks lie in [PROJECT]/sub, by the link [PROJECT]/.git/hooks, so programs can be started there";
        assert!(errors.contains(hooks), "{errors}");
    }
    // Where a rule of a person lets programs be started, that is plain to see.
    policy("{path: sub, access: all}, {path: sub/pre-commit, access: read-write}")?;
    let (code, errors) = said()?;
    assert!(code == 3 && errors.contains("not-holdable") && !errors.contains("hooks"), "{errors}");
    // Without a link, too.
    std::fs::remove_file(&hooks)?;
    env.repo()?.git(["config", "core.hooksPath", "sub"])?;
    policy("{path: sub/pre-commit, access: read-write}")?;
    let (_, errors) = said()?;
    assert!(errors.contains("git's hooks lie in [PROJECT]/sub, so programs"), "{errors}");
    Ok(())
}

#[test]
fn one_slip_in_many_places_is_one_block_and_a_misspelt_key_is_not_missing_too() -> Result<()> {
    let env = workspace()?;
    let text = "version: \"1.0\"\nglobal_rules:\n  - {path: a, access: none, for: alll}\n  - {path: b, access: none, for: alll}\n  - {path: c, acess: none}\n  - {path: d, access: none, for: alll}\nagents:\n  default: {permissions: [{path: src, access: all}]}\n";
    env.write(env.project().join("remit.yaml"), text)?;
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @"
    $ remit check
    2> error[unknown-name]: there is no agent or role `alll`
    2>   ╭▸ remit.yaml:3:34
    2>   │
    2> 3 │   - {path: a, access: none, for: alll}
    2>   │                                  ━━━━
    2> 4 │   - {path: b, access: none, for: alll}
    2>   │                                  ━━━━
    2> 5 │   - {path: c, acess: none}
    2> 6 │   - {path: d, access: none, for: alll}
    2>   │                                  ━━━━
    2>   │
    2>   ╰ help: did you mean `all`? known here: `all`, `default`
    2>
    2> error[unknown-key]: `global_rules[2]` has no key `acess`
    2>   ╭▸ remit.yaml:5:15
    2>   │
    2> 5 │   - {path: c, acess: none}
    2>   │               ━━━━━
    2>   │
    2>   ╰ help: did you mean `access`? known here: `path`, `access`, `for`
    2>
    2> remit.yaml: 4 errors
    = 3
    ");
    // For programs each is a finding of its own.
    let said: Value = serde_json::from_slice(&remit(&env, &["check", "--json"])?.ended(3)?.raw)?;
    assert_eq!(said["findings"].as_array().map(Vec::len), Some(4));
    Ok(())
}

#[test]
fn a_default_that_asks_does_not_open_anything_and_is_confirmed_all_the_same() -> Result<()> {
    let env = workspace()?;
    let text = "version: \"1.0\"\ndefault_policy: ask\nagents: {default: {permissions: [{path: src, access: all}]}}\n";
    env.write(env.project().join("remit.yaml"), text)?;
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @"
    $ remit check
    2> error[insecure-default]: `default_policy: ask` leaves every path that no rule covers to a person, and nobody can be asked yet: it is refused until then
    2>   ╭▸ remit.yaml:2:17
    2>   │
    2> 2 │ default_policy: ask
    2>   │                 ━━━
    2>   │
    2>   ╰ help: write `default_policy: deny`, which refuses the same, or confirm with `allow_insecure_default: true`
    2>
    2> remit.yaml: 1 error
    = 3
    ");
    Ok(())
}

#[test]
fn hidden_files_that_git_would_add_are_told_with_the_line_that_keeps_it_from_that() -> Result<()> {
    let env = workspace()?;
    let repo = env.repo()?;
    repo.write(".git/info/exclude", "")?;
    repo.write("remit.yaml", POLICY.replace("agents:", "  - {path: \"**/.env\", access: none}\nagents:"))?;
    for file in [".env", "sub/.env", "src/deep/.env"] {
        repo.write(file, "TOKEN=x\n")?;
    }
    // A person's own list is not known inside.
    env.write(env.home().join(".config/git/ignore"), ".env\n")?;
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @r#"
    $ remit check
    ok  remit.yaml: no errors, 2 warnings, 0 notes
    2> warning[none-not-ignored]: `secrets/** none` covers `secrets`, which git neither tracks nor ignores: `git stash -u` inside fails on that, and `git add -A` warns of it
    2>   ╭▸ remit.yaml:3:12
    2>   │
    2> 3 │   - {path: "secrets/**", access: none, for: all}
    2>   │            ━━━━━━━━━━━━
    2>   │
    2>   ╰ help: add to `.gitignore`: `/secrets/`
    2>
    2> warning[none-not-ignored]: `**/.env none` covers `.env` and 2 others, which git neither tracks nor ignores: `git add -A` and `git stash -u` inside fail on that
    2>   ╭▸ remit.yaml:4:12
    2>   │
    2> 4 │   - {path: "**/.env", access: none}
    2>   │            ━━━━━━━━━
    2>   │
    2>   ╰ help: add to `.gitignore`: `.env`
    2>
    = 0
    "#);
    repo.write(".gitignore", ".env\n/secrets/\n")?;
    let outcome = remit(&env, &["check"])?.ended(0)?;
    assert!(outcome.stdout.contains("0 warnings"), "{}{}", outcome.stdout, outcome.stderr);
    Ok(())
}

const SLIPS: &str = "# who may what\nversion: \"1.0\" # the language\nagents:\n  a: # the first\n    permisions: # its rules\n      - {path: 'src/**', access: read_write} # sources\n      - path: docs # prose\n        access: rread\n      - {path: *.md, access: read}\n";

#[test]
fn what_leaves_no_choice_is_mended_and_the_rest_stays_byte_for_byte() -> Result<()> {
    let env = empty()?;
    let file = env.project().join("remit.yaml");
    env.write(&file, SLIPS)?;
    let shown = remit(&env, &["check", "--fix", "--dry-run"])?.ended(0)?;
    assert!(shown.stdout.contains("+    permissions: # its rules\n"), "{}", shown.stdout);
    assert_eq!(std::fs::read_to_string(&file)?, SLIPS);
    remit(&env, &["check", "--fix"])?.ended(0)?;
    let mended = SLIPS
        .replace("permisions", "permissions")
        .replace("read_write", "read-write")
        .replace("rread", "read")
        .replace("*.md", "\"*.md\"");
    assert_eq!(std::fs::read_to_string(&file)?, mended);
    let again = remit(&env, &["check", "--fix"])?.ended(0)?;
    assert!(!again.stdout.contains("+++"), "{}", again.stdout);
    assert_eq!(std::fs::read_to_string(&file)?, mended);
    Ok(())
}

#[test]
fn rules_without_effect_go_and_needs_are_granted() -> Result<()> {
    let env = empty()?;
    let file = env.project().join("remit.yaml");
    let text = "global_rules:\r\n  - {path: \"keys/**\", access: none}\r\nagents:\r\n  a:\r\n    permissions:\r\n      - {path: \"src/**\", access: read}   # one\r\n      - {path: \"src/**\", access: read}   # two\r\n      - {path: \"keys/x\", access: read}\r\n    capabilities:\r\n      requires:\r\n        - {path: \"docs/**\", access: read, reason: prose}\r\n";
    env.write(&file, text)?;
    remit(&env, &["check", "--fix"])?.ended(0)?;
    let mended = "version: \"1.0\"\r\nglobal_rules:\r\n  - {path: \"keys/**\", access: none}\r\nagents:\r\n  a:\r\n    permissions:\r\n      - {path: \"src/**\", access: read}   # one\r\n      # two\r\n      - {path: \"docs/**\", access: read}\r\n    capabilities:\r\n      requires:\r\n        - {path: \"docs/**\", access: read, reason: prose}\r\n";
    assert_eq!(std::fs::read_to_string(&file)?, mended);
    Ok(())
}

#[test]
fn what_can_be_meant_in_two_ways_and_links_are_left() -> Result<()> {
    let env = empty()?;
    let file = env.project().join("remit.yaml");
    let text = "version: \"1.0\"\nagents:\n  a:\n    permissions:\n      - {path: src, access: read}\n      - {path: src, access: none}\n";
    env.write(&file, text)?;
    remit(&env, &["check", "--fix"])?.ended(3)?;
    assert_eq!(std::fs::read_to_string(&file)?, text);
    env.write(env.project().join("real/policy.yaml"), SLIPS)?;
    std::os::unix::fs::symlink("real/policy.yaml", env.project().join("link.yaml"))?;
    let said = remit(&env, &["check", "--fix", "link.yaml"])?;
    assert!(said.stderr.contains("is a link"), "{}", said.stderr);
    assert_eq!(std::fs::read_to_string(env.project().join("real/policy.yaml"))?, SLIPS);
    Ok(())
}

#[test]
fn a_leading_slash_that_can_only_mean_the_workspace_gets_its_root() -> Result<()> {
    let env = empty()?;
    let file = env.project().join("remit.yaml");
    env.write(env.project().join("web-ui/x"), "")?;
    let text =
        "version: \"1.0\" # v\nagents:\n  a:\n    permissions:\n      - {path: /web-ui, access: read}\n";
    env.write(&file, text)?;
    remit(&env, &["check", "--fix"])?.ended(0)?;
    let mended = text.replace("# v\n", "# v\nroot: workspace\n");
    assert_eq!(std::fs::read_to_string(&file)?, mended);
    env.write(
        &file,
        text.replace("access: read}", "access: read}\n      - {path: /usr/bin, access: execute}"),
    )?;
    remit(&env, &["check", "--fix"])?.ended(3)?;
    Ok(())
}
