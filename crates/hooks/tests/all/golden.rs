//! Inputs that the real program wrote, and what comes of them: the request for the session, and the reply
//! for each kind of answer.

use crate::support::{Plain, Says, verdict};
use remit_core::Effect;
use remit_core::wire::{Answer, Request};
use remit_hooks::door::{Hook, serve};
use remit_hooks::{Event, Host, Reply};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude-2.1.332")
}

fn inputs() -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

fn event_of(input: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(input).unwrap();
    value["hook_event_name"].as_str().unwrap().to_owned()
}

fn reply(input: &[u8], answer: &Answer) -> (Reply, Vec<Request>) {
    let event = event_of(input);
    let asker = Says::new(Ok(answer.clone()));
    let hook = Hook { host: Host::Claude, event: &event };
    let reply = serve(hook, Ok(input.to_vec()), &asker, &Plain);
    (reply, asker.asked())
}

fn show(out: &mut String, title: &str, reply: &Reply) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    writeln!(out, "{title}: exit {}", reply.code).unwrap();
    for (stream, bytes) in [("stdout", &reply.stdout), ("stderr", &reply.stderr)] {
        for line in text(bytes).lines() {
            writeln!(out, "  {stream} | {line}").unwrap();
        }
    }
}

#[test]
fn requests_and_replies_for_real_inputs() {
    let inputs = inputs();
    assert!(inputs.len() >= 30);
    for (name, input) in inputs {
        let (_, asked) = reply(&input, &Answer::Noted { context: None });
        let own = asked.iter().filter(|request| !matches!(request, Request::Refused { .. })).count();
        assert_eq!(own, 1, "{name}");
        let mut out = serde_json::to_string_pretty(&asked[0]).unwrap();
        out.push('\n');
        let call = matches!(asked[0], Request::Call { .. });
        let answers: Vec<(&str, Answer)> = if call {
            vec![
                ("allow", verdict(Effect::Allow, "")),
                ("deny", verdict(Effect::Deny, "refused by `backend/** none` (remit.yaml:12)")),
                ("ask", verdict(Effect::Ask, "a person must confirm this")),
            ]
        } else {
            vec![
                ("noted", Answer::Noted { context: None }),
                ("context", Answer::Noted { context: Some("intent INT-001 is active".into()) }),
            ]
        };
        for (title, answer) in answers {
            show(&mut out, title, &reply(&input, &answer).0);
        }
        show(&mut out, "failed", &reply(&input, &Answer::Failed { why: "the ledger is full".into() }).0);
        insta::assert_snapshot!(name, out);
    }
}

#[test]
fn every_event_has_a_real_input() {
    let seen: Vec<String> = inputs().iter().map(|(_, input)| event_of(input)).collect();
    for event in Event::ALL {
        let name = Host::Claude.dialect().name(event);
        assert!(seen.iter().any(|s| s == name), "{name}");
    }
}

#[test]
fn allow_is_silence_so_that_the_hosts_own_prompt_stays_in_force() {
    for (name, input) in inputs() {
        let (reply, asked) = reply(&input, &verdict(Effect::Allow, "granted"));
        if matches!(asked[0], Request::Call { .. }) {
            assert_eq!(reply, Reply::quiet(), "{name}");
        }
    }
}
