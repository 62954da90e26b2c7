//! What the program says inside a session, and what it knows there.

use crate::place::{POLICY, each_user, own, sh};
use crate::watch::Session;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write;

const REMIT: &str = "/run/remit/session/remit";

#[test]
fn what_cannot_be_done_inside_is_said_with_the_reason() -> Result<()> {
    each_user(POLICY, |env| {
        for (inner, code, why) in [
            ("run -- /bin/echo ran", 125, "sessions do not nest"),
            ("demo --once", 5, "sessions do not nest"),
            ("log", 5, "the ledger lies outside"),
            ("verify", 5, "the ledger lies outside"),
            ("trust --yes", 5, "no session decides"),
            ("hooks status claude", 5, "started with"),
            ("init", 5, "no session can write a policy"),
        ] {
            let outcome = sh(env, &format!("{REMIT} {inner}"))?;
            assert_eq!(outcome.code, code, "{inner}: {}{}", outcome.stdout, outcome.stderr);
            assert_eq!(outcome.stdout, "", "{inner}");
            let name = inner.split(' ').next().unwrap_or_default();
            let said = format!("this is inside a session, where `remit {name}` cannot be used: ");
            assert!(outcome.stderr.contains(&said) && outcome.stderr.contains(why), "{}", outcome.stderr);
            // As it can be called here: by its name only where `PATH` leads to it.
            let hint = |called: &str| format!("`{called} explain AGENT VERB OBJECT` works in here");
            assert!(outcome.stderr.contains(&hint("remit")), "{}", outcome.stderr);
            let outcome = sh(env, &format!("PATH=/usr/bin:/bin {REMIT} {inner}"))?;
            assert!(outcome.stderr.contains(&hint(REMIT)), "{}", outcome.stderr);
        }
        Ok(())
    })
}

#[test]
fn the_program_that_refusals_speak_of_is_found_by_its_name_and_a_persons_own_first() -> Result<()> {
    each_user(POLICY, |env| {
        let outcome = sh(env, "command -v remit; remit explain default read .")?.ended(0)?;
        assert!(outcome.stdout.starts_with(&format!("{REMIT}\nallow")), "{}", outcome.stdout);
        let own = "mkdir ~/bin && printf 'echo own' > ~/bin/remit && chmod 755 ~/bin/remit && PATH=~/bin:$PATH remit";
        assert_eq!(sh(env, own)?.ended(0)?.stdout, "own\n");
        Ok(())
    })
}

#[test]
fn what_can_be_asked_inside_says_what_it_is_about() -> Result<()> {
    let env = own()?;
    let check = sh(&env, &format!("{REMIT} check"))?.ended(0)?;
    assert!(check.stderr.contains("the file is checked as it stands"), "{}", check.stderr);
    let proposal = sh(&env, &format!("{REMIT} init --dry-run"))?.ended(0)?;
    assert!(proposal.stdout.contains("+++ remit.yaml"), "{}", proposal.stdout);
    let doctor = sh(&env, &format!("{REMIT} doctor --json; ls -A ~"))?.ended(0)?;
    let said: Value = serde_json::from_str(doctor.stdout.lines().next().context("a line")?)?;
    let names: Vec<&str> =
        said["checks"].as_array().into_iter().flatten().filter_map(|check| check["check"].as_str()).collect();
    assert!(names.contains(&"session") && !names.contains(&"state"), "{names:?}");
    assert!(!doctor.stdout.contains(".local"), "a state was made in the session's home: {}", doctor.stdout);
    Ok(())
}

#[test]
fn explain_tells_what_the_session_is_held_by_and_not_what_the_file_says_by_now() -> Result<()> {
    each_user(POLICY, |env| {
        let ask = |object: &str| format!("{REMIT} explain default write {object}; echo = $?;");
        let mut script = "echo ready; read go;".to_owned();
        // A folder of the session's own, the work, and the policy that is protected.
        for object in ["src/a.rs", "~/x", "remit.yaml", "/opt/x"] {
            script += &ask(object);
        }
        write!(script, "{REMIT} explain default read src/a.rs --json; test -e src/new && echo made")?;
        let session = Session::start(env, &script)?;
        let later = POLICY.replace("access: all", "access: read").replace("\".\"", "\"src\"");
        env.write(env.project().join("remit.yaml"), later)?;
        let (_, said) = session.end()?;
        let answers: Vec<&str> = said.lines().filter(|line| line.starts_with("= ")).collect();
        assert_eq!(answers, ["= 0", "= 0", "= 1", "= 1"], "{said}");
        assert!(said.contains("`. all` (remit.yaml:7)"), "{said}");
        let json = said.lines().find(|line| line.starts_with('{')).context("an object")?;
        let json: Value = serde_json::from_str(json)?;
        assert_eq!((&json["effect"], &json["agent"]), (&Value::from("allow"), &Value::from("default")));
        let digest = json["digest"].as_str().context("a digest")?.to_owned();
        env.write(env.project().join("remit.yaml"), POLICY)?;
        // The records of a session bear the digest of the policy that it is held by.
        let log = crate::place::remit(env, &["log", "--json", "--event", "session-start"])?.ended(0)?;
        assert!(String::from_utf8(log.raw)?.contains(&digest), "{digest}");
        Ok(())
    })
}

#[test]
fn explain_inside_answers_as_outside() -> Result<()> {
    let env = own()?;
    for (verb, object) in [
        ("read", "src/a.rs"),
        ("write", "secrets/key"),
        ("create", ".git/hooks/x"),
        ("rename", "src/a.rs:remit.yaml"),
        ("delete", "/etc/hostname"),
        ("connect", "localhost:80"),
    ] {
        let outside = crate::place::remit(&env, &["explain", "default", verb, object])?;
        let inside = sh(&env, &format!("{REMIT} explain default {verb} {object}"))?;
        // Lines of the policy file are shown to a person only.
        let (quote, rule) = (|line: &str| line.contains('│'), |line: &str| line.contains('`'));
        let at = |line: &str| line.starts_with("  remit.yaml:") && !rule(line);
        let shared = |line: &&str| !(quote(line) || at(line) || line.is_empty());
        let answer =
            |text: &str| text.lines().filter(shared).map(|line| format!("{line}\n")).collect::<String>();
        assert_eq!(answer(&inside.stdout), answer(&outside.stdout), "{verb} {object}");
        assert_eq!(inside.code, outside.code, "{verb} {object}");
        assert!(!inside.stdout.lines().any(quote), "{}", inside.stdout);
    }
    Ok(())
}

#[test]
fn of_another_agent_a_session_is_told_nothing() -> Result<()> {
    let other = format!("{POLICY}  narrow:\n    permissions: [{{path: src, access: read}}]\n");
    each_user(&other, |env| {
        for name in ["narrow", "nobody"] {
            let outcome = sh(env, &format!("{REMIT} explain {name} read src/a.rs"))?.ended(6)?;
            assert_eq!(outcome.stdout, "");
            assert!(
                outcome.stderr.contains("this is a session of `default`, which is told of no other agent"),
                "{}",
                outcome.stderr
            );
        }
        Ok(())
    })
}
