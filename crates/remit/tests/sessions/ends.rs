//! What stands in the ledger about a session: its beginning and end, and what its hooks asked.

use crate::place::{POLICY, each_user, own, remit, sh};
use anyhow::{Context, Result};
use serde_json::{Value, json};

#[test]
fn a_session_is_told_from_its_start_to_its_end() -> Result<()> {
    let env = own()?;
    sh(&env, "echo x >src/b.rs; exit 3")?.ended(3)?;
    sh(&env, "kill -KILL $$")?.ended(137)?;
    let outcome = remit(&env, &["log", "--json", "-n", "0"])?.ended(0)?;
    let text = String::from_utf8(outcome.raw)?;
    let records: Vec<Value> = text
        .lines()
        .map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone()))
        .collect::<Result<_>>()?;
    let of = |event: &str| records.iter().filter(|r| r["event"] == event).collect::<Vec<_>>();
    let (starts, ends) = (of("session-start"), of("session-end"));
    assert_eq!((starts.len(), ends.len()), (2, 2));
    assert_ne!(starts[0]["session"], starts[1]["session"]);
    let launched = of("moment");
    assert_eq!(records.iter().position(|r| r["event"] == "session-start"), Some(0), "{text}");
    // What a session does comes after both records of its beginning.
    let first = records.iter().position(|r| r["event"] == "access").context("a deed")?;
    assert_eq!(
        records.iter().take(first).map(|r| &r["event"]).collect::<Vec<_>>(),
        ["session-start", "moment"]
    );
    for ((start, moment), end) in starts.iter().zip(&launched).zip(&ends) {
        assert_eq!((&start["session"], &start["session"]), (&moment["session"], &end["session"]));
        assert_eq!(start["program"], "/bin/sh");
        assert_eq!(moment["detail"]["measured"]["network"], "not held");
    }
    assert_eq!(ends[0]["detail"]["exit"], json!({"code": 3}));
    assert_eq!(ends[1]["detail"]["exit"], json!({"signal": 9}));
    assert!(records.iter().all(|r| r["assurance"] == "kernel" && r["agent"] == "default"), "{text}");
    Ok(())
}

#[test]
fn a_hook_inside_asks_its_own_session_and_is_known_by_the_kernel() -> Result<()> {
    each_user(POLICY, |env| {
        let root = env.project().display().to_string();
        for (file, id, code, effect) in [("src/a.rs", "t1", 0, "allow"), ("remit.yaml", "t2", 2, "deny")] {
            let payload = json!({
                "hook_event_name": "PreToolUse", "session_id": "theirs", "cwd": root, "tool_name": "Write",
                "tool_use_id": id, "tool_input": {"file_path": format!("{root}/{file}"), "content": ""},
            });
            // What the agent claims to be counts for nothing inside.
            let hook = [
                "/run/remit/session/remit",
                "hook",
                "claude",
                "PreToolUse",
                "--root",
                &root,
                "--agent",
                "nobody",
            ];
            let mut command = env.remit([&["run", "--"], &hook[..]].concat())?;
            let outcome = env.feed(&mut command, payload.to_string().as_bytes())?;
            assert_eq!(outcome.code, code, "{file}: {}{}", outcome.stdout, outcome.stderr);
            let log = remit(env, &["log", "--json", "--call", id])?.ended(0)?;
            let text = String::from_utf8(log.raw)?;
            let records = text.lines().map(|line| Ok(serde_json::from_str::<Value>(line)?["record"].clone()));
            let records = records.collect::<Result<Vec<_>>>()?;
            let asked = records.iter().find(|r| r["door"] == "hook" && r["effect"] == effect);
            let asked = anyhow::Context::context(asked, text.clone())?;
            assert_eq!((&asked["assurance"], &asked["agent"]), (&json!("kernel"), &json!("default")));
            assert_eq!(asked["conversation"], "theirs");
            assert_ne!(asked["session"], "theirs");
        }
        Ok(())
    })
}

#[test]
fn a_hook_inside_that_cannot_judge_has_its_session_write_that_down() -> Result<()> {
    each_user(POLICY, |env| {
        let root = env.project().display().to_string();
        let hook = ["/run/remit/session/remit", "hook", "claude", "PreToolUse", "--root", &root];
        let mut command = env.remit([&["run", "--"], &hook[..]].concat())?;
        let broken =
            br#"{"hook_event_name":"PreToolUse","tool_name":"Write","tool_use_id":"t3","cwd":"relative"}"#;
        let outcome = env.feed(&mut command, broken)?.ended(2)?;
        assert!(!outcome.stderr.contains("not recorded"), "{}", outcome.stderr);
        let log = remit(env, &["log", "--json", "--call", "t3"])?.ended(0)?;
        let record = serde_json::from_slice::<Value>(&log.raw)?["record"].clone();
        for (key, value) in
            [("effect", "deny"), ("assurance", "kernel"), ("agent", "default"), ("tool", "Write")]
        {
            assert_eq!(record[key], value, "{key}: {record}");
        }
        assert!(record["why"].as_str().is_some_and(|why| why.contains("relative")), "{record}");
        Ok(())
    })
}
