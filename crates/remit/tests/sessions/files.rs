//! What a session does to files, and what it cannot: git, saving the usual way, folders that are not there.

use crate::place::{POLICY, each_user, names, sh};
use anyhow::Result;
use std::path::Path;
use test_support::TestEnv;

#[test]
fn commits_bear_the_persons_name() -> Result<()> {
    each_user(POLICY, |env| {
        let script = "echo more >>src/a.rs; echo new >src/b.rs; git add --all && git commit --quiet -m work && git status --short && git log -1 --format='%an <%ae> %s' && git switch --quiet -c topic && git tag v1 && git stash list";
        let outcome = sh(env, script)?.ended(0)?;
        assert_eq!(outcome.stdout, "Test <test@example.invalid> work\n", "{}", outcome.stderr);
        let outcome = env.run(env.command("git")?.args(["log", "--format=%an %s", "topic"]))?.ended(0)?;
        assert_eq!(outcome.stdout, "Test work\nTest a repository\n");
        env.run(env.command("git")?.args(["fsck", "--strict"]))?.ended(0)?;
        Ok(())
    })
}

/// All that lies in a folder, with what the files say.
fn everything(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            out.extend(everything(&path)?);
        } else {
            out.push((path.display().to_string(), std::fs::read(&path)?));
        }
    }
    out.sort();
    Ok(out)
}

#[test]
fn what_makes_git_run_programs_cannot_be_changed() -> Result<()> {
    each_user(POLICY, |env| {
        let git = env.project().join(".git");
        let before = (
            everything(&git.join("hooks"))?,
            std::fs::read(git.join("config"))?,
            everything(&git.join("info"))?,
        );
        for attempt in [
            "git config user.name other",
            "git config --worktree core.hooksPath .",
            "git remote add evil file:///x",
            "echo 'echo x' >.git/hooks/pre-commit",
            "rm -rf .git/hooks",
            "mv .git/hooks .git/h",
            "mkdir -p .git/modules/x/hooks && echo x >.git/modules/x/hooks/post-checkout",
            "echo '* filter=x' >.git/info/attributes",
            "mv .git .away",
            "echo x >.git/config.new && mv .git/config.new .git/config",
            "ln .git/config config2 && echo x >>config2",
            "ln -s .git/config link && echo x >>link",
            "cp /bin/sh .git/hooks/pre-push",
        ] {
            let outcome = sh(env, attempt)?;
            assert_ne!(outcome.code, 0, "{attempt}: {}{}", outcome.stdout, outcome.stderr);
        }
        let after = (
            everything(&git.join("hooks"))?,
            std::fs::read(git.join("config"))?,
            everything(&git.join("info"))?,
        );
        assert!(before == after, "something of git's settings has changed");
        Ok(())
    })
}

const SINGLE: &str = r#"version: "1.0"
agents:
  default:
    permissions:
      - {path: "notes.md", access: read-write}
      - {path: "src/**", access: read}
"#;

#[test]
fn a_single_file_can_be_saved_the_usual_way_and_its_neighbours_stay_closed() -> Result<()> {
    each_user(SINGLE, |env| {
        let file = |name: &str, text: &str| env.write(env.project().join(name), text).map(drop);
        file("notes.md", "old\n")?;
        file("notes.md.bak", "foreign\n")?;
        file("notes.mdx", "foreign\n")?;
        sh(env, "echo newer >notes.md.tmp.1 && mv notes.md.tmp.1 notes.md && echo new >notes.md")?
            .ended(0)?;
        for attempt in [
            "cat notes.md.bak",
            "echo bad >>notes.md.bak",
            "mv notes.md.bak notes.md",
            "rm -f notes.md.bak; ! test -e notes.md.bak && ls -A | grep -qx notes.md.bak",
            "echo x >notes.md.1 && mv notes.md.1 notes.md.bak",
            "echo x >notes.md.1 && mv notes.md.1 notes.mdx",
            "echo x >notes.md.1 && ln notes.md.1 other",
            "echo bad >>notes.mdx",
            "mkdir notes.d",
            "echo x >src/notes.md.1",
        ] {
            let outcome = sh(env, attempt)?;
            assert_ne!(outcome.code, 0, "{attempt}: {}{}", outcome.stdout, outcome.stderr);
            // What the attempt made on its way.
            drop(std::fs::remove_file(env.project().join("notes.md.1")));
        }
        let read = |name: &str| std::fs::read_to_string(env.project().join(name));
        assert_eq!(
            (read("notes.md")?.as_str(), read("notes.md.bak")?.as_str(), read("notes.mdx")?.as_str()),
            ("new\n", "foreign\n", "foreign\n")
        );
        assert_eq!(
            names(env, "")?,
            [".git", "notes.md", "notes.md.bak", "notes.mdx", "remit.yaml", "src", "sub"]
        );
        Ok(())
    })
}

const HIDES: &str = r#"version: "1.0"
global_rules:
  - {path: "secrets/**", access: none, for: all}
  - {path: "sub/private/**", access: none, for: all}
  - {path: "there/**", access: none, for: all}
agents:
  default:
    permissions:
      - {path: ".", access: all}
"#;

/// Whether what must never be seen or left is not.
fn nothing_stands_in(env: &TestEnv) -> Result<()> {
    assert_eq!(names(env, "")?, [".git", "remit.yaml", "src", "sub", "there"]);
    assert_eq!(names(env, "sub")?, ["deep"]);
    assert_eq!(names(env, "there")?, ["key"]);
    Ok(())
}

#[test]
fn folders_out_of_bounds_that_were_not_there_are_not_there_afterwards() -> Result<()> {
    each_user(HIDES, |env| {
        env.write(env.project().join("there/key"), "private words\n")?;
        let script = "mkdir secrets; echo x >secrets/x; echo x >sub/private/x; mkdir -p sub/private/y; cat there/*; ls there secrets sub/private; exit 0";
        let outcome = sh(env, script)?.ended(0)?;
        assert!(
            !outcome.stdout.contains("private words") && !outcome.stdout.contains("key"),
            "{}",
            outcome.stdout
        );
        nothing_stands_in(env)
    })
}
