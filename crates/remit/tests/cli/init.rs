//! `remit init`: what it finds, what it writes, and what it leaves alone.

use crate::place::{empty, remit, transcript, trimmed};
use anyhow::Result;
use std::os::unix::fs::PermissionsExt;
use test_support::TestEnv;
use test_support::env::Outcome;

/// Runs it with nothing in `PATH` but what the test put there.
fn alone(env: &TestEnv, args: &[&str]) -> Result<Outcome> {
    env.run(env.remit(args)?.env("PATH", env.root().join("bin")))
}

fn written(env: &TestEnv) -> Result<String> {
    Ok(std::fs::read_to_string(env.project().join("remit.yaml"))?)
}

#[test]
fn an_empty_folder_gets_a_policy_that_checks_clean() -> Result<()> {
    let env = empty()?;
    let outcome = alone(&env, &["init"])?.ended(0)?;
    insta::assert_snapshot!(outcome.stdout, @"ok  wrote remit.yaml for default");
    insta::assert_snapshot!(outcome.stderr, @"remit: read it and commit it, then `remit check` and `remit run -- sh`");
    insta::assert_snapshot!(written(&env)?, @r#"
    # yaml-language-server: $schema=.orchestration/remit.schema.json
    # What each coding agent may do here. People edit this file; agents cannot.
    # `remit check` reads it, `remit explain AGENT VERB PATH` says what it means.
    version: "1.0"
    root: host              # a leading "/" is the machine's root; `workspace` would make it this folder
    default_policy: deny    # what no rule covers is refused
    intents: off            # `require` (no change without declared work) is not held yet

    # A pattern means the path and all below it; "*" stays within a name, "**" crosses folders.
    # access: none | read | write | read-write | execute (reads too) | all

    # Out of bounds for everybody. A `none` is final: no narrower rule and no approval reopens it.
    # `.env.example` and its like stay readable, so `.env.*` is not written as one pattern.
    global_rules:
      - {path: "**/.env", access: none, for: all}
      - {path: "**/.env.local", access: none, for: all}
      - {path: "**/.env.*.local", access: none, for: all}
      - {path: "**/.env.development", access: none, for: all}
      - {path: "**/.env.staging", access: none, for: all}
      - {path: "**/.env.production", access: none, for: all}
      - {path: "**/id_rsa", access: none, for: all}
      - {path: "**/id_ecdsa", access: none, for: all}
      - {path: "**/id_ed25519", access: none, for: all}
      - {path: "**/.netrc", access: none, for: all}

    # One entry per agent; `remit run NAME` starts it. `all` includes running what was built.
    agents:
      default:            # any other command: `remit run -- CMD`
        permissions:
          - {path: ".", access: all}

    # To narrow an agent, write narrower rules:
    #    permissions: [{path: "src/**", access: all}, {path: "docs/**", access: read}]

    # What must come out; where one does not, nothing runs.
    tests:
      - {agent: default, verb: write, path: "README.md", expect: allow}
      - {agent: default, verb: read, path: ".env", expect: deny}
      - {agent: default, verb: write, path: "remit.yaml", expect: deny}
    "#);
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @"
    $ remit check
    ok  remit.yaml: no errors, 0 warnings, 0 notes
    = 0
    ");
    Ok(())
}

#[test]
fn a_rust_repository_with_secrets_and_an_agent_program() -> Result<()> {
    let env = empty()?;
    let repo = env.repo()?;
    repo.write("Cargo.toml", "[package]\nname = \"x\"\n")?;
    repo.write("src/main.rs", "fn main() {}\n")?;
    repo.write(".env", "TOKEN=x\n")?;
    repo.write("deploy/credentials.json", "{}\n")?;
    repo.write("secrets/key", "x\n")?;
    repo.write(".gitignore", ".env\ncredentials.json\nsecrets/\n")?;
    repo.commit("a repository")?;
    let program = env.write(env.root().join("claude.sh"), "#!/bin/sh\n")?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    env.install("claude", &program)?;
    let outcome = alone(&env, &["init"])?.ended(0)?;
    insta::assert_snapshot!(outcome.stdout, @"ok  wrote remit.yaml for claude, default");
    insta::assert_snapshot!(outcome.stderr, @"remit: read it and commit it, then `remit check` and `remit run claude`");
    let text = written(&env)?;
    let rules: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("global_rules")).collect();
    insta::assert_snapshot!(rules.join("\n"), @r#"
    global_rules:
      - {path: "**/.env", access: none, for: all}
      - {path: "**/.env.local", access: none, for: all}
      - {path: "**/.env.*.local", access: none, for: all}
      - {path: "**/.env.development", access: none, for: all}
      - {path: "**/.env.staging", access: none, for: all}
      - {path: "**/.env.production", access: none, for: all}
      - {path: "**/id_rsa", access: none, for: all}
      - {path: "**/id_ecdsa", access: none, for: all}
      - {path: "**/id_ed25519", access: none, for: all}
      - {path: "**/.netrc", access: none, for: all}
      # found here:
      - {path: "deploy/credentials.json", access: none, for: all}
      - {path: "secrets/**", access: none, for: all}

    # One entry per agent; `remit run NAME` starts it. `all` includes running what was built.
    # Toolchains (rust) and system folders need no rule.
    agents:
      claude:
        cli: claude
        permissions:
          - {path: ".", access: all}
      default:            # any other command: `remit run -- CMD`
        permissions:
          - {path: ".", access: all}

    # To narrow an agent, write narrower rules:
    #    permissions: [{path: "src/**", access: all}, {path: "docs/**", access: read}]

    # What must come out; where one does not, nothing runs.
    tests:
      - {agent: default, verb: write, path: "README.md", expect: allow}
      - {agent: default, verb: read, path: ".env", expect: deny}
      - {agent: default, verb: write, path: "remit.yaml", expect: deny}
      - {agent: default, verb: write, path: ".git/hooks/pre-commit", expect: deny}
    "#);
    insta::assert_snapshot!(transcript(&env, &[&["check"], &["check", "--json"]])?, @r#"
    $ remit check
    ok  remit.yaml: no errors, 0 warnings, 0 notes
    = 0
    $ remit check --json
    {"file":"remit.yaml","findings":[],"ok":true,"version":1}
    = 0
    "#);
    Ok(())
}

#[test]
fn what_git_tracks_is_not_hidden_and_certificates_are_no_secrets() -> Result<()> {
    let env = empty()?;
    let repo = env.repo()?;
    let key = "-----BEGIN PRIVATE KEY-----\n";
    for file in ["app/.env", "lib/.env", "app/.env.test.local"] {
        repo.write(file, "PORT=1\n")?;
    }
    repo.write("private/notes.md", "x\n")?;
    repo.write("tls/dev.pem", key)?;
    repo.commit("a repository")?;
    repo.write(".git/info/exclude", ".env*\n*.key\n*.pem\n")?;
    for file in [".env", "app/.env.x.local"] {
        repo.write(file, "TOKEN=x\n")?;
    }
    repo.write("private/server.key", key)?;
    repo.write("tls/prod.pem", key)?;
    repo.write("tls/ca.pem", "-----BEGIN CERTIFICATE-----\n")?;
    repo.write("node_modules/x/test.pem", key)?;
    alone(&env, &["init"])?.ended(0)?;
    let text = written(&env)?;
    let rules: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("global_rules")).collect();
    insta::assert_snapshot!(rules.join("\n").split("\n\n").next().unwrap_or_default(), @r#"
    global_rules:
      - {path: "**/.env.local", access: none, for: all}
      - {path: "**/.env.development", access: none, for: all}
      - {path: "**/.env.staging", access: none, for: all}
      - {path: "**/.env.production", access: none, for: all}
      - {path: "**/id_rsa", access: none, for: all}
      - {path: "**/id_ecdsa", access: none, for: all}
      - {path: "**/id_ed25519", access: none, for: all}
      - {path: "**/.netrc", access: none, for: all}
      # found here:
      - {path: ".env", access: none, for: all}
      - {path: "app/.env.x.local", access: none, for: all}
      - {path: "private/server.key", access: none, for: all}
      - {path: "tls/prod.pem", access: none, for: all}
      # Left out, since git tracks it: agents can read it from git's records anyway, and git fails on
      # what it cannot look at. `git rm --cached` it, change the secret, and write the rule.
      #   app/.env and another
      # - {path: "**/.env", access: none, for: all}
      #   app/.env.test.local
      # - {path: "**/.env.*.local", access: none, for: all}
      #   private/
      #   tls/dev.pem
    "#);
    insta::assert_snapshot!(transcript(&env, &[&["check"]])?, @"
    $ remit check
    ok  remit.yaml: no errors, 0 warnings, 0 notes
    = 0
    ");
    Ok(())
}

#[test]
fn a_second_run_changes_nothing() -> Result<()> {
    let env = empty()?;
    alone(&env, &["init"])?.ended(0)?;
    let edited = written(&env)?.replace("intents: off", "intents: off    # mine");
    env.write(env.project().join("remit.yaml"), &edited)?;
    insta::assert_snapshot!(transcript(&env, &[&["init"]])?, @"
    $ remit init
    ok  remit.yaml is here already, and stays as it is
    2> remit: `remit init --dry-run` shows what a new one would change
    = 0
    ");
    assert_eq!(written(&env)?, edited);
    let outcome = alone(&env, &["init", "--dry-run"])?.ended(0)?;
    insta::assert_snapshot!(trimmed(&outcome.stdout), @r#"
    --- remit.yaml
    +++ remit.yaml
    @@ -4,7 +4,7 @@
     version: "1.0"
     root: host              # a leading "/" is the machine's root; `workspace` would make it this folder
     default_policy: deny    # what no rule covers is refused
    -intents: off    # mine            # `require` (no change without declared work) is not held yet
    +intents: off            # `require` (no change without declared work) is not held yet

     # A pattern means the path and all below it; "*" stays within a name, "**" crosses folders.
     # access: none | read | write | read-write | execute (reads too) | all
    "#);
    assert_eq!(written(&env)?, edited);
    Ok(())
}

#[test]
fn a_dry_run_writes_nothing_and_shows_the_whole_file() -> Result<()> {
    let env = empty()?;
    let outcome = alone(&env, &["init", "--dry-run"])?.ended(0)?;
    assert_eq!(std::fs::read_dir(env.project())?.count(), 0, "something was written");
    assert_eq!(std::fs::read_dir(env.state())?.count(), 0, "state was made");
    alone(&env, &["init"])?.ended(0)?;
    let added: String = outcome
        .stdout
        .lines()
        .filter(|line| !line.starts_with("+++"))
        .filter_map(|line| line.strip_prefix('+'))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(added, written(&env)?);
    Ok(())
}

#[test]
fn a_policy_of_the_other_name_is_not_joined_by_a_second_one() -> Result<()> {
    let env = empty()?;
    let other = env.project().join("massgen-permissions.yaml");
    env.write(&other, "version: \"1.0\"\nagents:\n  - id: a\n    permissions: {\"src/**\": read}\n")?;
    insta::assert_snapshot!(transcript(&env, &[&["init"], &["check"]])?, @r#"
    $ remit init
    2> error: `massgen-permissions.yaml` governs this folder already
    2> hint: `remit check` reads it as it stands
    = 7
    $ remit check
    ok  massgen-permissions.yaml: no errors, 0 warnings, 1 note
    2> note[matches-nothing]: `src/**` does not exist yet
    2>   ╭▸ massgen-permissions.yaml:4:19
    2>   │
    2> 4 │     permissions: {"src/**": read}
    2>   ╰╴                  ━━━━━━━━
    2>
    = 0
    "#);
    assert!(!env.project().join("remit.yaml").exists());
    Ok(())
}

#[test]
fn a_link_in_the_place_of_the_policy_is_not_written_through() -> Result<()> {
    let env = empty()?;
    let target = env.root().join("elsewhere");
    std::os::unix::fs::symlink(&target, env.project().join("remit.yaml"))?;
    let outcome = alone(&env, &["init"])?;
    assert_eq!(outcome.code, 4, "{}{}", outcome.stdout, outcome.stderr);
    assert!(!target.exists());
    Ok(())
}

#[test]
fn a_name_that_is_nearly_right_is_told_and_nothing_is_written() -> Result<()> {
    for name in ["remit.yml", "remit.json", "massgen-permissions.yml"] {
        for beside in [false, true] {
            let env = empty()?;
            env.write(env.project().join(name), "version: \"1.0\"\n")?;
            if beside {
                env.write(env.project().join("remit.yaml"), "version: \"1.0\"\nagents: {}\n")?;
            }
            let said = format!("`[PROJECT]/{name}` is not read: a policy is called `remit.yaml`");
            let hint = if beside { format!("remove `{name}`") } else { format!("`mv {name} ") };
            for (args, code) in [
                (&["init"][..], 7),
                (&["init", "--dry-run"], 7),
                (&["check"], 3),
                (&["run", "--", "/bin/true"], 125),
            ] {
                let outcome = alone(&env, args)?.ended(code)?;
                assert!(
                    outcome.stderr.contains(&said) && outcome.stderr.contains(&hint),
                    "{args:?}: {}",
                    outcome.stderr
                );
            }
            assert_eq!(env.project().join("remit.yaml").exists(), beside);
        }
    }
    Ok(())
}

#[test]
fn a_policy_above_is_named_and_not_hidden_by_another() -> Result<()> {
    let env = empty()?;
    alone(&env, &["init"])?.ended(0)?;
    let inner = env.project().join("sub/deep");
    std::fs::create_dir_all(&inner)?;
    let place = inner.display().to_string();
    insta::assert_snapshot!(alone(&env, &["-C", &place, "init"])?.ended(7)?.stderr, @"
    error: `[PROJECT]/remit.yaml` governs this folder already
    hint: `remit check` reads it; `remit init --here` writes one for this folder, in which that one counts no more
    ");
    alone(&env, &["-C", &place, "init", "--dry-run"])?.ended(7)?;
    assert!(!inner.join("remit.yaml").exists());
    let outcome = alone(&env, &["-C", &place, "init", "--here"])?.ended(0)?;
    insta::assert_snapshot!(outcome.stdout, @"ok  wrote remit.yaml for default");
    assert!(inner.join("remit.yaml").exists());
    // Once it has one of its own, that one counts.
    insta::assert_snapshot!(alone(&env, &["-C", &place, "init"])?.ended(0)?.stdout, @"ok  remit.yaml is here already, and stays as it is");
    // A name that is nearly right governs nothing, and stops everything.
    std::fs::rename(env.project().join("remit.yaml"), env.project().join("remit.yml"))?;
    let outcome = alone(&env, &["-C", &env.project().join("sub").display().to_string(), "init"])?.ended(7)?;
    assert!(outcome.stderr.contains("is not read"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn below_the_top_of_a_checkout_the_policy_goes_to_the_top() -> Result<()> {
    let env = empty()?;
    env.repo()?.write("sub/x", "")?;
    let place = env.project().join("sub").display().to_string();
    let outcome = alone(&env, &["-C", &place, "init", "--dry-run"])?.ended(0)?;
    assert!(outcome.stdout.contains("+++ [PROJECT]/remit.yaml"), "{}", outcome.stdout);
    let outcome = alone(&env, &["-C", &place, "init"])?.ended(0)?;
    insta::assert_snapshot!(outcome.stdout + &outcome.stderr, @"
    ok  wrote [PROJECT]/remit.yaml for default
    remit: that is the top of this git checkout, so that agents have git; `remit init --here` writes it in this folder instead
    remit: read it and commit it, then `remit check` and `remit run -- sh`
    ");
    assert!(written(&env)?.contains(".git/hooks/pre-commit"), "the tests are those of a checkout");
    std::fs::remove_file(env.project().join("remit.yaml"))?;
    let outcome = alone(&env, &["-C", &place, "init", "--here"])?.ended(0)?;
    insta::assert_snapshot!(outcome.stdout + &outcome.stderr, @"
    ok  wrote remit.yaml for default
    remit: agents have no git here, since [PROJECT]/.git lies above; a rule for its full path gives it to them
    remit: read it and commit it, then `remit check` and `remit run -- sh`
    ");
    assert!(env.project().join("sub/remit.yaml").exists() && !env.project().join("remit.yaml").exists());
    Ok(())
}

#[test]
fn a_checkout_of_the_home_folder_is_not_what_agents_work_on() -> Result<()> {
    let env = empty()?;
    env.run(env.command("git")?.args(["init", "-q"]).arg(env.home()))?.ended(0)?;
    let place = env.home().join("work");
    std::fs::create_dir(&place)?;
    alone(&env, &["-C", &place.display().to_string(), "init"])?.ended(0)?;
    assert!(place.join("remit.yaml").exists() && !env.home().join("remit.yaml").exists());
    Ok(())
}

#[test]
fn a_secret_that_git_would_add_is_told_and_gits_files_are_left_alone() -> Result<()> {
    let env = empty()?;
    let repo = env.repo()?;
    repo.write(".env", "TOKEN=x\n")?;
    let outcome = remit(&env, &["init"])?.ended(0)?;
    let told: Vec<&str> = outcome.stderr.lines().filter(|line| line.contains(".env")).collect();
    insta::assert_snapshot!(told.join("\n"), @"remit: `**/.env none` covers `.env`, which git neither tracks nor ignores: `git add -A` and `git stash -u` inside fail on that; add to `.gitignore`: `.env`");
    assert!(!env.project().join(".gitignore").exists());
    Ok(())
}

#[test]
fn an_editor_finds_the_schema_beside_the_policy_and_a_second_run_brings_it_up_to_date() -> Result<()> {
    let env = empty()?;
    let file = env.project().join(".orchestration/remit.schema.json");
    alone(&env, &["init"])?.ended(0)?;
    let printed = alone(&env, &["check", "--schema"])?.ended(0)?.stdout;
    assert_eq!(std::fs::read_to_string(&file)?, printed);
    assert!(written(&env)?.starts_with("# yaml-language-server: $schema=.orchestration/remit.schema.json\n"));
    std::fs::write(&file, "{}")?;
    alone(&env, &["init"])?.ended(0)?;
    assert_eq!(std::fs::read_to_string(&file)?, printed);
    // A policy that names no schema gets none, and a link is not written through.
    std::fs::remove_file(&file)?;
    let plain = written(&env)?.replace("# yaml-language-server", "# ").replace(".orchestration", "");
    env.write(env.project().join("remit.yaml"), plain)?;
    alone(&env, &["init"])?.ended(0)?;
    assert!(!file.exists());
    std::fs::remove_dir(env.project().join(".orchestration"))?;
    std::fs::remove_file(env.project().join("remit.yaml"))?;
    std::fs::create_dir(env.home().join("elsewhere"))?;
    std::os::unix::fs::symlink(env.home().join("elsewhere"), env.project().join(".orchestration"))?;
    let outcome = alone(&env, &["init"])?.ended(0)?;
    assert!(outcome.stderr.contains("cannot be written"), "{}", outcome.stderr);
    assert_eq!(std::fs::read_dir(env.home().join("elsewhere"))?.count(), 0);
    Ok(())
}
