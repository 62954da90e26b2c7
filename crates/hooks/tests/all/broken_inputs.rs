//! Whatever a host or an agent sends, and however the session fails: the code is 0 or 2, and an event that
//! can block is blocked.

use crate::support::{Plain, Says, verdict};
use proptest::prelude::*;
use remit_core::wire::{Answer, Request};
use remit_core::{AbsPath, Effect};
use remit_hooks::door::{Hook, read_input, serve, unjudged};
use remit_hooks::{Asker, Host, Problem, Reply, canary, is_denial, within};
use std::io::Read;
use std::time::Duration;

fn root() -> AbsPath {
    AbsPath::new("/home/dev/shop").unwrap()
}

fn through(event: &str, input: Result<Vec<u8>, Problem>, asker: &dyn Asker) -> Reply {
    serve(Hook { host: Host::Claude, event }, input, asker, &Plain)
}

fn allowing(event: &str, input: &[u8]) -> Reply {
    through(event, Ok(input.to_vec()), &Says::new(Ok(verdict(Effect::Allow, ""))))
}

fn assert_denied(reply: &Reply, about: &str) {
    assert!(is_denial(Host::Claude, &reply.stdout, reply.code), "{about}: {reply:?}");
    assert_eq!(reply.code, 2, "{about}");
    assert!(!reply.stderr.is_empty(), "{about}");
}

fn pre(tool: &str, input: &str) -> Vec<u8> {
    format!(
        r#"{{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/home/dev/shop","tool_name":"{tool}","tool_input":{input},"tool_use_id":"toolu_1"}}"#
    )
    .into_bytes()
}

#[test]
fn a_broken_input_is_denied_before_a_tool_call() {
    let mut cases: Vec<Vec<u8>> = [
        "",
        " \n",
        "{",
        "[]",
        "null",
        "42",
        "{not json",
        "{}",
        r#"{"hook_event_name":3}"#,
        r#"{"hook_event_name":"PreToolUse"}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/x"}}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":"Write","cwd":"relative","tool_input":{"file_path":"/x"}}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":"Write","cwd":"/a/../b","tool_input":{"file_path":"/x"}}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":"Write","cwd":"/a"}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":7,"cwd":"/a","tool_input":{}}"#,
        r#"{"hook_event_name":"PreToolUse","tool_name":"","cwd":"/a","tool_input":{}}"#,
        r#"{"hook_event_name":"PreToolUse","hook_event_name":"Stop","tool_name":"Write","cwd":"/a","tool_input":{}}"#,
        r#"{"hook_event_name":"Stop","tool_name":"Write","cwd":"/a","tool_input":{"file_path":"/x"}}"#,
        r#"{"hook_event_name":"PreToolNew","tool_name":"Write","cwd":"/a","tool_input":{"file_path":"/x"}}"#,
    ]
    .iter()
    .map(|s| s.as_bytes().to_vec())
    .collect();
    cases.push(b"{\"hook_event_name\":\"PreToolUse\xff\"}".to_vec());
    cases.push(vec![b'['; 100_000]);
    cases.extend([
        pre("Write", "{}"),
        pre("Write", "[]"),
        pre("Write", r#""x""#),
        pre("Write", r#"{"file_path":7}"#),
        pre("Write", r#"{"file_path":""}"#),
        pre("Write", r#"{"file_path":"/x\u0000y"}"#),
        pre("Write", r#"{"file_path":"/x\ud800"}"#),
        br#"{"hook_event_name":"PreToolUse","cwd":"/a\ud800","tool_name":"Write","tool_input":{"file_path":"/x"}}"#
            .to_vec(),
        pre("Write", r#"{"file_path":"~/x"}"#),
        pre("NotebookEdit", r#"{"notebook_path":"/a.ipynb","edit_mode":"shred"}"#),
        pre("Bash", "{}"),
        pre("Bash", r#"{"command":["rm"]}"#),
        pre("Write", &format!(r#"{{"file_path":"/{}"}}"#, "x".repeat(5000))),
    ]);
    for case in cases {
        assert_denied(&allowing("PreToolUse", &case), &String::from_utf8_lossy(&case[..case.len().min(200)]));
    }
}

#[test]
fn a_call_that_names_too_much_is_denied() {
    let many: Vec<String> = (0..5000).map(|i| format!("\"/f{i}\"")).collect();
    assert_denied(
        &allowing("PreToolUse", &pre("mcp__a__b", &format!("{{\"paths\":[{}]}}", many.join(",")))),
        "paths",
    );
    let long = format!("{{\"command\":\"{}\"}}", "a".repeat((1 << 20) + 1));
    assert_denied(&allowing("PreToolUse", &pre("Bash", &long)), "command");
}

#[test]
fn a_pre_tool_payload_is_denied_whatever_event_its_hook_is_registered_for() {
    // Somebody edits the settings so that the call is announced as a harmless event.
    for event in ["Stop", "SessionEnd", "PostToolUse", "UserPromptSubmit", "Nonsense", ""] {
        let reply = allowing(event, &pre("Write", r#"{"file_path":"/x"}"#));
        assert_eq!(reply.code, 2, "{event}");
    }
}

#[test]
fn events_that_cannot_block_end_well_and_say_what_failed() {
    for event in [
        "PostToolUse",
        "PostToolUseFailure",
        "SessionStart",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionEnd",
    ] {
        let reply = allowing(event, b"{not json");
        assert_eq!(reply.code, 0, "{event}");
        let output: serde_json::Value = serde_json::from_slice(&reply.stdout).unwrap();
        assert!(output["systemMessage"].as_str().unwrap().contains("not JSON"), "{event}");
        assert_eq!(output.as_object().unwrap().len(), 1, "{event}");
    }
}

#[test]
fn a_prompt_is_blocked_when_it_cannot_be_judged() {
    let reply = allowing("UserPromptSubmit", b"");
    assert_eq!(reply.code, 2);
    let output: serde_json::Value = serde_json::from_slice(&reply.stdout).unwrap();
    assert_eq!(output["decision"], "block");
    let prompt = br#"{"hook_event_name":"UserPromptSubmit","session_id":"s"}"#;
    let reply = through(
        "UserPromptSubmit",
        Ok(prompt.to_vec()),
        &Says::new(Ok(verdict(Effect::Deny, "INT-001 was completed"))),
    );
    assert_eq!((reply.code, reply.stderr.as_slice()), (2, &b"INT-001 was completed\n"[..]));
}

struct Panics;
impl Asker for Panics {
    fn ask(&self, _: &Request) -> Result<Answer, String> {
        panic!("the asker is broken")
    }
}

#[test]
fn a_session_that_fails_denies() {
    let input = pre("Write", r#"{"file_path":"/x"}"#);
    let answers: [Result<Answer, String>; 4] = [
        Err("nobody there".into()),
        Ok(Answer::Failed { why: "the ledger is full".into() }),
        Ok(Answer::Noted { context: None }),
        Ok(verdict(Effect::Deny, "")),
    ];
    for answer in answers {
        let about = format!("{answer:?}");
        assert_denied(&through("PreToolUse", Ok(input.clone()), &Says::new(answer)), &about);
    }
    assert_denied(&through("PreToolUse", Ok(input), &Panics), "panic");
    assert_denied(&through("PreToolUse", Err(Problem::Unread("closed".into())), &Panics), "stdin");
}

#[test]
fn no_time_and_a_panic_outside_are_denied() {
    let late = within(Duration::ZERO, || {
        std::thread::park();
        Reply::quiet()
    });
    let panicked = within(Duration::from_secs(60), || panic!("here"));
    let hook = Hook { host: Host::Claude, event: "PreToolUse" };
    for why in [late.unwrap_err(), panicked.unwrap_err()] {
        let asker = Says::new(Ok(Answer::Noted { context: None }));
        assert_denied(&unjudged(hook, &why, &asker), &why);
        assert_eq!(refusals(&asker), [(None, None, why.clone())]);
        assert_denied(&unjudged(hook, &why, &Panics), &why);
    }
    let reply = within(Duration::from_secs(60), Reply::quiet);
    assert_eq!(reply, Ok(Reply::quiet()));
}

/// What the session was told of refusals: tool, call, and why.
fn refusals(asker: &Says) -> Vec<(Option<String>, Option<String>, String)> {
    asker
        .asked()
        .into_iter()
        .filter_map(|request| match request {
            Request::Refused { tool, id, why, .. } => Some((tool, id.map(|id| id.to_string()), why)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_refusal_without_a_judgement_is_told_to_the_session_with_what_could_be_read() {
    let told = |event: &str, input: &[u8]| {
        let asker = Says::new(Ok(Answer::Noted { context: None }));
        let reply = through(event, Ok(input.to_vec()), &asker);
        assert!(!String::from_utf8_lossy(&reply.stderr).contains("not recorded"));
        refusals(&asker)
    };
    let known = (Some("Write".to_owned()), Some("toolu_1".to_owned()));
    for input in [pre("Write", "{}"), pre("Write", r#"{"file_path":7}"#), pre("Write", r#"{"file_path":""}"#)]
    {
        let told = told("PreToolUse", &input);
        assert_eq!(told.len(), 1);
        assert_eq!((&told[0].0, &told[0].1), (&known.0, &known.1));
        assert!(!told[0].2.is_empty());
    }
    assert_eq!(told("PreToolUse", b"{not json")[0].0, None);
    assert!(told("PreToolUse", b"{not json")[0].2.contains("not JSON"));
    assert_eq!(told("UserPromptSubmit", b"").len(), 1);
    for quiet in ["PostToolUse", "Stop"] {
        assert_eq!(told(quiet, b"{not json"), [], "{quiet} refuses nothing");
    }
    // A session that fails is asked to take note, and the agent is told when it does not.
    let asker = Says::new(Err("nobody there".into()));
    let reply = through("PreToolUse", Ok(pre("Write", r#"{"file_path":"/x"}"#)), &asker);
    assert_denied(&reply, "nobody there");
    assert_eq!(refusals(&asker), [(known.0, known.1, "nobody there".to_owned())]);
    assert!(String::from_utf8_lossy(&reply.stderr).ends_with("it is not recorded\n"));
}

#[test]
fn a_deeply_nested_or_huge_reason_stays_readable_and_safe() {
    let input = pre("Write", r#"{"file_path":"/x"}"#);
    let reason = format!("\u{1b}[31mred\u{7}{}", "x".repeat(50_000));
    let reply = through("PreToolUse", Ok(input), &Says::new(Ok(verdict(Effect::Deny, &reason))));
    assert_denied(&reply, "reason");
    assert!(reply.stderr.len() < 10_000 && !reply.stderr.contains(&0x1b));
}

#[test]
fn input_is_read_up_to_its_limit_and_drained_above() {
    let fits = read_input(std::io::repeat(b' ').take(32 << 20));
    assert_eq!(fits.unwrap().len(), 32 << 20);
    let mut over = std::io::repeat(b' ').take((32 << 20) + 100);
    assert_eq!(read_input(&mut over), Err(Problem::TooLong));
    assert_eq!(over.limit(), 0, "the rest was read");
}

#[test]
fn the_canary_asks_to_write_the_policy_and_only_our_denial_counts() {
    let input = canary(Host::Claude, &root()).unwrap();
    let asker = Says::new(Ok(verdict(Effect::Deny, "the policy is protected")));
    let reply = through("PreToolUse", Ok(input), &asker);
    assert!(is_denial(Host::Claude, &reply.stdout, reply.code));
    let Request::Call { call, .. } = &asker.asked()[0] else { panic!("not a call") };
    assert_eq!(call.efforts[0].path, root().join("remit.yaml").unwrap());
    assert!(call.efforts[0].verb.changes());

    let quiet = Reply::quiet();
    assert!(!is_denial(Host::Claude, &quiet.stdout, quiet.code), "silence allows");
    assert!(!is_denial(Host::Claude, b"error: unrecognized subcommand", 2), "a wrong command line");
    assert!(!is_denial(Host::Claude, &reply.stdout, 1), "exit 1 lets the call through");
    let allow = br#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"x"}}"#;
    assert!(!is_denial(Host::Claude, allow, 0));
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        ".{0,12}".prop_map(serde_json::Value::from),
        "(/|~|\\.\\./|a|\\$\\(|>|'|\"| ){0,12}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map("[a-z_]{1,9}|file_path|command|path", inner, 0..4)
                .prop_map(|m| serde_json::Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_for_any_event(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        event in "PreToolUse|UserPromptSubmit|Stop|SessionEnd|[A-Za-z]{0,12}",
    ) {
        let reply = allowing(&event, &bytes);
        prop_assert!(reply.code == 0 || reply.code == 2);
        // Random bytes are never a payload, so an event that can block is blocked.
        if matches!(event.as_str(), "PreToolUse" | "UserPromptSubmit") {
            prop_assert_eq!(reply.code, 2);
        }
    }

    #[test]
    fn any_payload_is_either_asked_about_or_denied(
        tool in "Write|Edit|Bash|Monitor|Glob|NotebookEdit|Agent|mcp__x__y|[A-Za-z_]{0,9}",
        cwd in any_json(),
        input in any_json(),
        id in any_json(),
        honest in any::<bool>(),
    ) {
        let cwd = if honest { serde_json::Value::from("/home/dev/shop") } else { cwd };
        let payload = serde_json::json!({
            "hook_event_name": "PreToolUse", "tool_name": tool, "cwd": cwd, "tool_input": input, "tool_use_id": id,
        });
        let asker = Says::new(Ok(verdict(Effect::Allow, "")));
        let reply = through("PreToolUse", Ok(payload.to_string().into_bytes()), &asker);
        if !asker.asked().iter().any(|request| matches!(request, Request::Call { .. })) {
            prop_assert!(is_denial(Host::Claude, &reply.stdout, reply.code));
            prop_assert_eq!(reply.code, 2);
        } else {
            prop_assert_eq!(reply, Reply::quiet());
        }
    }

    #[test]
    fn a_cut_input_is_denied(cut in 0usize..400) {
        let whole = pre("Write", r#"{"file_path":"/home/dev/shop/x","content":"abc"}"#);
        if cut < whole.len() {
            prop_assert_eq!(allowing("PreToolUse", &whole[..cut]).code, 2);
        }
    }
}
