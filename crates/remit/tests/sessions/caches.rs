//! The person's package caches serve in a session, and nothing that is done there reaches them.

use crate::place::{POLICY, each_user, own, remit, sh, state};
use crate::watch::{Session, all_gone, mark};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use test_support::TestEnv;

/// A cache of npm's in the home folder, and one of pip's where a variable puts it.
fn caches(env: &TestEnv) -> Result<()> {
    env.write("home/.npm/_cacache/index-v5/aa/one", "one\n")?;
    env.write("home/.npm/_cacache/index-v5/aa/two", "two\n")?;
    env.write("home/.npm/_cacache/content-v2/x", "content\n")?;
    env.write("home/.npm/_logs/private", "private\n")?;
    env.write("home/.npmrc", "//registry/:_authToken=secret\n")?;
    env.write("cache/pip/http/body", "body\n")?;
    Ok(())
}

/// Paths, each with its mode, number, times and content.
type Tree = BTreeMap<PathBuf, (u32, u64, i64, i64, Vec<u8>)>;

/// Every path below a folder.
fn tree(folder: &Path) -> Result<Tree> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let of = path.symlink_metadata()?;
        let content = if of.is_dir() { Vec::new() } else { std::fs::read(&path)? };
        found.insert(path.clone(), (of.mode(), of.ino(), of.mtime_nsec(), of.ctime_nsec(), content));
        if of.is_dir() {
            found.extend(tree(&path)?);
        }
    }
    Ok(found)
}

fn real(env: &TestEnv) -> Result<Tree> {
    let mut all = tree(&env.root().join("home"))?;
    all.extend(tree(&env.root().join("cache"))?);
    Ok(all)
}

#[test]
fn a_cache_is_read_where_a_program_looks_for_it() -> Result<()> {
    each_user(POLICY, |env| {
        caches(env)?;
        let read = "cd && cat .npm/_cacache/index-v5/aa/one .cache/pip/http/body && ls -A .npm; cat .npmrc";
        let outcome = sh(env, read)?;
        assert_eq!(outcome.stdout, "one\nbody\n_cacache\n", "{}", outcome.stderr);
        Ok(())
    })
}

#[test]
fn whatever_is_done_to_a_cache_stays_in_the_session() -> Result<()> {
    each_user(POLICY, |env| {
        caches(env)?;
        let before = real(env)?;
        let script = "set -e; cd ~/.npm/_cacache
            echo poison >index-v5/aa/one; echo more >>index-v5/aa/two; chmod 777 content-v2/x; touch -d @1 content-v2/x
            cat index-v5/aa/one index-v5/aa/two; echo new >new; mkdir -p dir/dir; mv new dir/dir/new; cat dir/dir/new
            ln -s /etc/passwd link; mv content-v2/x content-v2/y; ln content-v2/y content-v2/z
            rm -r index-v5; mkdir index-v5; ls -A index-v5; mv ~/.cache/pip/http/body ~/.cache/pip/body
            rm -rf ~/.cache/pip/http; cat ~/.cache/pip/body; ls -A ~/.cache/pip";
        let outcome = sh(env, script)?.ended(0)?;
        assert_eq!(outcome.stdout, "poison\ntwo\nmore\nnew\nbody\nbody\n", "{}", outcome.stderr);
        assert_eq!(real(env)?, before, "the person's own caches");
        let next =
            sh(env, "cd ~/.npm/_cacache; cat index-v5/aa/*; ls; cat ~/.cache/pip/http/body")?.ended(0)?;
        assert_eq!(next.stdout, "one\ntwo\ncontent-v2\nindex-v5\nbody\n");
        assert_eq!(std::fs::read_dir(state(env)?.join("homes"))?.count(), 0, "a home was left");
        Ok(())
    })
}

#[test]
fn two_sessions_do_not_see_each_others_changes() -> Result<()> {
    each_user(POLICY, |env| {
        caches(env)?;
        let first = Session::start(
            env,
            "cd ~/.npm/_cacache; echo mine >index-v5/aa/one; echo ready; read x; cat index-v5/aa/one",
        )?;
        let second =
            sh(env, "cd ~/.npm/_cacache; cat index-v5/aa/one; echo other >index-v5/aa/one")?.ended(0)?;
        assert_eq!(second.stdout, "one\n");
        assert_eq!(first.end()?, (Some(0), "mine\n".to_owned()));
        Ok(())
    })
}

#[test]
fn a_killed_session_leaves_no_mount_and_no_layer() -> Result<()> {
    each_user(POLICY, |env| {
        caches(env)?;
        let before = real(env)?;
        let mark = mark();
        let script =
            format!("cd ~/.npm/_cacache && rm -rf index-v5 && echo x >y && echo ready; exec sleep {mark}");
        let session = Session::start(env, &script)?;
        session.signal(Signal::KILL)?;
        session.end()?;
        all_gone(&mark)?;
        let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
        let here = env.root().to_string_lossy().into_owned();
        assert!(!mounts.lines().any(|line| line.contains(&here)), "{mounts}");
        // The next session clears away after it.
        sh(env, "true")?.ended(0)?;
        assert_eq!(std::fs::read_dir(state(env)?.join("homes"))?.count(), 0, "a home was left");
        assert_eq!(real(env)?, before);
        Ok(())
    })
}

const HIDING: &str = r#"version: "1.0"
agents:
  default:
    permissions:
      - {path: ".", access: all}
      - {path: "~/.npm/_cacache/index-v5/aa/one", access: none}
"#;

#[test]
fn a_cache_of_which_a_rule_hides_something_is_not_offered() -> Result<()> {
    each_user(HIDING, |env| {
        caches(env)?;
        let outcome = sh(env, "cat ~/.npm/_cacache/index-v5/aa/one; cat ~/.cache/pip/http/body")?;
        assert_eq!(outcome.stdout, "body\n", "{}", outcome.stderr);
        let words = "sessions of `default` do not get npm's cache at /home/agent/.npm/_cacache: `~/.npm/_cacache/index-v5/aa/one none`";
        for path in ["home/.npm/_cacache/content-v2/x", "/home/agent/.npm/_cacache/x"] {
            let path = env.root().join(path);
            let said = remit(env, &["explain", "default", "read", path.to_str().context("a path")?])?;
            assert!(said.stderr.contains(words), "{path:?}: {}", said.stderr);
        }
        Ok(())
    })
}

#[test]
fn explain_and_doctor_say_what_a_session_has() -> Result<()> {
    each_user(POLICY, |env| {
        caches(env)?;
        let said = remit(env, &["explain", "default", "write", "/home/agent/.npm/_cacache/x"])?.ended(0)?;
        assert!(said.stdout.contains("base.cache-npm"), "{}", said.stdout);
        assert!(said.stdout.contains("under a private layer"), "{}", said.stdout);
        let doctor = remit(env, &["doctor"])?;
        assert!(doctor.stdout.contains("ok    caches"), "{}", doctor.stdout);
        let left = std::fs::read_dir(state(env)?)?.filter_map(Result::ok).map(|e| e.file_name());
        assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with(".layers")));
        Ok(())
    })
}

#[test]
fn without_the_standard_base_there_are_none() -> Result<()> {
    each_user(&POLICY.replace("agents:", "base: minimal\nagents:"), |env| {
        caches(env)?;
        let outcome = sh(env, "ls -A ~/.npm ~/.cache")?;
        assert_eq!(outcome.stdout, "");
        Ok(())
    })
}

/// Runs a program of the person's, outside of a session.
fn outside(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{command:?}: {said}");
    Ok(String::from_utf8(output.stdout)?)
}

/// A repository with one commit of these files.
fn repository(env: &TestEnv, name: &str, files: &[(&str, &str)]) -> Result<PathBuf> {
    for (file, text) in files {
        env.write(format!("{name}/{file}"), text)?;
    }
    let folder = env.root().join(name);
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "all"]] {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        outside(env.command("git")?.arg("-C").arg(&folder).args(who).args(words))?;
    }
    Ok(folder)
}

fn manifest(name: &str, more: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2021\"\n{more}")
}

/// A registry on this machine, with the crate `from-registry` in it.
fn registry(env: &TestEnv, cargo: &dyn Fn(&Path) -> Result<Command>) -> Result<()> {
    env.write("published/Cargo.toml", manifest("from-registry", "description = \"x\"\nlicense = \"MIT\"\n"))?;
    env.write("published/src/lib.rs", "pub fn word() -> &'static str { \"registry\" }\n")?;
    let published = env.root().join("published");
    outside(cargo(&published)?.args(["package", "--no-verify", "--allow-dirty", "--offline", "-q"]))?;
    let packed = published.join("target/package/from-registry-1.0.0.crate");
    let sum = outside(Command::new("sha256sum").arg(&packed))?;
    let sum = sum.split_whitespace().next().context("a sum")?;
    let entry = format!(
        r#"{{"name":"from-registry","vers":"1.0.0","deps":[],"cksum":"{sum}","features":{{}},"yanked":false}}"#
    );
    let files = published.join("target/package/{crate}-{version}.crate");
    let files = format!(r#"{{"dl":"file://{}"}}"#, files.display());
    repository(env, "index", &[("config.json", &files), ("fr/om/from-registry", &entry)])?;
    Ok(())
}

#[test]
fn cargo_builds_offline_with_what_the_person_has_fetched() -> Result<()> {
    let env = own()?;
    let tools = Path::new(env!("CARGO")).parent().context("the folder of the toolchain")?;
    let mut path = tools.as_os_str().to_owned();
    path.push(":/usr/bin:/bin");
    let cargo = |folder: &Path| -> Result<Command> {
        let mut command = env.command("cargo")?;
        command.env("PATH", &path).current_dir(folder);
        Ok(command)
    };
    registry(&env, &cargo)?;
    let lib = ("src/lib.rs", "pub fn word() -> &'static str { \"git\" }\n");
    let git = repository(&env, "dependency", &[("Cargo.toml", &manifest("from-git", "")), lib])?;
    let index = env.root().join("index");
    let more = format!(
        "[workspace]\n[dependencies]\nfrom-git = {{ git = \"file://{}\" }}\nfrom-registry = {{ version = \"1\", registry = \"here\" }}\n",
        git.display()
    );
    env.write("project/Cargo.toml", manifest("user", &more))?;
    let main = "fn main() { println!(\"{} {}\", from_git::word(), from_registry::word()) }\n";
    env.write("project/src/main.rs", main)?;
    let here = format!("[registries.here]\nindex = \"file://{}\"\n", index.display());
    env.write("home/.cargo/config.toml", here)?;
    env.write("home/.cargo/credentials.toml", "[registry]\ntoken = \"secret\"\n")?;
    outside(cargo(&env.project())?.args(["fetch", "-q"]))?;
    for gone in ["dependency", "index", "published"] {
        std::fs::remove_dir_all(env.root().join(gone))?;
    }
    let before = tree(&env.root().join("home/.cargo"))?;
    let script = "cargo run -q --offline && ls ~/.cargo";
    let mut command = env.remit(["run", "--", "/bin/sh", "-c", script])?;
    let outcome = env.run(command.env("PATH", &path))?.ended(0)?;
    assert!(outcome.stdout.starts_with("git registry\n"), "{}{}", outcome.stdout, outcome.stderr);
    assert!(!outcome.stdout.contains("credentials"), "{}", outcome.stdout);
    assert_eq!(tree(&env.root().join("home/.cargo"))?, before, "the person's own cache");
    Ok(())
}
