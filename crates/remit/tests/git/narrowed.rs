//! An agent who has a part of the work tree: git inside finds the rest unchanged, and a commit of everything holds
//! what the agent has changed, and nothing else.

use anyhow::{Context, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use test_support::TestEnv;
use test_support::env::{NOBODY, Outcome};

const POLICY: &str = r#"version: "1.0"
global_rules:
  - {path: "**/.env", access: none, for: all}
  - {path: "secrets/**", access: none, for: all}
agents:
  default:
    permissions:
      - {path: "fe/**", access: all}
      - {path: "docs/**", access: read}
      - {path: "docs/*.md", access: read-write}
  maker:
    permissions:
      - {path: "fe/**", access: all}
      - {path: "docs/**", access: read}
      - {path: "docs/*.md", access: read-write}
      - {path: "*/gen", access: all}
      - {path: "new/**", access: all}
      - {path: "new/deep/**", access: all}
      - {path: "no/parent/**", access: all}
  writer:
    permissions: [{path: ".", access: read-write}]
"#;

const FILES: [(&str, &str); 9] = [
    (".gitignore", "*.log\n"),
    ("README", "read me\n"),
    ("be/x", "x\n"),
    ("be/db/schema", "schema\n"),
    ("docs/d", "d\n"),
    ("docs/a.md", "a\n"),
    ("fe/a", "a\n"),
    ("fe/sub/b", "b\n"),
    ("remit.yaml", POLICY),
];

fn workspace(env: TestEnv) -> Result<TestEnv> {
    let env = env.with_remit(env!("CARGO_BIN_EXE_remit"));
    env.write(
        env.home().join(".gitconfig"),
        "[user]\n\tname = A Person\n\temail = person@example.org\n[protocol \"file\"]\n\tallow = always\n",
    )?;
    let repo = env.repo()?;
    for (name, text) in FILES {
        repo.write(name, text)?;
    }
    std::os::unix::fs::symlink("README", env.project().join("link"))?;
    repo.commit("first")?;
    Ok(env)
}

/// As whoever runs the tests; where that is root, again as a user without rights.
fn each_user(check: impl Fn(&TestEnv) -> Result<()>) -> Result<()> {
    check(&workspace(TestEnv::new()?)?)?;
    if rustix::process::geteuid().is_root() {
        check(&workspace(TestEnv::new()?.as_user(NOBODY)?)?).context("as a user without rights")?;
    }
    Ok(())
}

fn sh(env: &TestEnv, agent: &str, script: &str) -> Result<Outcome> {
    crate::sh(env, &env.project(), agent, script)
}

/// The same; what fails in the script does not end it.
fn try_all(env: &TestEnv, agent: &str, script: &str) -> Result<Outcome> {
    sh(env, agent, &format!("set +e; {script}\ntrue"))?.ended(0)
}

/// The paths that the commits since the first one changed, in order, each once.
fn changed(env: &TestEnv, range: &str) -> Result<Vec<String>> {
    let names = env.repo()?.git(["log", "--name-only", "--format=", range])?;
    let mut names: Vec<String> = names.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn hook(env: &TestEnv, path: &Path, text: &str) -> Result<()> {
    env.write(path, text)?;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?)
}

#[test]
fn commits_of_everything_hold_only_what_the_agent_changed() -> Result<()> {
    each_user(|env| {
        env.write(env.project().join("be/untracked"), "u\n")?;
        let script = "git status --porcelain\n\
            echo one >>fe/a; git commit -qam one\n\
            echo two >fe/two; git add -A; git commit -qm two\n\
            echo three >>fe/a; echo more >fe/three; echo x >fe/x.log; git stash -q -u; git stash pop -q\n\
            git diff --stat | cat; git add .; git commit -qm three\n\
            git checkout -q -b side; echo side >fe/side; git add -A; git commit -qm side\n\
            git checkout -q main; echo four >>fe/sub/b; git commit -qam four\n\
            git checkout -q side; git rebase -q main; git checkout -q main; git merge -q side\n\
            git reset -q --hard; cd fe; git status --porcelain; git log --format=%s";
        let outcome = sh(env, "default", script)?.ended(0)?;
        assert_eq!(
            outcome.stdout,
            " fe/a | 1 +\n 1 file changed, 1 insertion(+)\nside\nfour\nthree\ntwo\none\nfirst\n",
            "{}",
            outcome.stderr
        );
        assert_eq!(changed(env, "HEAD~5..HEAD")?, ["fe/a", "fe/side", "fe/sub/b", "fe/three", "fe/two"]);
        assert_eq!(env.repo()?.git(["status", "--porcelain"])?, "?? be/untracked");
        Ok(())
    })
}

#[test]
fn neighbours_can_be_looked_at_and_neither_read_nor_listed_nor_reached() -> Result<()> {
    each_user(|env| {
        env.write(env.project().join("be/untracked"), "u\n")?;
        env.write(env.project().join("be/.env"), "TOKEN=x\n")?;
        env.write(env.project().join("alone/untracked"), "u\n")?;
        let _socket = std::os::unix::net::UnixListener::bind(env.project().join("be/db/door"))?;
        let script = "ls; for f in be be/db; do ls $f 2>/dev/null && echo LISTED; done\n\
            for f in README be/x be/untracked be/.env be/db/door; do cat $f 2>/dev/null && echo READ $f; done\n\
            for f in README be/x be/untracked; do test -f $f && echo there; done; readlink link\n\
            test -S be/db/door && echo SOCKET; test -s be/.env && echo ENV; test -e alone && echo ALONE\n\
            for f in README be/x be/new; do echo x >>$f; chmod 777 $f; rm -f $f; done 2>/dev/null; cat .gitignore";
        let outcome = try_all(env, "default", script)?;
        let seen = "README\nbe\ndocs\nfe\nlink\nremit.yaml\nthere\nthere\nthere\nREADME\n*.log\n";
        assert_eq!(outcome.stdout, seen, "{}", outcome.stderr);
        assert_eq!(std::fs::read_to_string(env.project().join("be/x"))?, "x\n");
        // Nothing is shown to an agent who does not see git.
        let hidden = POLICY.replace("agents:", "  - {path: \".git/**\", access: none, for: all}\nagents:");
        env.write(env.project().join("remit.yaml"), hidden)?;
        assert_eq!(sh(env, "default", "ls -A")?.ended(0)?.stdout, "docs\nfe\n");
        Ok(())
    })
}

#[test]
fn what_is_tracked_and_hidden_is_not_deleted_by_a_commit() -> Result<()> {
    let env = workspace(TestEnv::new()?)?;
    let repo = env.repo()?;
    repo.write("secrets/k", "k\n")?;
    repo.write("be/.env", "TOKEN=x\n")?;
    repo.commit("secrets")?;
    let script = "echo x >>fe/a; git commit -qam all || git add -A || true; git commit -qm mine fe; cat secrets/k be/.env 2>/dev/null; ls secrets 2>/dev/null; git status --porcelain";
    let outcome = try_all(&env, "default", script)?;
    assert_eq!(outcome.stdout, " M be/.env\n", "{}", outcome.stderr);
    assert_eq!(changed(&env, "HEAD~1..HEAD")?, ["fe/a"]);
    Ok(())
}

#[test]
fn repositories_of_their_own_are_left_alone() -> Result<()> {
    let env = workspace(TestEnv::new()?)?;
    let repo = env.repo()?;
    let other = env.root().join("other");
    repo.git(["init", "-q", "-b", "main", &other.display().to_string()])?;
    env.write(other.join("s"), "s\n")?;
    let at = other.display().to_string();
    repo.git(["-C", &at, "add", "."])?;
    repo.git(["-C", &at, "commit", "-qm", "s"])?;
    for place in ["top", "be/sub", "fe/sub2"] {
        repo.git(["submodule", "--quiet", "add", &at, place])?;
    }
    repo.commit("submodules")?;
    let script = "git status --porcelain; echo x >>fe/a; git commit -qam x; git add -A; git stash list; ls top be/sub 2>/dev/null; cat fe/sub2/s; git status --porcelain";
    let outcome = try_all(&env, "default", script)?;
    assert_eq!(outcome.stdout, "s\n", "{}", outcome.stderr);
    assert_eq!(changed(&env, "HEAD~1..HEAD")?, ["fe/a"]);
    Ok(())
}

#[test]
fn a_linked_worktree_and_an_index_that_only_git_reads() -> Result<()> {
    let env = workspace(TestEnv::new()?)?;
    let repo = env.repo()?;
    let tree = repo.worktree("side")?;
    let script = "git status --porcelain; echo x >>fe/a; git add -A; git commit -qam x; git show --name-only --format=%s";
    let outcome = crate::sh(&env, &tree, "default", script)?.ended(0)?;
    assert_eq!(outcome.stdout, "x\n\nfe/a\n", "{}", outcome.stderr);
    repo.git(["update-index", "--split-index"])?;
    let outcome = sh(&env, "default", script)?.ended(0)?;
    assert_eq!(outcome.stdout, "x\n\nfe/a\n", "{}", outcome.stderr);
    Ok(())
}

#[test]
fn a_workspace_below_the_top_sees_git_by_a_rule_and_nothing_of_the_rest() -> Result<()> {
    let env = workspace(TestEnv::new()?)?;
    let inner = env.project().join("fe");
    let policy = |more: &str| {
        format!(
            "version: \"1.0\"\nagents: {{default: {{permissions: [{{path: \".\", access: all}}{more}]}}}}\n"
        )
    };
    env.write(inner.join("remit.yaml"), policy(""))?;
    env.repo()?.commit("an inner workspace")?;
    let outcome =
        crate::sh(&env, &inner, "default", "git status 2>/dev/null || echo none; ls -A ..")?.ended(0)?;
    assert_eq!(outcome.stdout, "none\nfe\n");
    let git = env.project().join(".git");
    env.write(
        inner.join("remit.yaml"),
        policy(&format!(", {{path: \"{}\", access: read-write}}", git.display())),
    )?;
    let script = "git status --porcelain; echo x >>a; git commit -qam x; git show --name-only --format=%s; cat ../README 2>/dev/null; ls ../be 2>/dev/null";
    let outcome = crate::sh(&env, &inner, "default", &format!("set +e; {script}; true"))?.ended(0)?;
    assert_eq!(outcome.stdout, " M fe/remit.yaml\nx\n\nfe/a\nfe/remit.yaml\n", "{}", outcome.stderr);
    Ok(())
}

#[test]
fn a_work_tree_that_was_copied_is_looked_at_before_the_session() -> Result<()> {
    let env = workspace(TestEnv::new()?)?;
    for (name, text) in FILES.iter().filter(|(name, _)| !name.starts_with("fe")) {
        std::fs::remove_file(env.project().join(name))?;
        std::thread::sleep(std::time::Duration::from_millis(10));
        env.write(env.project().join(name), text)?;
    }
    let outcome = sh(&env, "default", "git status --porcelain; git add -A; git stash list")?.ended(0)?;
    assert_eq!(outcome.stdout, "", "{}", outcome.stderr);
    // What a person has changed is the person's to commit.
    env.write(env.project().join("be/x"), "longer than before\n")?;
    let script = "git status --porcelain; echo x >>fe/a; git commit -qam all && echo COMMITTED; git commit -qm mine fe";
    let outcome = try_all(&env, "default", script)?;
    assert_eq!(outcome.stdout, " M be/x\n", "{}", outcome.stderr);
    assert_eq!(changed(&env, "HEAD~1..HEAD")?, ["fe/a"]);
    Ok(())
}

#[test]
fn a_granted_folder_that_does_not_exist_is_there_and_goes_if_it_stays_empty() -> Result<()> {
    each_user(|env| {
        let new = env.project().join("new");
        let script = "mkdir -p new; mkdir new 2>/dev/null && echo MADE; printf '#!/bin/sh\\necho ran\\n' >new/p; chmod +x new/p; new/p; rm new/p; stat -c %A new";
        let outcome = sh(env, "maker", script)?.ended(0)?;
        assert_eq!(outcome.stdout, "ran\ndrwxr-xr-x\n", "{}", outcome.stderr);
        assert!(!new.exists());
        sh(env, "maker", "mkdir new/deep; echo x >new/deep/work")?.ended(0)?;
        assert_eq!(std::fs::read_to_string(new.join("deep/work"))?, "x\n");
        sh(env, "maker", "true")?.ended(0)?;
        assert!(new.join("deep/work").exists());
        Ok(())
    })
}

#[test]
fn what_is_allowed_is_done_and_what_cannot_be_done_is_denied() -> Result<()> {
    each_user(|env| {
        // Allowed by the rules, and impossible: names in folders that only lead somewhere, and mount points.
        let impossible = [
            "mkdir be/gen",
            "rmdir new",
            "rm -r new",
            "mkdir gen",
            "ln -s fe gen",
            "mkfifo gen",
            "echo x >gen",
            "mv fe/sub be/gen",
            "mv new fe/new",
        ];
        let mut script =
            String::from("echo more >>docs/a.md && echo wrote; rm -f docs/a.md && echo removed\n");
        for (number, line) in impossible.iter().enumerate() {
            script.push_str(&format!("({line}) 2>/dev/null && echo DONE {number}\n({line})\n"));
        }
        let outcome = try_all(env, "maker", &script)?;
        assert_eq!(outcome.stdout, "wrote\nremoved\n", "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("Read-only"), "{}", outcome.stderr);
        let log = env.run(&mut env.remit(["log"])?)?.ended(0)?.stdout;
        for line in log.lines().filter(|line| line.contains(" allow ")) {
            let allowed = ["docs/a.md", "fe/sub", "fe/new"].iter().any(|name| line.contains(name));
            assert!(allowed, "{line}");
        }
        assert!(log.contains("nothing can be made or changed at this place of the session's view"), "{log}");
        Ok(())
    })
}

#[test]
fn hooks_run_for_every_agent_who_commits() -> Result<()> {
    each_user(|env| {
        let refuses = "#!/bin/sh\necho hooked >&2\nexit 1\n";
        let commit = "echo x >>fe/a; git commit -qm x fe && echo COMMITTED";
        let pre_commit = env.project().join(".git/hooks/pre-commit");
        hook(env, &pre_commit, refuses)?;
        for agent in ["default", "writer"] {
            let outcome = try_all(env, agent, commit)?;
            assert!(
                outcome.stdout.is_empty() && outcome.stderr.contains("hooked"),
                "{agent}: {}",
                outcome.stderr
            );
            let change = try_all(
                env,
                agent,
                "echo x >>.git/hooks/pre-commit || rm -f .git/hooks/pre-commit || chmod -x .git/hooks/pre-commit || mv .git/hooks .git/h || echo refused",
            )?;
            assert_eq!(change.stdout, "refused\n");
        }
        // What lies beside them can no more be started than before.
        let run = "cp /bin/true fe/t; fe/t 2>/dev/null && echo RAN; cp /bin/true .git/t; .git/t 2>/dev/null && echo RAN";
        assert_eq!(try_all(env, "writer", run)?.stdout, "");
        std::fs::remove_file(&pre_commit)?;
        hook(env, &env.project().join(".husky/pre-commit"), refuses)?;
        env.repo()?.git(["config", "core.hooksPath", ".husky"])?;
        for agent in ["default", "writer"] {
            let outcome = try_all(env, agent, commit)?;
            assert!(
                outcome.stdout.is_empty() && outcome.stderr.contains("hooked"),
                "{agent}: {}",
                outcome.stderr
            );
        }
        // A person's own word on them counts.
        let policy = POLICY.replace("agents:", "  - {path: \".husky/**\", access: read, for: all}\nagents:");
        env.write(env.project().join("remit.yaml"), policy)?;
        let explained = env.run(&mut env.remit(["explain", "default", "execute", ".husky/pre-commit"])?)?;
        assert_eq!(explained.code, 1, "{}", explained.stdout);
        assert!(try_all(env, "default", commit)?.stderr.contains("ignored"));
        Ok(())
    })
}
