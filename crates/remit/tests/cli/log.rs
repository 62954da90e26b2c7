//! `remit log`: what is shown, which filter lets what through, and following.

use crate::place::{remit, session, steady, transcript, workspace};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use test_support::TestEnv;

/// Two sessions and a hook call: allowed, refused by a rule, refused as protected, moved.
fn recorded() -> Result<TestEnv> {
    let env = workspace()?;
    let script = "echo x >src/b.rs; echo x >docs/b.md; echo x >.git/hooks/h; mv src/b.rs src/c.rs";
    assert_eq!(session(&env, "default", script)?, 0);
    assert_eq!(session(&env, "narrow", "echo x >src/n.rs; exit 4")?, 4);
    let root = env.project().display().to_string();
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "theirs", "cwd": root, "tool_name": "Write",
        "tool_use_id": "toolu_1", "tool_input": {"file_path": format!("{root}/docs/d.md"), "content": ""},
    });
    let args = ["hook", "claude", "PreToolUse", "--root", &root, "--agent", "default"];
    env.feed(&mut env.remit(args)?, payload.to_string().as_bytes())?.ended(2)?;
    Ok(env)
}

#[test]
fn everything_and_the_last_lines() -> Result<()> {
    let env = recorded()?;
    insta::assert_snapshot!(transcript(&env, &[&["log"], &["log", "-n", "2"]])?, @"
    $ remit log
         1 [TIME]  default [SESSION]  session [UUID] started: /bin/sh -c read go; echo x >src/b.rs; echo x >docs/b.md; echo x >.git/hooks/h; m…
         2 [TIME]  default [SESSION]  program launched
         3 [TIME]  default [SESSION]  allow create [PROJECT]/src/b.rs  [openat]
         4 [TIME]  default [SESSION]  deny  create [PROJECT]/docs/b.md  [openat]  not granted by rule `docs/** read` (remit.yaml:8)
         5 [TIME]  default [SESSION]  deny  create [PROJECT]/.git/hooks/h  [openat]  what git runs by itself is protected, and no rule or grant lifts that
         6 [TIME]  default [SESSION]  allow rename [PROJECT]/src/b.rs -> [PROJECT]/src/c.rs  [renameat2]
         7 [TIME]  default [SESSION]  session ended with code 0
         8 [TIME]  narrow [SESSION]  session [UUID] started: /bin/sh -c read go; echo x >src/n.rs; exit 4
         9 [TIME]  narrow [SESSION]  program launched
        10 [TIME]  narrow [SESSION]  allow create [PROJECT]/src/n.rs  [openat]
        11 [TIME]  narrow [SESSION]  session ended with code 4
        12 [TIME]  default theirs  deny  create [PROJECT]/docs/d.md  [Write]  not granted by rule `docs/** read` (remit.yaml:8)
    = 0
    $ remit log -n 2
        11 [TIME]  narrow [SESSION]  session ended with code 4
        12 [TIME]  default theirs  deny  create [PROJECT]/docs/d.md  [Write]  not granted by rule `docs/** read` (remit.yaml:8)
    = 0
    ");
    assert_eq!(remit(&env, &["log", "-n", "0"])?.stdout, remit(&env, &["log"])?.stdout);
    Ok(())
}

#[test]
fn each_filter_lets_through_what_it_names() -> Result<()> {
    let env = recorded()?;
    insta::assert_snapshot!(transcript(&env, &[
        &["log", "--agent", "narrow"],
        &["log", "--effect", "deny"],
        &["log", "--verb", "rename"],
        &["log", "--path", "docs"],
        &["log", "--path", "src/c.rs"],
        &["log", "--path", "doc"],
    ])?, @"
    $ remit log --agent narrow
         8 [TIME]  narrow [SESSION]  session [UUID] started: /bin/sh -c read go; echo x >src/n.rs; exit 4
         9 [TIME]  narrow [SESSION]  program launched
        10 [TIME]  narrow [SESSION]  allow create [PROJECT]/src/n.rs  [openat]
        11 [TIME]  narrow [SESSION]  session ended with code 4
    = 0
    $ remit log --effect deny
         4 [TIME]  default [SESSION]  deny  create [PROJECT]/docs/b.md  [openat]  not granted by rule `docs/** read` (remit.yaml:8)
         5 [TIME]  default [SESSION]  deny  create [PROJECT]/.git/hooks/h  [openat]  what git runs by itself is protected, and no rule or grant lifts that
        12 [TIME]  default theirs  deny  create [PROJECT]/docs/d.md  [Write]  not granted by rule `docs/** read` (remit.yaml:8)
    = 0
    $ remit log --verb rename
         6 [TIME]  default [SESSION]  allow rename [PROJECT]/src/b.rs -> [PROJECT]/src/c.rs  [renameat2]
    = 0
    $ remit log --path docs
         4 [TIME]  default [SESSION]  deny  create [PROJECT]/docs/b.md  [openat]  not granted by rule `docs/** read` (remit.yaml:8)
        12 [TIME]  default theirs  deny  create [PROJECT]/docs/d.md  [Write]  not granted by rule `docs/** read` (remit.yaml:8)
    = 0
    $ remit log --path src/c.rs
         6 [TIME]  default [SESSION]  allow rename [PROJECT]/src/b.rs -> [PROJECT]/src/c.rs  [renameat2]
    = 0
    $ remit log --path doc
    2> remit: no record matches `--path doc`
    = 0
    ");
    insta::assert_snapshot!(transcript(&env, &[
        &["log", "--call", "toolu_1"],
        &["log", "--session", "theirs"],
        &["log", "--event", "session-end"],
        &["log", "--rule", "protected."],
        &["log", "--rule", "docs/** read"],
        &["log", "--effect", "deny", "--agent", "narrow"],
    ])?, @"
    $ remit log --call toolu_1
        12 [TIME]  default theirs  deny  create [PROJECT]/docs/d.md  [Write]  not granted by rule `docs/** read` (remit.yaml:8)
    = 0
    $ remit log --session theirs
        12 [TIME]  default theirs  deny  create [PROJECT]/docs/d.md  [Write]  not granted by rule `docs/** read` (remit.yaml:8)
    = 0
    $ remit log --event session-end
         7 [TIME]  default [SESSION]  session ended with code 0
        11 [TIME]  narrow [SESSION]  session ended with code 4
    = 0
    $ remit log --rule protected.
         5 [TIME]  default [SESSION]  deny  create [PROJECT]/.git/hooks/h  [openat]  what git runs by itself is protected, and no rule or grant lifts that
    = 0
    $ remit log --rule docs/** read
         4 [TIME]  default [SESSION]  deny  create [PROJECT]/docs/b.md  [openat]  not granted by rule `docs/** read` (remit.yaml:8)
        12 [TIME]  default theirs  deny  create [PROJECT]/docs/d.md  [Write]  not granted by rule `docs/** read` (remit.yaml:8)
    = 0
    $ remit log --effect deny --agent narrow
    2> remit: no record matches `--agent narrow --effect deny`
    = 0
    ");
    Ok(())
}

#[test]
fn since_a_moment() -> Result<()> {
    let env = recorded()?;
    let all = remit(&env, &["log"])?.stdout;
    for (since, shown) in [
        ("1h", true),
        ("3600s", true),
        ("60m", true),
        ("2d", true),
        ("2020-01-01T00:00:00Z", true),
        ("2999-01-01T00:00:00Z", false),
        ("2020-01-01", true),
        ("2999-01-01", false),
    ] {
        let outcome = remit(&env, &["log", "--since", since])?.ended(0)?;
        assert_eq!(outcome.stdout, if shown { all.as_str() } else { "" }, "{since}");
    }
    // A moment between two records lets through the second and what follows.
    let records = records(&env)?;
    let time = records[3]["time"].as_str().context("a time")?;
    let outcome = remit(&env, &["log", "--json", "--since", time])?.ended(0)?;
    assert_eq!(outcome.stdout.lines().count(), records.len() - 3);
    insta::assert_snapshot!(transcript(&env, &[&["log", "--since", "1w"], &["log", "--since", ""], &["log", "--since", "é"]])?, @"
    $ remit log --since 1w
    2> error: `1w` is neither a time nor a span
    2> hint: such as 2026-11-30, [TIME], 30m, 2h, 3d
    = 2
    $ remit log --since
    2> error: `` is neither a time nor a span
    2> hint: such as 2026-11-30, [TIME], 30m, 2h, 3d
    = 2
    $ remit log --since é
    2> error: `é` is neither a time nor a span
    2> hint: such as 2026-11-30, [TIME], 30m, 2h, 3d
    = 2
    ");
    Ok(())
}

fn records(env: &TestEnv) -> Result<Vec<Value>> {
    let outcome = remit(env, &["log", "--json", "-n", "0"])?.ended(0)?;
    let text = String::from_utf8(outcome.raw)?;
    text.lines().map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone())).collect()
}

#[test]
fn for_programs() -> Result<()> {
    let env = recorded()?;
    let outcome = remit(&env, &["log", "--json", "--effect", "deny"])?.ended(0)?;
    let text = String::from_utf8(outcome.raw)?;
    let lines: Vec<Value> = text.lines().map(|l| Ok(serde_json::from_str(l)?)).collect::<Result<_>>()?;
    assert_eq!(lines.len(), 3);
    for line in &lines {
        let keys: Vec<&String> = line.as_object().context("an object")?.keys().collect();
        assert_eq!(keys, ["chained", "hash", "record", "seq"]);
    }
    let shown =
        |value: &Value| -> Result<String> { Ok(steady(&env.normal(&serde_json::to_string_pretty(value)?))) };
    insta::assert_snapshot!(shown(&lines[0])?, @r#"
    {
      "chained": true,
      "hash": "[SHA256]",
      "record": {
        "agent": "default",
        "asked": "docs/b.md",
        "assurance": "kernel",
        "digest": "[SHA256]",
        "door": "kernel",
        "effect": "deny",
        "epoch": 1,
        "event": "access",
        "layer": "agent",
        "path": "[PROJECT]/docs/b.md",
        "pid": [PID],
        "rule": "docs/** read",
        "rule_at": "remit.yaml:8",
        "rule_id": "agents.default.permissions[1]",
        "session": "[UUID]",
        "syscall": "openat",
        "time": "[TIME]",
        "v": 1,
        "verb": "create",
        "why": "not granted by rule `docs/** read` (remit.yaml:8)"
      },
      "seq": 4
    }
    "#);
    insta::assert_snapshot!(shown(&lines[2]["record"])?, @r#"
    {
      "agent": "default",
      "asked": "[PROJECT]/docs/d.md",
      "assurance": "claimed",
      "call": "toolu_1",
      "conversation": "theirs",
      "digest": "[SHA256]",
      "door": "hook",
      "effect": "deny",
      "epoch": 1,
      "event": "access",
      "host": "claude",
      "layer": "agent",
      "path": "[PROJECT]/docs/d.md",
      "rule": "docs/** read",
      "rule_at": "remit.yaml:8",
      "rule_id": "agents.default.permissions[1]",
      "session": "theirs",
      "time": "[TIME]",
      "tool": "Write",
      "v": 1,
      "verb": "create",
      "why": "not granted by rule `docs/** read` (remit.yaml:8)"
    }
    "#);
    Ok(())
}

/// A program whose lines are read as they come.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(env: &TestEnv, args: &[&str]) -> Result<Self> {
        let mut child = env.remit(args)?.stdout(Stdio::piped()).spawn()?;
        let out = BufReader::new(child.stdout.take().context("a pipe")?);
        let (send, lines) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Ok(Self { child, lines })
    }

    /// The next line; a minute without one is an error.
    fn next(&self) -> Result<Value> {
        let line = self.lines.recv_timeout(Duration::from_secs(60)).context("no line came")?;
        Ok(serde_json::from_str(&line)?)
    }
}

#[test]
fn following_shows_what_comes_and_ends_when_told() -> Result<()> {
    let env = workspace()?;
    let mut following = Following::start(&env, &["log", "-f", "--json", "--effect", "deny"])?;
    for name in ["docs/one", "docs/two"] {
        let script = format!("echo x >src/fine; echo x >{name}");
        remit(&env, &["run", "--", "/bin/sh", "-c", &script])?.ended(2)?;
        let line = following.next()?;
        assert_eq!(line["record"]["asked"], name);
    }
    let pid = i32::try_from(following.child.id())?;
    let pid = rustix::process::Pid::from_raw(pid).context("a pid")?;
    assert!(following.child.try_wait()?.is_none(), "it ended by itself");
    rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
    assert!(!following.child.wait()?.success());
    assert!(following.lines.recv_timeout(Duration::from_secs(60)).is_err(), "more than two lines");
    Ok(())
}

#[test]
fn following_ends_with_its_reader_although_nothing_more_is_written() -> Result<()> {
    let env = workspace()?;
    let follow = |rest: &str| {
        let line = format!("{} log -f | {rest}", env!("CARGO_BIN_EXE_remit"));
        env.run(env.command("/bin/sh")?.args(["-c", &line]))?.ended(0)
    };
    // There is not even a ledger yet.
    assert_eq!(follow("true")?.stderr, "");
    remit(&env, &["run", "--", "/bin/true"])?.ended(0)?;
    let outcome = follow("head -n 1")?;
    assert!(outcome.stdout.contains(" started: "), "{}", outcome.stdout);
    assert_eq!((outcome.stdout.lines().count(), outcome.stderr.as_str()), (1, ""));
    Ok(())
}

#[test]
fn a_filter_that_lets_nothing_through_is_named_and_so_are_those_who_could_be_meant() -> Result<()> {
    let env = workspace()?;
    insta::assert_snapshot!(transcript(&env, &[&["log"], &["log", "--agent", "narrow"]])?, @"
    $ remit log
    2> remit: nothing has been recorded here yet
    = 0
    $ remit log --agent narrow
    2> remit: nothing has been recorded here yet
    = 0
    ");
    let env = recorded()?;
    insta::assert_snapshot!(transcript(&env, &[
        &["log", "--agent", "narow"],
        &["log", "--session", "no-such", "--effect", "deny"],
        &["log", "--agent", "narrow", "--verb", "rename", "--path", "src", "--since", "2020-01-01T00:00:00Z"],
    ])?, @"
    $ remit log --agent narow
    2> remit: no record matches `--agent narow`; did you mean `narrow`? known here: `default`, `narrow`
    = 0
    $ remit log --session no-such --effect deny
    2> remit: no record matches `--session no-such --effect deny`; the last sessions: theirs, [UUID], [UUID]
    = 0
    $ remit log --agent narrow --verb rename --path src --since 2020-01-01T00:00:00Z
    2> remit: no record matches `--agent narrow --verb rename --path src --since [TIME]`
    = 0
    ");
    let outcome = remit(&env, &["log", "--event", "sesion-start"])?.ended(2)?;
    for part in ["`sesion-start` is not a kind of record", "did you mean `session-start`?", "`call-end`"] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
    let outcome = remit(&env, &["log", "--json", "--call", "a\u{1b}b"])?.ended(0)?;
    assert_eq!(outcome.stdout, "");
    assert_eq!(outcome.stderr, "remit: no record matches `--call a\\x1bb`\n");
    // Who follows is told, too, and waits.
    let line = format!("{} log -f --agent nobody 2>&1 | head -n 1", env!("CARGO_BIN_EXE_remit"));
    let outcome = env.run(env.command("/bin/sh")?.args(["-c", &line]))?.ended(0)?;
    assert!(outcome.stdout.contains("`--agent nobody`"), "{}", outcome.stdout);
    Ok(())
}

#[test]
fn following_ends_when_nobody_listens_any_more() -> Result<()> {
    let env = workspace()?;
    let mut child = env.remit(["log", "-f"])?.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut out = BufReader::new(child.stdout.take().context("a pipe")?);
    remit(&env, &["run", "--", "/bin/true"])?.ended(0)?;
    let mut line = String::new();
    out.read_line(&mut line)?;
    assert!(line.contains(" started: "), "{line}");
    drop(out);
    remit(&env, &["run", "--", "/bin/true"])?.ended(0)?;
    let ended = child.wait_with_output()?;
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    Ok(())
}

#[test]
fn a_day_alone_is_its_beginning_in_utc_and_every_line_bears_its_day() -> Result<()> {
    let env = recorded()?;
    let today = records(&env)?[0]["time"].as_str().context("a time")?.get(..10).context("a day")?.to_owned();
    let all = String::from_utf8(remit(&env, &["log"])?.ended(0)?.raw)?;
    let since = String::from_utf8(remit(&env, &["log", "--since", &today])?.ended(0)?.raw)?;
    assert_eq!(since, all);
    for line in all.lines() {
        let second = line.split_whitespace().nth(1).context("a moment")?;
        assert!(
            second.starts_with(&format!("{today}T")) && second.ends_with('Z') && second.len() == 20,
            "{line}"
        );
    }
    for wrong in ["2026-13-01", "2026-02-30", "2026-1-1", "20260101"] {
        remit(&env, &["log", "--since", wrong])?.ended(2)?;
    }
    Ok(())
}

#[test]
fn what_a_host_tells_of_itself_and_what_is_counted_is_said_in_words() -> Result<()> {
    let env = workspace()?;
    let root = env.project().display().to_string();
    for event in ["SessionStart", "UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"] {
        let payload =
            json!({"hook_event_name": event, "session_id": "theirs", "cwd": root, "agent_id": "s1"});
        let args = ["hook", "claude", event, "--root", &root, "--agent", "default"];
        env.feed(&mut env.remit(args)?, payload.to_string().as_bytes())?.ended(0)?;
    }
    assert_eq!(session(&env, "default", "echo x >~/a; rm ~/a; kill -9 $$")?, 137);
    insta::assert_snapshot!(transcript(&env, &[&["log"]])?, @"
    $ remit log
         1 [TIME]  default theirs  conversation opened: s1
         2 [TIME]  default theirs  prompt sent: s1
         3 [TIME]  default theirs  subagent started: s1
         4 [TIME]  default theirs  subagent ended its turn: s1
         5 [TIME]  default theirs  turn ended: s1
         6 [TIME]  default theirs  conversation closed: s1
         7 [TIME]  default [SESSION]  session [UUID] started: /bin/sh -c read go; echo x >~/a; rm ~/a; kill -9 $$
         8 [TIME]  default [SESSION]  program launched
         9 [TIME]  default [SESSION]  counted in scratch: 1 create, 1 delete
        10 [TIME]  default [SESSION]  session was ended by signal 9
    = 0
    ");
    Ok(())
}
