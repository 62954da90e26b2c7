//! What a program finds around it: a clean environment, a home of its own, the folder that it was started in.

use crate::place::{POLICY, each_user, own, remit, sh, state};
use crate::watch::Session;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use test_support::TestEnv;

#[test]
fn the_environment_has_what_a_program_needs_and_no_secret() -> Result<()> {
    each_user(POLICY, |env| {
        let mut command = env.remit(["run", "--", "/usr/bin/env", "-0"])?;
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "ANTHROPIC_API_KEY",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "GIT_DIR",
            "BASH_ENV",
            "PYTHONSTARTUP",
            "MY_OWN",
        ] {
            command.env(name, "/not/for/you");
        }
        let outcome = env.run(command.env("LC_ALL", "C.UTF-8").env("EDITOR", "ed"))?.ended(0)?;
        let text = String::from_utf8(outcome.raw)?;
        assert!(!text.contains("/not/for/you"), "{text}");
        let seen: BTreeMap<&str, &str> = text.split('\0').filter_map(|line| line.split_once('=')).collect();
        let names: Vec<&&str> = seen.keys().collect();
        assert_eq!(
            names,
            [
                &"EDITOR",
                &"GIT_DISCOVERY_ACROSS_FILESYSTEM",
                &"HOME",
                &"LANG",
                &"LC_ALL",
                &"NO_COLOR",
                &"PATH",
                &"PWD",
                &"TERM",
                &"TMPDIR",
                &"TZ"
            ]
        );
        let path = env.vars().into_iter().find(|(name, _)| *name == "PATH").context("a PATH")?.1;
        // Last comes the folder where a session has the program itself.
        let path = format!("{}:/run/remit/session", path.to_str().context("text")?);
        assert_eq!(seen["PATH"], path);
        assert_eq!(seen["HOME"], "/home/agent");
        assert_eq!(Some(seen["PWD"]), env.project().to_str());
        Ok(())
    })
}

#[test]
fn each_session_has_a_home_of_its_own_and_the_persons_is_out_of_sight() -> Result<()> {
    each_user(POLICY, |env| {
        env.write(env.home().join("diary"), "private words\n")?;
        let first = Session::start(
            env,
            "echo mine >~/mark; echo mine >\"$TMPDIR/mark\"; echo ready; read x; cat ~/mark",
        )?;
        let look = format!(
            "ls -A ~ \"$TMPDIR\"; cat {}/diary; ls -A {}",
            env.home().display(),
            env.home().display()
        );
        let second = sh(env, &look)?;
        assert!(!second.stdout.contains("mark") && !second.stdout.contains("diary"), "{}", second.stdout);
        assert!(!second.stdout.contains("private words"), "{}", second.stdout);
        assert_eq!(std::fs::read_dir(state(env)?.join("homes"))?.count(), 1, "only the first still runs");
        let (code, rest) = first.end()?;
        assert_eq!((code, rest.as_str()), (Some(0), "mine\n"));
        let third = sh(env, "ls -A ~ \"$TMPDIR\"")?.ended(0)?;
        assert!(!third.stdout.contains("mark"), "{}", third.stdout);
        assert!(!env.home().join("mark").exists());
        Ok(())
    })
}

#[test]
fn a_session_starts_where_the_command_was_given() -> Result<()> {
    each_user(POLICY, |env| {
        for (at, below) in [("", ""), ("sub/deep", "/sub/deep"), ("src/../sub", "/sub")] {
            let at = env.project().join(at);
            let outcome =
                env.run(env.remit(["run", "--", "/bin/sh", "-c", "pwd -P; echo $PWD"])?.current_dir(at))?;
            let expected = format!("[PROJECT]{below}\n").repeat(2);
            assert_eq!(outcome.stdout, expected, "{}", outcome.stderr);
        }
        let outcome = remit(env, &["-C", "sub", "run", "--", "/bin/pwd"])?.ended(0)?;
        assert_eq!(outcome.stdout, "[PROJECT]/sub\n");
        Ok(())
    })
}

#[test]
fn from_a_folder_that_is_out_of_bounds_a_session_starts_in_the_workspace() -> Result<()> {
    let env = own()?;
    env.write(env.project().join("secrets/key"), "private words\n")?;
    let outcome = remit(&env, &["-C", "secrets", "run", "--", "/bin/sh", "-c", "pwd; ls"])?.ended(0)?;
    assert!(outcome.stdout.starts_with("[PROJECT]\n"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("key"), "{}", outcome.stdout);
    Ok(())
}

/// Runs a session in a workspace that is made in this folder; what it says, and whether its file arrived.
fn session_in(env: &TestEnv, folder: &Path, runtime: bool) -> Result<String> {
    let scratch = tempfile::Builder::new().prefix("remit-t").tempdir_in(folder)?;
    let root = scratch.path().canonicalize()?;
    std::fs::write(root.join("remit.yaml"), POLICY)?;
    std::os::unix::fs::chown(&root, Some(env.uid()), Some(env.uid()))?;
    let script = "pwd; echo $TMPDIR; echo x >\"$TMPDIR/mark\"; echo x >/var/tmp/mark; echo x >here; ls";
    let mut command = env.remit(["run", "--", "/bin/sh", "-c", script])?;
    if !runtime {
        command.env_remove("XDG_RUNTIME_DIR");
    }
    let outcome = env.run(command.current_dir(&root))?.ended(0)?;
    assert_eq!(std::fs::read_to_string(root.join("here"))?, "x\n");
    assert!(!root.join("secrets").exists(), "the folder that stands for what is out of bounds was left");
    for shared in ["/tmp/mark", "/var/tmp/mark"] {
        assert!(!Path::new(shared).exists(), "{shared} came out of the session");
    }
    Ok(outcome.stdout.replace(&root.display().to_string(), "[HERE]"))
}

/// A folder that is not `/tmp`: where a service keeps its data; without rights, where the build does.
fn elsewhere() -> Result<&'static Path> {
    let folders = [Path::new("/var/lib"), Path::new(env!("CARGO_TARGET_TMPDIR")), Path::new("/var/tmp")];
    let writable = |folder: &&Path| !folder.starts_with("/tmp") && tempfile::tempdir_in(folder).is_ok();
    folders.into_iter().find(writable).context("no folder but /tmp can be written")
}

const BELOW_TMP: &str = "[HERE]\n/home/agent/tmp\nhere\nremit.yaml\nsecrets\n";
const ELSEWHERE: &str = "[HERE]\n/tmp\nhere\nremit.yaml\nsecrets\n";

#[test]
fn a_workspace_below_tmp_and_one_elsewhere() -> Result<()> {
    each_user(POLICY, |env| {
        assert_eq!(session_in(env, Path::new("/tmp"), true)?, BELOW_TMP);
        assert_eq!(session_in(env, elsewhere()?, true)?, ELSEWHERE);
        Ok(())
    })
}

#[test]
fn without_a_runtime_folder_the_sockets_lie_in_tmp_and_sessions_start_all_the_same() -> Result<()> {
    each_user(POLICY, |env| {
        assert_eq!(session_in(env, Path::new("/tmp"), false)?, BELOW_TMP);
        assert_eq!(session_in(env, elsewhere()?, false)?, ELSEWHERE);
        Ok(())
    })
}
