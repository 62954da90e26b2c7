//! Folders that are moved and removed, and names that are made: what is said of it before it is done, outside and
//! in the session, is what comes of it in the end.

use crate::{explain, hooked};
use anyhow::{Context, Result};
use serde_json::json;
use std::fmt::Write;
use std::os::unix::fs::symlink;
use test_support::TestEnv;

const POLICY: &str = r#"version: "1.0"
default_policy: deny
global_rules:
  - {path: "**/.env", access: none, for: all}
  - {path: "**/*.lock", access: read, for: [locked]}
  - {path: "closed/deep/er/**", access: none, for: all}
  - {path: "later/deep/**", access: none, for: all}
agents:
  whole:
    permissions:
      - {path: ".", access: all}
      - {path: "part/gen/**", access: read}
      - {path: "plain/data/**", access: read-write}
  locked:
    permissions:
      - {path: ".", access: all}
  kinds:
    permissions:
      - {path: "*.md", access: all}
      - {path: "lone/*.md", access: read-write}
      - {path: "lone/one.txt", access: read-write}
      - {path: "lone/two.txt", access: read-write}
      - {path: "open/**", access: read-write}
      - {path: "open/*.md", access: read-write}
"#;

const FILES: &[&str] = &[
    "free/a/b/c.txt",
    "free2/a/b/c.txt",
    "env/.env",
    "env2/.env",
    "envs/x/y/z/.env",
    "envs2/x/y/z/.env",
    "mcp/x/.mcp.json",
    "mcp2/x/.mcp.json",
    "git/sub/.git/hooks/pre-commit",
    "git2/sub/.git/hooks/pre-commit",
    "settings/.claude/settings.json",
    "part/gen/g.rs",
    "part/a.rs",
    "plain/data/d.txt",
    "plain/a.txt",
    "closed/deep/er/s.txt",
    "later/a.txt",
    "linked/.env",
    "coming/gen/x.txt",
    "file1.txt",
    "file2.txt",
    "file3.txt",
    "file4.txt",
    "holds/.env",
    "locks/a/b.lock",
    "locks2/a/b.lock",
    "nolocks/a/b.txt",
    "old.md",
    "old2.md",
    "old3.md",
    "lone/one.txt",
    "lone/old.md",
    "open/sub/x.txt",
    "open/sub2/x.txt",
    "open/old.md",
    "open/away.md",
    "old4.md",
];

const FOLDERS: &[&str] = &["empty", "empty2", "onto", "from", "seldom/empty", "open/folder2"];

#[derive(Clone, Copy)]
enum Deed {
    /// `rm -rf`.
    Remove(&'static str),
    /// `mv -T`, onto the second name if something has it.
    Move(&'static str, &'static str),
    /// A file that is not there.
    Make(&'static str),
    /// A folder that is not there.
    Folder(&'static str),
    /// A file that is there.
    Write(&'static str),
    /// A symbolic link.
    Link(&'static str),
}

use Deed::{Folder, Link, Make, Move, Remove, Write as Change};

impl Deed {
    fn command(self) -> String {
        match self {
            Remove(path) => format!("rm -rf {path}"),
            Move(from, to) => format!("mv -T {from} {to}"),
            Make(path) | Change(path) => format!("echo more >>{path}"),
            Folder(path) => format!("mkdir {path}"),
            Link(path) => format!("ln -s free {path}"),
        }
    }

    /// The verbs and the object by which `explain` is asked.
    fn asked(self) -> Vec<(&'static str, String)> {
        match self {
            Remove(path) => vec![("delete", path.to_owned())],
            Move(from, to) => vec![("rename", format!("{from}:{to}"))],
            Make(path) => vec![("create", path.to_owned()), ("write", path.to_owned())],
            Folder(path) => vec![("create", path.to_owned())],
            Change(path) => vec![("write", path.to_owned())],
            // A second name at one end only.
            Link(path) => vec![("rename", format!("{path}:{path}"))],
        }
    }
}

/// Agent, deed, and whether it can be done.
const DEEDS: &[(&str, Deed, bool)] = &[
    ("whole", Remove("free"), true),
    ("whole", Move("free2", "free3"), true),
    ("whole", Remove("empty"), true),
    ("whole", Move("empty2", "empty3"), true),
    ("whole", Move("from", "onto"), true),
    ("whole", Move("file1.txt", "file2.txt"), true),
    ("whole", Remove("file2.txt"), true),
    // Hidden, at any depth.
    ("whole", Remove("env"), false),
    ("whole", Move("env2", "env3"), false),
    ("whole", Remove("envs"), false),
    ("whole", Move("envs2", "envs3"), false),
    ("whole", Move("file3.txt", "holds/.env"), false),
    // Protected.
    ("whole", Remove("mcp"), false),
    ("whole", Move("mcp2", "mcp3"), false),
    ("whole", Remove("git"), false),
    ("whole", Move("git2", "git3"), false),
    ("whole", Move("settings", "settings2"), false),
    ("whole", Remove("settings"), false),
    // By rules for the very path: read-only, a mount of its own, hidden, hidden though not there.
    ("whole", Move("part", "part2"), false),
    ("whole", Remove("part"), false),
    ("whole", Move("coming", "part/coming"), true),
    ("whole", Move("part/coming/gen", "part/gen/new"), false),
    ("whole", Move("plain/data", "plain/data2"), false),
    ("whole", Remove("plain/data"), false),
    ("whole", Move("plain", "plain2"), false),
    ("whole", Remove("plain"), false),
    ("whole", Move("closed", "closed2"), false),
    ("whole", Remove("closed"), false),
    ("whole", Move("later", "later2"), false),
    ("whole", Remove("later"), false),
    // A link goes and moves itself.
    ("whole", Move("link", "link2"), true),
    ("whole", Remove("link2"), true),
    ("whole", Link("made"), true),
    ("whole", Link("seldom/.claude"), false),
    ("locked", Remove("locks"), false),
    ("locked", Move("locks2", "locks3"), false),
    ("locked", Move("nolocks", "nolocks2"), true),
    ("locked", Make("new.lock"), false),
    // By wildcard, where the folder only leads to what is there; and where it may be written.
    ("kinds", Make("new.md"), false),
    ("kinds", Folder("folder.md"), false),
    ("kinds", Link("link.md"), false),
    ("kinds", Change("old.md"), true),
    ("kinds", Remove("old2.md"), false),
    ("kinds", Move("old3.md", "new3.md"), false),
    ("kinds", Make("lone/new.md"), true),
    ("kinds", Make("lone/one.txt.tmp"), true),
    ("kinds", Change("lone/old.md"), true),
    ("kinds", Link("lone/two.txt"), false),
    ("kinds", Move("open/folder2", "lone/two.txt"), false),
    ("kinds", Remove("lone/one.txt"), true),
    ("kinds", Make("open/new.md"), true),
    ("kinds", Make("open/new.txt"), true),
    ("kinds", Folder("open/folder"), true),
    ("kinds", Move("open/sub", "open/sub3"), true),
    ("kinds", Remove("open/sub2"), true),
    ("kinds", Change("open/old.md"), true),
    // From one mount to another: by a copy, and the first one goes.
    ("kinds", Move("open/away.md", "lone/away.md"), true),
    ("kinds", Move("old4.md", "open/away2.md"), false),
    // Half of it is done.
    ("kinds", Remove("open"), false),
];

fn workspace() -> Result<TestEnv> {
    let env = TestEnv::new()?.with_remit(env!("CARGO_BIN_EXE_remit"));
    let repo = env.repo()?;
    repo.write("remit.yaml", POLICY)?;
    for file in FILES {
        repo.write(file, "text\n")?;
    }
    for folder in FOLDERS {
        std::fs::create_dir_all(env.project().join(folder))?;
    }
    symlink("linked", env.project().join("link"))?;
    Ok(env)
}

fn payload(env: &TestEnv, number: usize, deed: Deed) -> String {
    json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": env.project(), "tool_name": "Bash",
        "tool_use_id": format!("deed-{number}"), "tool_input": {"command": deed.command()},
    })
    .to_string()
}

/// For each deed of the agent in turn: what is said of it inside, by `explain` and by the hook, and whether it is done.
fn inside(env: &TestEnv, agent: &str) -> Result<Vec<(Vec<bool>, bool)>> {
    let remit = "/run/remit/session/remit";
    let root = env.project().display().to_string();
    let mut script = String::new();
    for (number, (_, deed, _)) in DEEDS.iter().enumerate().filter(|(_, one)| one.0 == agent) {
        for (verb, object) in deed.asked() {
            writeln!(script, "{remit} explain {agent} {verb} {object} >/dev/null 2>&1; printf '%s ' $?")?;
        }
        let (payload, command) = (payload(env, number, *deed), deed.command());
        writeln!(
            script,
            "printf '%s' '{payload}' | {remit} hook claude PreToolUse --root {root} >/dev/null 2>&1; printf '%s ' $?\n\
             {command} >/dev/null 2>&1; echo $?"
        )?;
    }
    let outcome = env.run(&mut env.remit(["run", agent, "--", "sh", "-c", &script])?)?.ended(0)?;
    let line = |line: &str| {
        let mut codes: Vec<bool> = line.split(' ').map(|code| code == "0").collect();
        let done = codes.pop().context("an empty line")?;
        Ok((codes, done))
    };
    outcome.stdout.lines().map(line).collect()
}

#[test]
fn what_is_said_of_a_deed_is_what_comes_of_it() -> Result<()> {
    let env = workspace()?;
    let mut apart = Vec::new();
    // Before anything has been done: what earlier deeds make is not there yet.
    let first = |deed: &Deed| !matches!(deed, Move("part/coming/gen", _) | Remove("link2" | "file2.txt"));
    for (number, (agent, deed, may)) in DEEDS.iter().enumerate().filter(|(_, one)| first(&one.1)) {
        for (verb, object) in deed.asked() {
            if explain(&env, agent, verb, &object)? != *may {
                apart.push(format!("explain outside: {agent} {verb} {object}"));
            }
        }
        if hooked(&env, agent, &payload(&env, number, *deed))? != *may {
            apart.push(format!("hook outside: {agent} {}", deed.command()));
        }
    }
    for agent in ["whole", "locked", "kinds"] {
        let seen = inside(&env, agent)?;
        let deeds: Vec<_> = DEEDS.iter().filter(|one| one.0 == agent).collect();
        assert_eq!(seen.len(), deeds.len(), "{agent}");
        for ((_, deed, may), (said, done)) in deeds.into_iter().zip(seen) {
            if done != *may || said.iter().any(|one| one != may) {
                apart.push(format!("inside: {agent} {}: said {said:?}, done {done}", deed.command()));
            }
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
    Ok(())
}
