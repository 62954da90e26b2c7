//! Verbs that a role takes away, git's records that an agent has not, scratch that a policy names: by the kernel.

use crate::place::{each_user, remit, sh};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use test_support::TestEnv;

const KEEPER: &str = r#"version: "1.0"
scratch: ["gen/**"]
roles:
  base: {verbs: {deny: [delete]}}
  keeper:
    extends: [base]
    verbs: {deny: [rename]}
agents:
  default:
    roles: [keeper]
    permissions:
      - {path: ".", access: all}
"#;

/// Each line, and whether it comes to pass.
const DEEDS: &[(&str, bool)] = &[
    ("echo more >>src/a.rs", true),
    ("echo new >src/b.rs", true),
    ("mkdir src/d", true),
    ("rm src/a.rs", false),
    ("rmdir src/d", false),
    ("mv src/a.rs src/c.rs", false),
    ("ln src/a.rs src/c.rs", false),
    ("python3 -c \"import os; os.unlink('src/a.rs')\"", false),
    ("cd ${TMPDIR:-/tmp} && echo x >x && mv x y && rm y", true),
    ("ln -s a.rs src/c.rs", false),
    ("echo x >$HOME/x && rm $HOME/x", true),
    ("git add -A && git -c user.name=a -c user.email=a@b commit -qm more", true),
];

#[test]
fn a_verb_that_a_role_takes_away_is_taken_away_by_the_kernel_from_the_work_tree() -> Result<()> {
    each_user(KEEPER, |env| {
        for (deed, passes) in DEEDS {
            let done = sh(env, deed)?;
            ensure!((done.code == 0) == *passes, "{deed}: {}", done.stderr);
        }
        let log = remit(env, &["log", "--effect", "deny", "--json", "-n", "0"])?.ended(0)?;
        let records: Vec<Value> = String::from_utf8(log.raw)?
            .lines()
            .map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone()))
            .collect::<Result<_>>()?;
        let gone = records.iter().find(|r| r["verb"] == "delete").context("a record of a deletion")?;
        ensure!(
            gone["rule_id"] == "roles.base.verbs.deny[0]" && gone["rule_at"] == "remit.yaml:4",
            "{gone:#}"
        );
        ensure!(gone["layer"] == "agent" && records.iter().any(|r| r["verb"] == "rename"), "{records:#?}");
        let told = remit(env, &["explain", "default", "delete", "src/a.rs"])?.ended(1)?;
        ensure!(told.stdout.contains("verbs.deny: delete"), "{}", told.stdout);
        Ok(())
    })
}

const NO_GIT: &str = r#"version: "1.0"
agents:
  default:
    git: none
    permissions:
      - {path: ".", access: all}
"#;

#[test]
fn an_agent_without_git_reads_nothing_of_what_was_ever_committed() -> Result<()> {
    each_user(NO_GIT, |env| {
        for line in [
            "git show HEAD:src/a.rs",
            "git log",
            "ls .git/objects",
            "cat .git/HEAD",
            "mv .git g",
            "git clone -q . /tmp/c",
        ] {
            let done = sh(env, line)?;
            ensure!(done.code != 0 && !done.stdout.contains("text"), "{line}: {}", done.stdout);
        }
        ensure!(sh(env, "cat src/a.rs && echo more >src/b.rs")?.code == 0);
        Ok(())
    })
}

#[test]
fn an_agent_without_git_has_none_in_a_linked_worktree_or_a_repository_below_either() -> Result<()> {
    each_user(NO_GIT, |env| {
        let repo = env.repo()?;
        let main = env.root().join("main");
        let (main_text, project) = (main.display().to_string(), env.project());
        let run = |args: &[&str]| env.run(env.command("git")?.args(args))?.ended(0);
        run(&["clone", "-q", &project.display().to_string(), &main_text])?;
        for entry in std::fs::read_dir(&project)? {
            let path = entry?.path();
            if path.is_dir() { std::fs::remove_dir_all(path)? } else { std::fs::remove_file(path)? }
        }
        run(&[
            "-C",
            &main_text,
            "worktree",
            "add",
            "-q",
            "-f",
            &project.display().to_string(),
            "-b",
            "side",
        ])?;
        repo.write("vendor/lib/.git/HEAD", "ref: refs/heads/main\n")?;
        for line in ["git show HEAD:src/a.rs", "cat .git", "cat vendor/lib/.git/HEAD"] {
            let done = sh(env, line)?;
            ensure!(done.code != 0 && done.stdout.is_empty(), "{line}: {}", done.stdout);
        }
        let records = sh(env, &format!("ls {main_text}/.git; cat {main_text}/.git/HEAD"))?;
        ensure!(records.code != 0 && records.stdout.is_empty(), "{}", records.stdout);
        ensure!(sh(env, "cat src/a.rs")?.stdout == "text\n");
        Ok(())
    })
}

#[test]
fn what_the_policy_calls_scratch_is_held_and_counted_and_not_told_one_by_one() -> Result<()> {
    let policy = KEEPER.replace("roles: [keeper]", "roles: []");
    let env = crate::place::workspace(TestEnv::new()?, &policy)?;
    sh(&env, "mkdir -p gen src/d && for i in 1 2 3 4 5; do echo $i >gen/$i; done; echo x >src/d/x")?
        .ended(0)?;
    let log = remit(&env, &["log", "--json", "-n", "0"])?.ended(0)?;
    let records: Vec<Value> = String::from_utf8(log.raw)?
        .lines()
        .map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone()))
        .collect::<Result<_>>()?;
    let named = |part: &str| {
        let path = |r: &&Value| r["path"].as_str().is_some_and(|path| path.contains(part));
        records.iter().filter(path).count()
    };
    assert_eq!(named("/gen/"), 0, "{records:#?}");
    assert!(named("/src/d/x") > 0, "{records:#?}");
    assert!(records.iter().any(|r| r["event"] == "summary"), "{records:#?}");
    Ok(())
}

#[test]
fn what_nothing_holds_yet_stops_a_session_by_name_unless_it_is_only_to_be_said() -> Result<()> {
    for (key, line) in [
        ("requests", "    requests: [{path: docs, access: read}]"),
        ("network", "    network: {allow: [\"example.org:443\"]}"),
        ("limits", "    limits: {memory: 2GiB, processes: 64, cpu: 1.5}"),
        ("approvals", "approvals: [{verb: delete, path: docs}]"),
        ("intents", "intents: require"),
        ("intents", "intents: advise"),
    ] {
        let policy = format!("{}{line}\n", NO_GIT.replace("    git: none\n", ""));
        let env = crate::place::workspace(TestEnv::new()?, &policy)?;
        let outcome = sh(&env, "true")?;
        assert_eq!(outcome.code, 125, "{line}");
        for part in ["error[not-held-yet]", &format!("`{key}`"), "sandbox: advisory"] {
            assert!(outcome.stderr.contains(part), "{line}: {}", outcome.stderr);
        }
        assert_eq!(remit(&env, &["check"])?.code, 3, "{line}");
        env.write(env.project().join("remit.yaml"), format!("{policy}sandbox: advisory\n"))?;
        assert_eq!(sh(&env, "true")?.code, 0, "{line}");
        let outcome = remit(&env, &["check"])?.ended(0)?;
        assert!(outcome.stderr.contains("warning[not-held-yet]"), "{line}: {}", outcome.stderr);
    }
    let never = "    requests: [{path: docs, access: read, answer: never}]\n";
    let env = crate::place::workspace(TestEnv::new()?, &format!("{}{never}", NO_GIT))?;
    assert_eq!(sh(&env, "true")?.code, 0, "what is never granted is held");
    Ok(())
}

#[test]
fn a_program_without_a_flag_gets_the_system_message_by_a_variable_and_no_promise_about_tools() -> Result<()> {
    let more = "    system_message: \"Mind the gap.\"\n    tools: {deny: [WebFetch]}\nsandbox: enforce\n";
    let env = crate::place::workspace(TestEnv::new()?, &format!("{NO_GIT}{more}"))?;
    let outcome = sh(&env, "echo \"$REMIT_SYSTEM_MESSAGE\"")?.ended(0)?;
    assert_eq!(outcome.stdout, "Mind the gap.\n");
    assert!(outcome.stderr.contains("not held: `tools.deny: WebFetch` (remit.yaml:8)"), "{}", outcome.stderr);
    let checked = remit(&env, &["check"])?.ended(0)?;
    for code in ["warning[tools-not-held]", "warning[message-unheeded]"] {
        assert!(checked.stderr.contains(code), "{}", checked.stderr);
    }
    Ok(())
}

/// The words of a start of Claude Code, as a stand-in tells them.
#[test]
fn claude_is_handed_the_system_message_and_the_names_of_denied_tools() -> Result<()> {
    let policy = r#"version: "1.0"
agents:
  claude:
    cli: claude
    system_message: "Mind the gap."
    tools: {deny: [WebFetch, "mcp__*", WebSearch]}
    permissions:
      - {path: ".", access: all}
"#;
    let env = crate::place::workspace(TestEnv::new()?, policy)?;
    let stand_in =
        env.write(env.root().join("bin/claude"), "#!/bin/sh\nfor word; do echo \"[$word]\"; done\n")?;
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&stand_in, std::fs::Permissions::from_mode(0o755))?;
    let bin = stand_in.parent().context("a folder")?.to_owned();
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths("/usr/bin:/bin")))?;
    let mut command = env.remit(["run", "--no-hooks", "claude", "--", "-p", "hello"])?;
    let outcome = env.run(command.env("PATH", path))?.ended(0)?;
    let words: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(
        words,
        [
            "[--append-system-prompt]",
            "[Mind the gap.]",
            "[--disallowedTools=WebFetch,WebSearch]",
            "[-p]",
            "[hello]"
        ]
    );
    Ok(())
}
