//! What a session cannot do unrecorded, whatever it does to the ledger's room, to git's index and ignore files, or
//! to the process that writes.

use crate::place::{POLICY, each_user, own, remit, sh, state};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::process::Stdio;
use test_support::TestEnv;

/// All records, as they stand in the ledger.
fn records(env: &TestEnv) -> Result<Vec<Value>> {
    let outcome = remit(env, &["log", "--json", "-n", "0"])?.ended(0)?;
    let text = String::from_utf8(outcome.raw)?;
    text.lines().map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone())).collect()
}

/// The records of one effect and verb whose path has this end.
fn of<'a>(records: &'a [Value], effect: &str, verb: &str, path: &str) -> Vec<&'a Value> {
    let is = |record: &&Value| {
        record["event"] == "access"
            && record["effect"] == effect
            && record["verb"] == verb
            && record["path"].as_str().is_some_and(|had| had.ends_with(path))
    };
    records.iter().filter(is).collect()
}

fn count(records: &[Value], effect: &str, verb: &str, path: &str) -> usize {
    of(records, effect, verb, path).len()
}

#[test]
fn what_is_written_to_a_tracked_file_by_another_name_is_recorded() -> Result<()> {
    each_user(POLICY, |env| {
        sh(env, "ln src/a.rs .git/ml && echo evil >>.git/ml && mkdir -p target && echo x >.git/plain")?
            .ended(0)?;
        // Nobody knows in the next session where the other name is.
        sh(env, "echo more >>.git/ml && chmod 600 .git/ml && echo x >.git/plain && rm .git/ml")?.ended(0)?;
        let records = records(env)?;
        assert_eq!(count(&records, "allow", "write", "/.git/ml"), 3, "{records:#?}");
        assert_eq!(count(&records, "allow", "rename", "/src/a.rs"), 1);
        assert_eq!(count(&records, "allow", "write", "/.git/plain"), 0, "git's own files are only counted");
        Ok(())
    })
}

#[test]
fn a_session_cannot_say_what_later_ones_need_not_record() -> Result<()> {
    each_user(POLICY, |env| {
        env.write(env.project().join(".gitignore"), "target/\n")?;
        sh(env, "mkdir target && echo x >target/a && git add . && git commit -qm ignored")?.ended(0)?;
        assert_eq!(count(&records(env)?, "allow", "create", "/target/a"), 0);
        // Without the index all is work.
        sh(env, "rm .git/index; echo '*' >.gitignore")?.ended(0)?;
        assert_eq!(count(&records(env)?, "allow", "delete", "/.git/index"), 1);
        sh(env, "echo x >src/one.rs; git reset -q")?.ended(0)?;
        assert_eq!(count(&records(env)?, "allow", "create", "/src/one.rs"), 1);
        // An index from which nearly all was taken; the ignore file is still the session's.
        sh(env, "git rm -rq --cached src && git commit -qm untracked")?.ended(0)?;
        sh(env, "echo x >src/two.rs; echo x >>src/a.rs; echo x >target/b")?.ended(0)?;
        let now = records(env)?;
        assert_eq!(count(&now, "allow", "create", "/src/two.rs"), 1);
        assert_eq!(count(&now, "allow", "write", "/src/a.rs"), 1);
        assert_eq!(count(&now, "allow", "create", "/target/b"), 0, "a person has ignored it");
        let start = now.iter().rfind(|record| record["event"] == "session-start").context("a start")?;
        assert!(start["detail"]["notes"].to_string().contains("not taken over"), "{start}");
        // A person agrees.
        env.write(env.project().join(".gitignore"), "target/\ndist/\n")?;
        sh(env, "mkdir dist; echo x >dist/c; echo x >src/three.rs")?.ended(0)?;
        let now = records(env)?;
        assert_eq!(count(&now, "allow", "create", "/dist/c"), 0);
        assert_eq!(count(&now, "allow", "create", "/src/three.rs"), 1);
        Ok(())
    })
}

/// Nothing is out of bounds, so that nothing stands in for it either, which git could not tidy away.
const ALL: &str = "version: \"1.0\"\nagents:\n  default:\n    permissions: [{path: \".\", access: all}]\n";

#[test]
fn an_index_that_cannot_be_read_is_said_and_all_is_work() -> Result<()> {
    let env = own()?;
    sh(&env, "printf junk >.git/index")?.ended(0)?;
    let next = sh(&env, "echo x >>src/a.rs; rm .git/index; git reset -q")?.ended(0)?;
    assert!(next.stderr.contains("not known: what git tracks"), "{}", next.stderr);
    let after = sh(&env, "true")?.ended(0)?;
    assert!(!after.stderr.contains("not known"), "{}", after.stderr);
    let records = records(&env)?;
    assert_eq!(count(&records, "allow", "write", "/src/a.rs"), 1);
    let notes: Vec<String> = records
        .iter()
        .filter(|record| record["event"] == "session-start")
        .map(|record| record["detail"]["notes"].to_string())
        .collect();
    let said: Vec<bool> = notes.iter().map(|notes| notes.contains("not known")).collect();
    assert_eq!(said, [false, true, false], "{notes:?}");
    Ok(())
}

#[test]
fn git_in_its_ordinary_course_is_refused_nothing() -> Result<()> {
    each_user(ALL, |env| {
        let script = "mkdir new && echo x >new/file && echo y >>src/a.rs && git stash -qu && git stash pop -q && git add . && git commit -qm x && git switch -qc other && git switch -q main";
        sh(env, script)?.ended(0)?;
        let records = records(env)?;
        let denied: Vec<_> = records.iter().filter(|record| record["effect"] == "deny").collect();
        assert!(denied.is_empty(), "{denied:#?}");
        Ok(())
    })
}

#[test]
fn the_gates_limits_hold_and_what_is_refused_is_recorded() -> Result<()> {
    each_user(POLICY, |env| {
        let attacks = [
            "prlimit --pid 1 --fsize=0:unlimited",
            "prlimit --pid 1 --nofile=3",
            "prlimit --pid 1 --as=1",
            "renice -n 19 -p 1",
            "chrt -b -p 0 1",
            "ionice -c 3 -p 1",
            "taskset -p 1 1",
            "choom -n 1000 -p 1",
        ];
        for attack in attacks {
            let outcome = sh(env, &format!("{attack}; echo x >remit.yaml"))?;
            assert_ne!(outcome.code, 0, "{attack}");
            let records = records(env)?;
            let last = records.iter().rposition(|record| record["event"] == "session-start").unwrap_or(0);
            let told = |path: &str| {
                records
                    .iter()
                    .skip(last)
                    .any(|r| r["effect"] == "deny" && r["path"].as_str().is_some_and(|p| p.ends_with(path)))
            };
            assert!(told("/remit.yaml"), "{attack}: {:#?}", &records[last..]);
            assert!(told("/proc/1") || told("/proc/1/oom_score_adj"), "{attack}: {:#?}", &records[last..]);
        }
        sh(env, "sleep 9 & prlimit --pid $! --core=0 && renice -n 5 -p $! && kill $!")?.ended(0)?;
        Ok(())
    })
}

#[test]
fn a_flood_of_one_refusal_is_counted_and_every_other_one_is_recorded() -> Result<()> {
    let env = own()?;
    let script = "i=0; while [ $i -lt 3000 ]; do true >remit.yaml; i=$((i+1)); done; for n in 1 2 3; do true >/usr/x$n; done; true";
    sh(&env, script)?.ended(0)?;
    let records = records(&env)?;
    let single = count(&records, "deny", "write", "/remit.yaml");
    let counted: Vec<_> =
        records.iter().filter(|r| r["event"] == "summary" && r["effect"] == "deny").collect();
    let sum: u64 = counted.iter().filter_map(|record| record["counts"]["refused"].as_u64()).sum();
    assert_eq!(u64::try_from(single)? + sum, 3000, "{counted:#?}");
    assert!((100..1500).contains(&single), "{single}");
    let rule = &of(&records, "deny", "write", "/remit.yaml")[0]["rule_id"];
    assert!(counted.iter().all(|record| record["rule_id"] == *rule && record["verb"] == "write"));
    assert_eq!(count(&records, "deny", "create", "/usr/x3"), 1);
    // It is shown with the count.
    let log = remit(&env, &["log", "--event", "summary"])?.ended(0)?;
    assert!(log.stdout.contains("/remit.yaml") && log.stdout.contains("more"), "{}", log.stdout);
    Ok(())
}

/// Runs a script in which `$REMIT` is the program, with the state on a disk of this size.
fn on_a_small_disk(env: &TestEnv, size: &str, script: &str) -> Result<Vec<Value>> {
    let inner = format!("mount -t tmpfs -o size={size},mode=700 tmpfs \"$STATE\" || exit 99\n{script}");
    let mut command = env.command("unshare")?;
    // Folders of users who are not in the namespace look like this user's.
    command.args(["--map-user=65534", "--map-group=65534", "--keep-caps", "--mount", "sh", "-c", &inner]);
    command.env("STATE", env.state()).env("REMIT", env!("CARGO_BIN_EXE_remit"));
    let outcome = env.run(&mut command)?.ended(0)?;
    let text = String::from_utf8(outcome.raw)?;
    text.lines().map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone())).collect()
}

#[test]
fn on_a_full_disk_refusals_are_recorded_and_those_that_are_not_are_told() -> Result<()> {
    let env = own()?;
    // Each refusal is another one, so that none is only counted.
    let fill = "dd if=/dev/zero of=$HOME/fill bs=64k 2>/dev/null";
    for (many, fits) in [(50, true), (1500, false)] {
        drop(std::fs::remove_file(env.project().join("src/new")));
        let inside = format!(
            "{fill}; i=0; while [ $i -lt {many} ]; do true >/usr/x$i; i=$((i+1)); done 2>/dev/null; if echo x >src/new; then echo changed >&2; fi"
        );
        let script = format!(
            "\"$REMIT\" run -- sh -c '{inside}' >/dev/null || exit 97\n\"$REMIT\" verify >&2 || exit 98\n\"$REMIT\" log --json -n 0"
        );
        let records = on_a_small_disk(&env, "3m", &script)?;
        let denied = records.iter().filter(|r| r["effect"] == "deny" && r["verb"] == "create").count();
        let lost: u64 = records.iter().filter_map(|record| record["counts"]["unrecorded"].as_u64()).sum();
        let done = env.project().join("src/new").exists();
        assert_eq!((done, count(&records, "allow", "create", "/src/new")), (fits, usize::from(fits)));
        // The change that could not be recorded is one of those that are told.
        assert_eq!(u64::try_from(denied)? + lost, many + u64::from(!fits), "{denied} {lost}");
        assert_eq!(lost == 0, fits, "{denied} {lost}");
        let alert = records.iter().find(|record| record["event"] == "alert");
        let told =
            alert.and_then(|alert| alert["why"].as_str()).map(|why| why.ends_with("could not be recorded"));
        assert_eq!(told, (!fits).then_some(true));
        assert!(records.iter().any(|record| record["event"] == "session-end"));
    }
    Ok(())
}

#[test]
fn what_a_host_says_of_a_call_is_recorded_in_short() -> Result<()> {
    let env = own()?;
    let root = env.project().display().to_string();
    let long = "x".repeat(1 << 20);
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": long, "cwd": root, "tool_name": long,
        "tool_use_id": "t", "tool_input": {"file_path": format!("{root}/remit.yaml"), "content": ""},
    });
    let hook = ["run", "--", "/run/remit/session/remit", "hook", "claude", "PreToolUse", "--root", &root];
    let mut command = env.remit(hook)?;
    env.feed(&mut command, payload.to_string().as_bytes())?.ended(2)?;
    let ledger = state(&env)?.join("ledger/000001.jsonl");
    let longest = std::fs::read_to_string(ledger)?.lines().map(str::len).max();
    assert!(longest.is_some_and(|bytes| bytes < 8192), "{longest:?}");
    Ok(())
}

#[test]
fn a_policy_on_which_somebody_has_a_lease_is_an_error_and_no_wait() -> Result<()> {
    let env = own()?;
    let keeper = "import fcntl, sys; f = open('remit.yaml'); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK); print('ready', flush=True); sys.stdin.read()";
    let mut command = env.command("python3")?;
    command.args(["-c", &format!("import signal; signal.signal(signal.SIGIO, signal.SIG_IGN); {keeper}")]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    let output = child.stdout.take().context("a pipe")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)?;
    assert_eq!(line, "ready\n");
    let outcome = remit(&env, &["check"])?;
    drop(child.stdin.take());
    child.wait()?;
    assert_ne!(outcome.code, 0);
    assert!(outcome.stderr.contains("leased by another process"), "{}", outcome.stderr);
    Ok(())
}

#[test]
fn a_folder_that_does_not_move_has_a_record_that_names_what_stands_against_it() -> Result<()> {
    let policy = POLICY.replace("secrets/**", "**/.env");
    each_user(&policy, |env| {
        env.write(env.project().join("pkg/x/.env"), "hidden")?;
        sh(env, "mv pkg moved")?.ended(1)?;
        let all = records(env)?;
        let [record] = of(&all, "deny", "rename", "/pkg")[..] else { anyhow::bail!("{all:#?}") };
        let at = |name: &str| record[name].as_str().unwrap_or_default();
        let below = record["detail"]["below"].as_str().unwrap_or_default();
        assert!(at("to").ends_with("/moved") && below.ends_with("/pkg/x/.env"), "{record:#}");
        assert!(at("rule").contains("**/.env none"), "{record:#}");
        assert!(at("why").contains("/pkg/x/.env would go with it: the path is out of bounds"), "{record:#}");
        Ok(())
    })?;
    // What nobody can look into is refused, too, and nothing says that it was allowed.
    each_user(&POLICY.replace("secrets/**", "/nowhere/**"), |env| {
        sh(env, "mkdir -p pkg/closed && chmod 0 pkg/closed && mv pkg moved")?.ended(1)?;
        let all = records(env)?;
        assert_eq!(count(&all, "allow", "rename", "/pkg"), 0, "{all:#?}");
        assert_eq!(count(&all, "deny", "rename", "/pkg"), 1, "{all:#?}");
        let opened = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(env.project().join("pkg/closed"), opened)?;
        Ok(())
    })
}

fn with_log(word: &str) -> String {
    format!("{POLICY}audit: {{log_access_attempts: {word}}}\n")
}

#[test]
fn where_all_is_recorded_each_read_and_start_has_one_record_and_the_rest_are_counts() -> Result<()> {
    each_user(&with_log("all"), |env| {
        let script =
            "cat src/a.rs src/a.rs src/a.rs; cat secrets/key; cat missing; ls sub >/dev/null; exit 0";
        env.write(env.project().join("secrets/key"), "hidden")?;
        let said = sh(env, script)?.ended(0)?;
        assert!(String::from_utf8_lossy(&said.raw).contains("text\ntext\ntext\n"));
        let records = records(env)?;
        assert_eq!(count(&records, "allow", "read", "/src/a.rs"), 1, "{records:#?}");
        assert_eq!(count(&records, "allow", "execute", "/cat"), 1);
        assert_eq!(count(&records, "allow", "read", "/sub"), 1);
        assert_eq!(count(&records, "deny", "read", "/secrets/key"), 1);
        assert_eq!(
            count(&records, "allow", "read", "/missing") + count(&records, "deny", "read", "/missing"),
            0
        );
        let counts: u64 = records.iter().filter_map(|r| r["counts"]["read"].as_u64()).sum();
        assert!(counts >= 2, "{counts}");
        let start = records.iter().find(|r| r["event"] == "session-start").context("a start")?;
        assert_eq!(start["detail"]["reads"], "audit.log_access_attempts: all");
        let denied = records.iter().filter(|r| r["event"] == "access" && r["effect"] == "deny").count();
        assert_eq!(denied, 1, "{records:#?}");
        Ok(())
    })
}

#[test]
fn where_nothing_is_recorded_refusals_are_counts_and_changes_stay() -> Result<()> {
    each_user(&with_log("none"), |env| {
        sh(env, "echo x >remit.yaml; echo x >remit.yaml; echo x >>src/a.rs; cat src/a.rs >/dev/null")?
            .ended(0)?;
        let records = records(env)?;
        assert!(!records.iter().any(|r| r["effect"] == "deny" && r["event"] == "access"), "{records:#?}");
        let counts: u64 = records.iter().filter_map(|r| r["counts"]["refused"].as_u64()).sum();
        assert_eq!(counts, 2);
        assert_eq!(count(&records, "allow", "write", "/src/a.rs"), 1);
        assert_eq!(count(&records, "allow", "read", "/src/a.rs"), 0);
        Ok(())
    })
}
