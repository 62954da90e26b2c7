//! Folders that a launch cannot look through, and names on the way to what rules hide: what an earlier session, or a
//! parallel one, leaves there must not open anything, nor keep sessions from starting for good.

use crate::place::{each_user, sh, workspace};
use anyhow::{Context, Result};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use test_support::TestEnv;
use test_support::env::NOBODY;

const POLICY: &str = r#"version: "1.0"
global_rules:
  - {path: "**/.env", access: none, for: all}
  - {path: "conf/keys/**", access: none, for: all}
  - {path: "conf/token", access: none, for: all}
  - {path: "later/secrets/**", access: none, for: all}
  - {path: "gone/token", access: none, for: all}
agents:
  default:
    permissions:
      - {path: ".", access: all}
      - {path: "conf/n/**", access: read-write}
"#;

fn bits(path: &Path, bits: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(bits)).context(path.display().to_string())
}

/// Root looks through everything, so only a user without rights can be kept out.
fn unprivileged() -> Result<TestEnv> {
    let env = workspace(TestEnv::new()?.as_user(NOBODY)?, POLICY)?;
    for file in ["conf/keys/k", "conf/token", "app/.env", "app/deep/.env", ".env"] {
        env.write(env.project().join(file), "hidden words\n")?;
    }
    env.write(env.project().join("conf/n/run.sh"), "#!/bin/sh\necho it runs\n")?;
    bits(&env.project().join("conf/n/run.sh"), 0o755)?;
    Ok(env)
}

const PEEK: &str = "chmod 755 conf app app/deep .; cat conf/keys/k conf/token app/.env app/deep/.env .env; conf/n/run.sh; exit 0";

#[test]
fn what_lies_in_a_folder_that_could_not_be_looked_through_stays_hidden() -> Result<()> {
    let env = unprivileged()?;
    // Unreadable, unlistable, unenterable.
    for closed in [0o000, 0o311, 0o444, 0o666] {
        for folder in ["conf", "app", "app/deep"] {
            bits(&env.project().join(folder), closed)?;
            let outcome = sh(&env, PEEK)?;
            bits(&env.project().join(folder), 0o755)?;
            let outcome = outcome.ended(0).with_context(|| format!("{folder} {closed:o}"))?;
            let seen = outcome.stdout.contains("hidden words") || outcome.stdout.contains("it runs");
            assert!(!seen, "{folder} {closed:o}: {}{}", outcome.stdout, outcome.stderr);
        }
    }
    Ok(())
}

#[test]
fn a_workspace_that_cannot_be_listed_is_refused_with_the_way_out() -> Result<()> {
    let env = unprivileged()?;
    bits(&env.project(), 0o311)?;
    let outcome = sh(&env, PEEK)?;
    bits(&env.project(), 0o755)?;
    assert_eq!(outcome.code, 125, "{}{}", outcome.stdout, outcome.stderr);
    assert!(!outcome.stdout.contains("hidden words"), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("chmod u+rwx"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn no_session_closes_a_folder_that_the_next_one_must_look_through() -> Result<()> {
    each_user(POLICY, |env| {
        env.write(env.project().join("conf/keys/k"), "hidden words\n")?;
        env.write(env.project().join("app/.env"), "hidden words\n")?;
        for attempt in ["chmod 0 conf", "chmod 311 .", "chmod 444 conf", "chmod u-x ."] {
            let outcome = sh(env, attempt)?;
            assert_ne!(outcome.code, 0, "{attempt}");
        }
        // Nothing hangs on this one, and it may be opened again.
        sh(env, "chmod 700 conf && mkdir own && chmod 0 own && chmod 755 own && rmdir own")?.ended(0)?;
        Ok(())
    })
}

#[test]
fn a_file_with_a_second_name_in_a_closed_folder_is_not_overlooked() -> Result<()> {
    let env = unprivileged()?;
    env.write(env.project().join("conf/keys/deep/k"), "hidden words\n")?;
    fs::hard_link(env.project().join("conf/keys/deep/k"), env.project().join("copy"))?;
    bits(&env.project().join("conf/keys/deep"), 0)?;
    let outcome = sh(&env, "cat copy")?;
    bits(&env.project().join("conf/keys/deep"), 0o755)?;
    assert_eq!(outcome.code, 125, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stderr.contains("conf/keys/deep"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn only_a_folder_takes_a_name_on_the_way_to_what_is_hidden() -> Result<()> {
    each_user(POLICY, |env| {
        env.write(env.project().join("pub/x"), "x\n")?;
        for attempt in [
            "rmdir later",
            "ln -sT pub later",
            "mv later other",
            "mv conf other",
            "ln -s pub gone",
            "ln -s pub l && mv -T l gone",
            "ln -s pub l && mkdir gone && mv --exchange -T l gone",
            "ln pub/x gone",
            "echo x >gone",
            "mkfifo gone",
            "mv pub gone",
        ] {
            let outcome = sh(env, attempt)?;
            assert_ne!(outcome.code, 0, "{attempt}: {}{}", outcome.stdout, outcome.stderr);
            drop(fs::remove_file(env.project().join("l")));
            drop(fs::remove_dir(env.project().join("gone")));
        }
        for name in ["later", "gone"] {
            assert!(fs::symlink_metadata(env.project().join(name)).is_err(), "nothing is left of `{name}`");
        }
        // A folder may, and sessions start as before.
        sh(env, "mkdir gone && echo x >gone/mine")?.ended(0)?;
        assert_ne!(sh(env, "echo x >gone/token")?.code, 0);
        Ok(())
    })
}

#[test]
fn what_is_put_below_a_folder_that_was_not_there_is_hidden_from_the_start() -> Result<()> {
    each_user(POLICY, |env| {
        // The session makes the folder its own while somebody outside puts a key where the rule wants it.
        let script = "mkdir -p later && echo x >later/mine && mkdir later/secrets; ls later/secrets; cat later/mine; exit 0";
        let outcome = sh(env, script)?.ended(0)?;
        assert_eq!(outcome.stdout, "x\n", "{}", outcome.stderr);
        let later = env.project().join("later");
        let names: Vec<_> =
            fs::read_dir(&later)?.map(|e| e.map(|e| e.file_name())).collect::<Result<_, _>>()?;
        assert_eq!(names, ["mine"]);
        assert_eq!(fs::metadata(&later)?.permissions().mode() & 0o7777, 0o755);
        env.write(later.join("secrets/k"), "hidden words\n")?;
        let outcome = sh(env, "cat later/mine; cat later/secrets/k; exit 0")?.ended(0)?;
        assert_eq!(outcome.stdout, "x\n", "{}", outcome.stderr);
        Ok(())
    })
}

const SOLO: &str = r#"version: "1.0"
agents:
  default:
    permissions:
      - {path: "solo/f", access: read-write}
      - {path: "src/**", access: all}
"#;

#[test]
fn the_name_of_a_file_that_may_be_written_is_taken_by_plain_files_only() -> Result<()> {
    each_user(SOLO, |env| {
        let file = env.project().join("solo/f");
        env.write(&file, "old\n")?;
        env.write(env.project().join("victim"), "whole\n")?;
        for attempt in [
            "rm solo/f && ln -s ../victim solo/f",
            "rm -f solo/f; mkfifo solo/f",
            "rm -f solo/f; ln src/a.rs solo/f",
            "rm -f solo/f; ln -s ../victim src/l && mv -T src/l solo/f",
            "ln -s ../victim src/l; echo x >solo/f; mv --exchange -T src/l solo/f",
            "mkdir src/d; rm -f solo/f; mv -T src/d solo/f",
        ] {
            let outcome = sh(env, attempt)?;
            assert_ne!(outcome.code, 0, "{attempt}: {}{}", outcome.stdout, outcome.stderr);
            let kind = fs::symlink_metadata(&file).map(|about| about.is_file()).unwrap_or(true);
            assert!(kind, "{attempt}");
        }
        sh(env, "rm -f solo/f; echo a >solo/f && echo b >solo/f.tmp && mv solo/f.tmp solo/f")?.ended(0)?;
        sh(env, "echo c >src/new && mv src/new solo/f || cp src/new solo/f")?.ended(0)?;
        assert_eq!(fs::read_to_string(&file)?, "c\n");
        assert_eq!(fs::read_to_string(env.project().join("victim"))?, "whole\n");
        Ok(())
    })
}

#[test]
fn what_is_hidden_where_this_user_may_make_nothing_keeps_no_session_from_starting() -> Result<()> {
    const POLICY: &str = r#"version: "1.0"
global_rules:
  - {path: "/usr/no-such/**", access: none, for: all}
  - {path: "/usr/no-such-2/below/**", access: none, for: all}
agents:
  default:
    permissions:
      - {path: ".", access: all}
"#;
    let env = workspace(TestEnv::new()?.as_user(NOBODY)?, POLICY)?;
    sh(&env, "true")?.ended(0)?;
    Ok(())
}
