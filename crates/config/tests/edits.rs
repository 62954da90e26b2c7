//! Edits of a policy's text: they say what is meant, and leave all else byte for byte.

use proptest::prelude::*;
use remit_config::edit::{Edit, EditError, add_agent, add_rule, set_key};
use remit_config::fix::fixes;
use remit_policy::Access;
use std::path::Path;

fn done(text: &str, edit: Result<Edit, EditError>) -> String {
    edit.map_or_else(|error| error.to_string(), |edit| edit.apply(text).unwrap_or_default())
}

fn rule(text: &str) -> String {
    done(text, add_rule(text, "a", "src/**", Access::READ))
}

#[test]
fn a_rule_goes_to_the_end_of_the_list_in_the_lists_own_style() {
    let head = "version: \"1.0\"\nagents:\n";
    for (before, after) in [
        // A block list, with a comment behind its last rule, and without a line end at the end.
        (
            "  a:\n    permissions: # x\n    - {path: b, access: read} # y",
            "  a:\n    permissions: # x\n    - {path: b, access: read} # y\n    - {path: \"src/**\", access: read}",
        ),
        (
            "  a:\n    permissions:\n        - path: b\n          access: read\n\n# end\n",
            "  a:\n    permissions:\n        - path: b\n          access: read\n        - {path: \"src/**\", access: read}\n\n# end\n",
        ),
        // Pairs.
        (
            "  a:\n     permissions:\n       'b': read # y\n",
            "  a:\n     permissions:\n       'b': read # y\n       \"src/**\": read\n",
        ),
        // Flow.
        (
            "  a: {permissions: [{path: b, access: read}]} # z\n",
            "  a: {permissions: [{path: b, access: read}, {path: \"src/**\", access: read}]} # z\n",
        ),
        ("  a: {permissions: []}\n", "  a: {permissions: [{path: \"src/**\", access: read}]}\n"),
        (
            "  a:\n    permissions: [\n      {path: b, access: read}\n    ]\n",
            "  a:\n    permissions: [\n      {path: b, access: read},\n      {path: \"src/**\", access: read}\n    ]\n",
        ),
        // No list yet.
        ("  a: {}\n", "  a: {permissions: [{path: \"src/**\", access: read}]}\n"),
        (
            "  a:\n    git: none # g\n",
            "  a:\n    git: none # g\n    permissions:\n      - {path: \"src/**\", access: read}\n",
        ),
        ("  - id: a # i\n", "  - id: a # i\n    permissions:\n      - {path: \"src/**\", access: read}\n"),
    ] {
        assert_eq!(rule(&format!("{head}{before}")), format!("{head}{after}"));
    }
}

#[test]
fn json_stays_json() {
    let text = r#"{"version": "1.0", "agents": {"a": {"permissions": [{"path": "b", "access": "read"}]}}}"#;
    assert_eq!(
        done(text, add_rule(text, "a", "src", Access::word("read-write").unwrap())),
        text.replace(r#""read"}"#, r#""read"}, {"path": "src", "access": "read-write"}"#)
    );
    let with = done(text, add_agent(text, "b"));
    assert_eq!(with, text.replace("]}}}", "]}, \"b\": {}}}"));
    assert_eq!(
        set_key(text, "root", "workspace").unwrap().apply(text).unwrap(),
        text.replace("\"1.0\"", "\"1.0\", \"root\": \"workspace\"")
    );
}

#[test]
fn an_agent_and_a_key_are_added_and_what_is_not_certain_is_refused() {
    let text = "# c\nversion: '1.0' # v\nagents:\n  a: {} # a\n";
    assert_eq!(done(text, add_agent(text, "b")), format!("{text}  b: {{}}\n"));
    assert_eq!(
        set_key(text, "root", "host").unwrap().apply(text).unwrap(),
        "# c\nversion: '1.0' # v\nroot: host\nagents:\n  a: {} # a\n"
    );
    assert_eq!(done(text, add_agent(text, "a")), "there is an agent `a` already");
    assert_eq!(done(text, add_rule(text, "b", "x", Access::READ)), "there is no agent `b`");
    // The list belongs to both.
    let shared =
        "version: '1.0'\nagents:\n  b: {permissions: &p [{path: x, access: read}]}\n  a: {permissions: *p}\n";
    assert!(rule(shared).contains("without a risk"), "{}", rule(shared));
}

/// A file with comments on every line, a slip here and there, and what would mend them.
fn slipped() -> impl Strategy<Value = (String, String)> {
    let line = (0..6_usize, "[a-z]{1,6}", "[ -~&&[^#]]{0,12}", any::<bool>());
    (prop::collection::vec(line, 1..12), any::<bool>()).prop_map(|(lines, crlf)| {
        let mut texts = [String::new(), String::new()];
        for (good, text) in texts.iter_mut().enumerate() {
            text.push_str("version: \"1.0\" # v\nagents:\n  a: # one\n");
            text.push_str(["    permisions: # all\n", "    permissions: # all\n"][good]);
            for (kind, path, comment, block) in &lines {
                let access = [
                    ["read", "read"],
                    ["read_write", "read-write"],
                    ["'rread'", "'read'"],
                    ["\"wriet\"", "\"write\""],
                    ["[read, exceute]", "[read, execute]"],
                    ["none", "none"],
                ][*kind][good];
                if *block {
                    text.push_str(&format!(
                        "      - path: '{path}' #{comment}\n        access: {access}   # {comment}\n"
                    ));
                } else {
                    text.push_str(&format!("      - {{access: {access}, path: \"{path}\"}} # {comment}\n"));
                }
            }
        }
        let [bad, good] = texts;
        if crlf { (bad.replace('\n', "\r\n"), good.replace('\n', "\r\n")) } else { (bad, good) }
    })
}

fn fixed(mut text: String) -> String {
    for _ in 0..100 {
        let here = Path::new("/nonexistent");
        let Some(fix) = fixes("remit.yaml", &text, &[], here, here).into_iter().next() else { return text };
        text = fix.edit.apply(&text).unwrap_or_default();
    }
    format!("no end: {text}")
}

proptest! {
    #[test]
    fn slips_are_mended_and_every_other_byte_stays((bad, good) in slipped()) {
        prop_assert_eq!(fixed(bad), good.clone());
        prop_assert_eq!(fixed(good.clone()), good);
    }

    #[test]
    fn a_rule_is_added_and_nothing_else_changes((_, text) in slipped(), path in "[a-z*/]{1,8}") {
        if let Ok(edit) = add_rule(&text, "a", &path, Access::READ) {
            prop_assert!(edit.range.is_empty());
            let after = edit.apply(&text).unwrap();
            let before = remit_config::load("", text.as_bytes()).unwrap();
            let after = remit_config::load("", after.as_bytes()).unwrap();
            prop_assert_eq!(before.agents["a"].permissions.len() + 1, after.agents["a"].permissions.len());
        }
    }
}
