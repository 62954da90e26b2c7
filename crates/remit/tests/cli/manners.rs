//! What holds for every command: exit codes, colours, pipes, folders, completions, the manual page.

use crate::place::{POLICY, empty, remit, transcript, workspace};
use anyhow::{Context, Result};
use serde_json::Value;
use test_support::TestEnv;

/// The commands that are listed.
const COMMANDS: &[&str] =
    &["init", "check", "explain", "run", "log", "verify", "hooks", "doctor", "demo", "completions", "man"];

#[test]
fn exit_codes_are_those_of_the_table() -> Result<()> {
    let env = workspace()?;
    let policy = |text: &str| env.write(env.project().join("remit.yaml"), text).map(drop);
    let code = |args: &[&str]| remit(&env, args).map(|outcome| outcome.code);
    assert_eq!(code(&["check"])?, 0);
    assert_eq!(code(&["explain", "default", "write", "docs/guide.md"])?, 1);
    assert_eq!(code(&["explain"])?, 2);
    assert_eq!(code(&["explain", "nobody", "read", "x"])?, 6);
    assert_eq!(code(&["hooks", "install", "nobody"])?, 6);
    assert_eq!(code(&["run", "--", "no-such-program"])?, 125);
    assert_eq!(code(&["run", "--", "/run/remit/session/remit", "verify"])?, 5);
    assert_eq!(code(&["-C", "no/such/folder", "check"])?, 4);
    policy("version: \"2.0\"\n")?;
    assert_eq!(code(&["check"])?, 3);
    policy(&POLICY.replacen(
        "global_rules",
        "default_policy: ask\nallow_insecure_default: true\nglobal_rules",
        1,
    ))?;
    assert_eq!(code(&["explain", "narrow", "read", "sub/x"])?, 8);
    // What may be written and not read, within what may be read, is more than this kernel holds.
    policy(
        "version: \"1.0\"\nagents:\n  default:\n    permissions: [{path: \".\", access: read}, {path: \"drop/**\", access: write}]\n",
    )?;
    let outcome = remit(&env, &["run", "--", "/bin/true"])?.ended(125)?;
    assert!(outcome.stderr.contains("`drop/** write`"), "{}", outcome.stderr);
    std::fs::rename(env.project().join("remit.yaml"), env.project().join("massgen-permissions.yaml"))?;
    assert_eq!(code(&["init"])?, 7);
    Ok(())
}

#[test]
fn without_a_terminal_there_are_no_escape_codes() -> Result<()> {
    let env = workspace()?;
    remit(&env, &["run", "--", "/bin/sh", "-c", "echo x >docs/b.md"])?.ended(2)?;
    for args in [
        &["init"][..],
        &["check"],
        &["explain", "default", "read", "secrets/key"],
        &["log"],
        &["verify"],
        &["doctor"],
        &["hooks", "status", "claude"],
        &["run", "nobody"],
        &["--help"],
        &["frobnicate"],
    ] {
        let mut command = env.remit(args)?;
        let outcome = env.run(command.env_remove("NO_COLOR").env("TERM", "xterm-256color"))?;
        let said = outcome.stdout + &outcome.stderr;
        assert!(!said.is_empty() && !said.contains('\u{1b}'), "{args:?}: {said:?}");
    }
    Ok(())
}

/// What a terminal is shown.
fn on_a_terminal(env: &TestEnv, command: &str, no_color: bool) -> Result<String> {
    let line = format!("{} {command}", env!("CARGO_BIN_EXE_remit"));
    let mut script = env.command("script")?;
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm-256color");
    if !no_color {
        script.env_remove("NO_COLOR");
    }
    Ok(String::from_utf8_lossy(&env.run(&mut script)?.raw).into_owned())
}

#[test]
fn a_terminal_has_colours_unless_they_are_not_wanted() -> Result<()> {
    let env = workspace()?;
    remit(&env, &["run", "--", "/bin/true"])?.ended(0)?;
    for command in ["verify", "explain default read secrets/key", "run nobody", "doctor", "--help"] {
        assert!(on_a_terminal(&env, command, false)?.contains('\u{1b}'), "{command}: no colours");
        let plain = on_a_terminal(&env, command, true)?;
        assert!(!plain.is_empty(), "{command}");
        if command != "--help" {
            assert!(!plain.contains('\u{1b}'), "{command}: {plain:?}");
        }
    }
    Ok(())
}

#[test]
fn a_reader_that_had_enough_is_no_error_to_talk_about() -> Result<()> {
    let env = workspace()?;
    let script = "for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do echo x >src/$i$j; done; done";
    remit(&env, &["run", "--", "/bin/sh", "-c", script])?.ended(0)?;
    for rest in
        ["log -n 0", "log -n 0 --json", "completions bash", "man", "explain default read /usr", "--help"]
    {
        let line = format!("{} {rest} | head -n 1", env!("CARGO_BIN_EXE_remit"));
        let outcome = env.run(env.command("/bin/sh")?.args(["-c", &line]))?.ended(0)?;
        assert_eq!(outcome.stdout.lines().count(), 1, "{rest}: {}", outcome.stdout);
        assert_eq!(outcome.stderr, "", "{rest}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_written_is_said() -> Result<()> {
    let env = workspace()?;
    remit(&env, &["run", "--", "/bin/true"])?.ended(0)?;
    for rest in ["verify", "check", "check --json", "explain default read src/a.rs", "doctor --json"] {
        let line = format!("{} {rest} >/dev/full", env!("CARGO_BIN_EXE_remit"));
        let outcome = env.run(env.command("/bin/sh")?.args(["-c", &line]))?;
        assert_eq!(outcome.code, 4, "{rest}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("standard output"), "{rest}: {}", outcome.stderr);
    }
    Ok(())
}

#[test]
fn another_folder_is_as_good_as_being_there() -> Result<()> {
    let env = workspace()?;
    let (root, outside) = (env.project().display().to_string(), env.root().display().to_string());
    for (at, args) in [
        (&outside, &["-C", "project", "check"][..]),
        (&outside, &["check", "-C", "project/sub/deep"]),
        (&outside, &["--directory", &root, "check"]),
        (&root, &["-C", "sub", "check"]),
    ] {
        let outcome = env.run(env.remit(args)?.current_dir(at))?;
        assert_eq!(outcome.code, 0, "{args:?}: {}", outcome.stderr);
        assert!(outcome.stdout.starts_with("ok  "), "{}", outcome.stdout);
    }
    insta::assert_snapshot!(transcript(&env, &[&["-C", "no/such", "check"], &["-C", "src/a.rs", "check"], &["-C", "..", "check"]])?, @"
    $ remit -C no/such check
    2> error: cannot start from `no/such`
    2>   because: No such file or directory (os error 2)
    = 4
    $ remit -C src/a.rs check
    2> error: cannot start from `src/a.rs`
    2>   because: Not a directory (os error 20)
    = 4
    $ remit -C .. check
    2> error: there is no `remit.yaml` in `[ROOT]` or above it
    2> hint: `remit init` writes one
    = 3
    ");
    Ok(())
}

#[test]
fn completions_know_every_command() -> Result<()> {
    let env = empty()?;
    for shell in ["bash", "zsh", "fish"] {
        let outcome = remit(&env, &["completions", shell])?.ended(0)?;
        for command in COMMANDS {
            assert!(outcome.stdout.contains(command), "{shell}: {command}");
        }
        assert!(outcome.stdout.contains("dry-run"), "{shell} knows no flag");
        assert!(!outcome.stdout.contains("enter-session"), "{shell} offers what is not for people");
    }
    let file = env.root().join("completions");
    std::fs::write(&file, remit(&env, &["completions", "bash"])?.raw)?;
    env.run(env.command("bash")?.arg("-n").arg(&file))?.ended(0)?;
    assert_eq!(remit(&env, &["completions", "tcsh-not"])?.code, 2);
    Ok(())
}

#[test]
fn the_manual_page_has_every_command() -> Result<()> {
    let outcome = remit(&empty()?, &["man"])?.ended(0)?;
    assert!(outcome.stdout.contains(".TH remit 1"), "{}", outcome.stdout);
    for command in COMMANDS {
        assert!(outcome.stdout.contains(&format!("remit\\-{command}")), "{command}");
    }
    assert!(!outcome.stdout.contains("enter\\-session"));
    Ok(())
}

#[test]
fn doctor_tells_programs_the_same_keys_everywhere() -> Result<()> {
    let env = workspace()?;
    let outcome = remit(&env, &["doctor", "--json"])?.ended(0)?;
    let said: Value = serde_json::from_slice(&outcome.raw)?;
    assert_eq!(said["version"], 1);
    let checks = said["checks"].as_array().context("a list")?;
    for check in checks {
        let keys: Vec<&String> = check.as_object().context("an object")?.keys().collect();
        assert_eq!(keys, ["check", "found", "mend", "state"]);
        assert!(matches!(check["state"].as_str(), Some("ok" | "warn")), "{check}");
    }
    let names: Vec<&str> =
        checks.iter().filter_map(|c| c["check"].as_str()).filter(|n| *n != "user").collect();
    assert_eq!(names, ["kernel", "landlock", "namespaces", "gate", "network", "state", "caches", "claude"]);
    Ok(())
}

#[test]
fn a_program_in_an_agents_place_is_told_where_it_belongs() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[
        &["run", "ls"],
        &["run", "sort", "test", "--watch", "a b", "--", "-x"],
        &["run", "--no-hooks", "/bin/ls", "-l"],
        &["run", "--no-hooks", "default", "make", "-j2"],
        &["run", "narrow", "--", "no-such-program"],
        &["run", "narrow"],
    ])?, @"
    $ remit run ls
    2> error: the policy has no agent `ls`, and none whose cli is `ls` (it has: default, narrow)
    2> hint: `remit run -- ls` runs a program as `default`
    2> hint: an agent has a name of its own under `agents:` in remit.yaml, such as `ls: {cli: ls, permissions: [{path: ., access: all}]}`
    = 125
    $ remit run sort test --watch a b -- -x
    2> error: the policy has no agent `sort`, and none whose cli is `sort` (it has: default, narrow)
    2> hint: `remit run -- sort test --watch 'a b' -- -x` runs a program as `default`
    2> hint: an agent has a name of its own under `agents:` in remit.yaml, such as `sort: {cli: sort, permissions: [{path: ., access: all}]}`
    = 125
    $ remit run --no-hooks /bin/ls -l
    2> error: the policy has no agent `/bin/ls`, and none whose cli is `/bin/ls` (it has: default, narrow)
    2> hint: `remit run -- /bin/ls -l` runs a program as `default`
    = 125
    $ remit run --no-hooks default make -j2
    2> error: `make` is no word for `remit run`, which has its agent
    2> hint: `remit run --no-hooks default -- make -j2` hands it to the program
    = 125
    $ remit run narrow -- no-such-program
    2> error: `no-such-program` was not found in PATH
    = 125
    $ remit run narrow
    2> error: the agent `narrow` has no `cli`: give a command after `--`
    2> hint: `remit run narrow -- CMD`
    = 125
    ");
    // With no agent of that name, nothing runs as it.
    env.write(env.project().join("remit.yaml"), POLICY.replace("default:", "other:"))?;
    insta::assert_snapshot!(transcript(&env, &[&["run", "--", "make", "-j2"]])?, @"
    $ remit run -- make -j2
    2> error: the policy has no agent `default`, and none whose cli is `default` (it has: narrow, other)
    2> hint: `remit run AGENT -- make -j2` runs it as one of these
    = 125
    ");
    Ok(())
}

#[test]
fn doctor_says_how_a_program_that_is_missing_is_installed_and_that_others_do() -> Result<()> {
    let env = workspace()?;
    let outcome = env.run(env.remit(["doctor"])?.env("PATH", env.root().join("bin")))?.ended(0)?;
    let mut lines = outcome.stdout.lines().skip_while(|line| !line.contains("not installed"));
    assert_eq!(
        lines.next().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")),
        Some("warn claude not installed".to_owned())
    );
    let mend = lines.next().context("a way out")?;
    for part in ["`npm install -g @anthropic-ai/claude-code` installs it", "`remit run -- CMD`"] {
        assert!(mend.contains(part), "{mend}");
    }
    Ok(())
}

#[test]
fn a_command_that_is_misspelt_is_known_by_what_it_is_near() -> Result<()> {
    let env = workspace()?;
    for (typed, meant) in [("lgo", "log"), ("chekc", "check"), ("innit", "init"), ("explian", "explain")] {
        let outcome = remit(&env, &[typed, "x"])?.ended(2)?;
        assert!(outcome.stderr.contains(&format!("exists: '{meant}'")), "{typed}: {}", outcome.stderr);
    }
    let outcome = remit(&env, &["frobnicate"])?.ended(2)?;
    assert!(!outcome.stderr.contains("similar"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn an_agent_program_that_is_not_installed_is_told_how_to_get_it_and_what_works_without() -> Result<()> {
    let env = workspace()?;
    let alone = |args: &[&str]| env.run(env.remit(args)?.env("PATH", env.root().join("bin")));
    insta::assert_snapshot!(alone(&["run", "claude"])?.ended(125)?.stderr, @"
    error: the policy has no agent `claude`, and none whose cli is `claude` (it has: default, narrow)
    hint: `npm install -g @anthropic-ai/claude-code` installs Claude Code
    hint: `remit run -- sh` runs a shell as `default`, without any agent program
    hint: an agent has a name of its own under `agents:` in remit.yaml, such as `claude: {cli: claude, permissions: [{path: ., access: all}]}`
    ");
    // In the policy, by its own name and by its program's.
    for name in ["claude", "other"] {
        let agent =
            format!("agents:\n  {name}:\n    cli: claude\n    permissions: [{{path: ., access: all}}]\n");
        env.write(env.project().join("remit.yaml"), POLICY.replace("agents:\n", &agent))?;
        for called in [name, "claude"] {
            let outcome = alone(&["run", called])?.ended(125)?;
            assert!(outcome.stderr.contains("`claude` was not found in PATH"), "{}", outcome.stderr);
            assert!(outcome.stderr.contains("hint: `npm install -g "), "{}", outcome.stderr);
            assert!(outcome.stderr.contains("hint: `remit run -- sh` runs a shell"), "{}", outcome.stderr);
        }
    }
    // A program that is not there is not proposed.
    let outcome = alone(&["run", "no-such-program"])?.ended(125)?;
    assert!(!outcome.stderr.contains("`remit run --"), "{}", outcome.stderr);
    Ok(())
}
