//! What is said about each kind of mistake, where, and which way out is named.
#![cfg(test)]

use std::fmt::Write;

/// The findings as plain text.
fn said(text: &str) -> String {
    said_of(text.as_bytes())
}

fn said_of(text: &[u8]) -> String {
    let Err(findings) = remit_config::load("remit.yaml", text) else { return "loaded".to_owned() };
    let mut out = String::new();
    for finding in findings {
        let place = &finding.place;
        writeln!(out, "{}..{} {}: {}", place, place.width, finding.code, finding.message).unwrap();
        for (place, what) in &finding.related {
            writeln!(out, "    {place} {what}").unwrap();
        }
        if let Some(help) = &finding.help {
            writeln!(out, "    {help}").unwrap();
        }
    }
    out
}

#[test]
fn bytes_that_are_no_text_a_person_can_see() {
    let mut all = String::new();
    for bytes in [
        &b"version: \"1.0\"\n# caf\xe9\n"[..],
        b"\xff\xfev\0e\0",
        b"version: \"1.0\"\nroot:\0 host\n",
        b"version: \"1.0\"\n# \x1b[2K\n",
        b"version: \"1.0\"\r# overwritten\n",
        "\u{feff}version: \"1.0\"\u{202e}\n".as_bytes(),
        "version: \"1.0\"\nag\u{feff}ents: {}\n".as_bytes(),
    ] {
        all.push_str(&said_of(bytes));
    }
    insta::assert_snapshot!(all, @r#"
    remit.yaml:2:6..1 not-utf8: the byte `\xe9` is not UTF-8
        save the file as UTF-8
    remit.yaml:1:1..1 not-utf8: the byte `\xff` is not UTF-8
        save the file as UTF-8
    remit.yaml:2:6..1 hidden-character: the character U+0000 cannot be seen and may not stand here
        remove it, or write it as an escape in double quotes
    remit.yaml:2:3..1 hidden-character: the character U+001B cannot be seen and may not stand here
        remove it, or write it as an escape in double quotes
    remit.yaml:1:15..1 hidden-character: the character U+000D cannot be seen and may not stand here
        remove it, or write it as an escape in double quotes
    remit.yaml:1:16..1 hidden-character: the character U+202E cannot be seen and may not stand here
        remove it, or write it as an escape in double quotes
    remit.yaml:2:3..1 hidden-character: the character U+FEFF cannot be seen and may not stand here
        remove it, or write it as an escape in double quotes
    "#);
}

#[test]
fn what_is_no_yaml_is_placed() {
    let text = r#"version: "1.0"
agents: {a: [}
"#;
    insta::assert_snapshot!(said(text), @"remit.yaml:2:13..1 yaml: not YAML: mismatched bracket '[' closed by '}'");
}

#[test]
fn a_quote_that_is_never_closed() {
    let text = r#"version: "1.0
"#;
    insta::assert_snapshot!(said(text), @"remit.yaml:1:10..1 yaml: this quote is never closed");
}

#[test]
fn a_tab_as_indentation() {
    let text = r#"version: "1.0"
agents:
	a: {}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:3:1..1 tab: a tab where YAML wants spaces
        indent with spaces
    ");
}

#[test]
fn an_empty_file() {
    let text = r#"# nothing
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml..1 empty: the file says nothing
        remove it, and `remit init` writes one to begin with
    ");
}

#[test]
fn a_list_instead_of_a_policy() {
    let text = r#"- version
"#;
    insta::assert_snapshot!(said(text), @"remit.yaml:1:1..1 wrong-kind: a policy is a mapping, and here stands a list");
}

#[test]
fn no_version_and_no_agents() {
    let text = r#"root: host
"#;
    insta::assert_snapshot!(said(text), @r#"
    remit.yaml:1:1..1 missing-key: a policy has no `version`, and needs one
        write `version: "1.0"`
    "#);
}

#[test]
fn another_version() {
    let text = r#"version: 2
"#;
    insta::assert_snapshot!(said(text), @r#"
    remit.yaml:1:10..1 unknown-version: the version `2` is not known
        write `version: "1.0"`
    "#);
}

#[test]
fn unknown_keys_at_every_level_in_one_go() {
    let text = r#"version: "1.0"
global_rule: []
roles: {dev: {permission: []}}
agents:
  a:
    permisions: []
    requests: [{path: x, acces: read}]
    capabilities: {require: []}
audit: {logfile: x}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:1..11 unknown-key: a policy has no key `global_rule`
        did you mean `global_rules`? known here: `version`, `root`, `default_policy`, `allow_insecure_default`, `base`, `intents`, `sandbox`, `scratch`, `global_rules`, `roles`, `agents`, `agent_permissions`, `approvals`, `audit`, `tests`
    remit.yaml:3:15..10 unknown-key: `roles.dev` has no key `permission`
        did you mean `permissions`? known here: `extends`, `permissions`, `tools`, `verbs`
    remit.yaml:6:5..10 unknown-key: `agents.a` has no key `permisions`
        did you mean `permissions`? known here: `cli`, `roles`, `base_workspace`, `permissions`, `requests`, `capabilities`, `network`, `max_access`, `system_message`, `tools`, `verbs`, `git`, `limits`
    remit.yaml:7:26..5 unknown-key: `agents.a.requests[0]` has no key `acces`
        did you mean `access`? known here: `path`, `access`, `answer`
    remit.yaml:8:20..7 unknown-key: `agents.a.capabilities` has no key `require`
        did you mean `requires`? known here: `requires`, `provides`
    remit.yaml:9:9..7 unknown-key: `audit` has no key `logfile`
        did you mean `log_file`? known here: `log_access_attempts`, `log_file`, `alert_on_violation`, `alert`
    ");
}

#[test]
fn merge_keys() {
    let text = r#"version: "1.0"
agents:
  a: &a {permissions: []}
  b: {<<: *a}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:4:7..2 unknown-key: `agents.b` has no key `<<`
        merge keys are no part of YAML 1.2: write the keys out
    ");
}

#[test]
fn repeated_keys() {
    let text = r#"version: "1.0"
root: host
root: workspace
agents: {a: {}, "a": {}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:3:1..4 repeated-key: the key `root` stands here twice
        remit.yaml:2:1 it stands here first
        keep one of the two
    remit.yaml:4:17..3 repeated-key: the key `a` stands here twice
        remit.yaml:4:10 it stands here first
        keep one of the two
    ");
}

#[test]
fn a_repeated_agent_in_the_list_and_in_agent_permissions() {
    let text = r#"version: "1.0"
agents:
  - {id: a}
  - {id: a}
agent_permissions:
  a: {}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:4:10..1 repeated-agent: the agent `a` stands here again
        remit.yaml:3:10 it stands here first
        put all that it may do in one place
    remit.yaml:6:3..1 repeated-agent: the agent `a` stands here again
        remit.yaml:3:10 it stands here first
        put all that it may do in one place
    ");
}

#[test]
fn names_that_are_none() {
    let text = r#"version: "1.0"
agents: {all: {}, "a b": {}, "": {}}
roles: {"x/y": {}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:10..3 reserved-name: `all` means everybody and cannot be a name
    remit.yaml:2:19..5 bad-name: `a b` is no name: ` ` cannot stand in a name (letters, digits, - _ . : @ can)
    remit.yaml:2:30..2 bad-name: `` is no name: a name cannot be empty
    remit.yaml:3:9..5 bad-name: `x/y` is no name: `/` cannot stand in a name (letters, digits, - _ . : @ can)
    ");
}

#[test]
fn unknown_access_words() {
    let text = r#"version: "1.0"
agents:
  a:
    permissions:
      src: read_write
      docs: [read, wirte]
      out: ~
      tmp: [none, read]
      doc: []
      bin: {read: true}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:5:12..10 unknown-access: `read_write` is no word for access
        did you mean `read-write`? known here: `none`, `read`, `read-only`, `write`, `read-write`, `execute`, `all`
    remit.yaml:6:20..5 unknown-access: `wirte` is no word for access
        did you mean `write`? known here: `none`, `read`, `read-only`, `write`, `read-write`, `execute`, `all`
    remit.yaml:7:12..1 wrong-kind: access is a word or a list of words, and here stands nothing
        no access at all is the word `none`
    remit.yaml:8:13..4 none-with-others: `none` is absolute and stands alone
    remit.yaml:9:12..1 empty-list: the list of access words is empty
        no access at all is the word `none`
    remit.yaml:10:12..1 wrong-kind: access is a word or a list of words, and here stands a mapping
        no access at all is the word `none`
    ");
}

#[test]
fn unknown_words_verbs_and_effects() {
    let text = r#"version: "1.0"
root: hots
base: minimum
intents: no
sandbox: true
default_policy: deyn
agents: {a: {requests: [{path: x, access: read, answer: maybe}]}}
approvals: [{verb: remove, path: x}]
tests: [{agent: a, verb: connect, path: x, expect: yes}]
audit: {log_access_attempts: denid, alert_on_violation: "true"}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:7..4 unknown-word: `root` cannot be `hots`
        did you mean `host`? known here: `host`, `workspace`
    remit.yaml:3:7..7 unknown-word: `base` cannot be `minimum`
        did you mean `minimal`? known here: `standard`, `minimal`, `none`
    remit.yaml:4:10..2 unknown-word: `intents` cannot be `no`
        known here: `off`, `advise`, `require`
    remit.yaml:5:10..4 unknown-word: `sandbox` cannot be `true`
        known here: `enforce`, `advisory`
    remit.yaml:6:17..4 unknown-word: `default_policy` cannot be `deyn`
        did you mean `deny`? known here: `allow`, `ask`, `deny`
    remit.yaml:7:57..5 unknown-word: `agents.a.requests[0].answer` cannot be `maybe`
        known here: `ask`, `once`, `never`
    remit.yaml:8:20..6 unknown-word: `approvals[0].verb` cannot be `remove`
        known here: `read`, `write`, `create`, `delete`, `rename`, `execute`
    remit.yaml:9:26..7 unknown-word: `tests[0].verb` cannot be `connect`
        known here: `read`, `write`, `create`, `delete`, `rename`, `execute`
    remit.yaml:9:52..3 unknown-word: `tests[0].expect` cannot be `yes`
        known here: `allow`, `ask`, `deny`
    remit.yaml:10:30..5 unknown-word: `audit.log_access_attempts` cannot be `denid`
        did you mean `denied`? known here: `all`, `denied`, `none`, `true`, `false`
    remit.yaml:10:57..6 not-a-flag: `audit.alert_on_violation` is `true` or `false`, and here stands the text `true`
        write `true` or `false`, without quotes
    ");
}

#[test]
fn names_that_nobody_defined() {
    let text = r#"version: "1.0"
global_rules: [{path: x, access: none, for: [frontent, nobody]}]
roles: {developer: {extends: [develper]}}
agents: {frontend: {roles: [devloper]}}
tests: [{agent: fronted, verb: read, path: x, expect: allow}]
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:46..8 unknown-name: there is no agent or role `frontent`
        did you mean `frontend`? known here: `all`, `frontend`, `developer`
    remit.yaml:2:56..6 unknown-name: there is no agent or role `nobody`
        known here: `all`, `frontend`, `developer`
    remit.yaml:3:31..8 unknown-name: there is no role `develper`
        did you mean `developer`? known here: `developer`
    remit.yaml:4:29..8 unknown-name: there is no role `devloper`
        did you mean `developer`? known here: `developer`
    remit.yaml:5:17..7 unknown-name: there is no agent `fronted`
        did you mean `frontend`? known here: `frontend`
    ");
}

#[test]
fn a_name_of_an_agent_and_a_role() {
    let text = r#"version: "1.0"
global_rules: [{path: x, access: none, for: a}]
roles: {a: {}}
agents: {a: {}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:45..1 ambiguous-name: `a` is an agent and a role, and `global_rules[0]` could mean either
        rename one of the two
    ");
}

#[test]
fn for_nobody_and_for_all_and_one() {
    let text = r#"version: "1.0"
global_rules:
  - {path: x, access: none, for: []}
  - {path: y, access: none, for: [all, a]}
agents: {a: {}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:3:34..1 empty-list: `global_rules[0].for` names nobody
        write `all`, or the names of agents and roles
    remit.yaml:4:35..3 all-with-others: `all` stands alone, not in a list
        write `for: all`
    ");
}

#[test]
fn missing_keys() {
    let text = r#"version: "1.0"
global_rules: [{for: all}]
agents: [{cli: x}]
approvals: [{}]
tests: [{}]
audit: {alert: {}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:16..1 missing-key: `global_rules[0]` has no `path`, and needs one
    remit.yaml:2:16..1 missing-key: `global_rules[0]` has no `access`, and needs one
    remit.yaml:3:10..1 missing-key: `agents[0]` has no `id`, and needs one
    remit.yaml:4:13..1 missing-key: `approvals[0]` has no `verb`, and needs one
    remit.yaml:4:13..1 missing-key: `approvals[0]` has no `path`, and needs one
    remit.yaml:5:9..1 missing-key: `tests[0]` has no `agent`, and needs one
    remit.yaml:5:9..1 missing-key: `tests[0]` has no `verb`, and needs one
    remit.yaml:5:9..1 missing-key: `tests[0]` has no `path`, and needs one
    remit.yaml:5:9..1 missing-key: `tests[0]` has no `expect`, and needs one
    remit.yaml:6:16..1 missing-key: `audit.alert` has no `command`, and needs one
    ");
}

#[test]
fn kinds_that_do_not_fit() {
    let text = r#"version: "1.0"
global_rules: {x: none}
roles: [a]
agents:
  a:
    cli: {x: y}
    permissions: read
    base_workspace: []
    system_message:
  b:
  c: {cli: []}
tests:
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:15..1 wrong-kind: `global_rules` is a list, and here stands a mapping
    remit.yaml:3:8..1 wrong-kind: `roles` is a mapping, and here stands a list
    remit.yaml:6:10..1 wrong-kind: `agents.a.cli` is a name or a list of words, and here stands a mapping
    remit.yaml:7:18..4 wrong-kind: `agents.a.permissions` is a list, and here stands text
    remit.yaml:8:21..1 wrong-kind: `agents.a.base_workspace` is text, and here stands a list
    remit.yaml:9:19..1 wrong-kind: `agents.a.system_message` is text, and here stands nothing
        write a value (a text `null` or `~` stands in quotes), or remove the key
    remit.yaml:10:4..1 wrong-kind: `agents.b` is a mapping, and here stands nothing
        write `{}` for an empty one, or remove the key
    remit.yaml:11:12..1 empty-list: `agents.c.cli` names no program
    remit.yaml:12:6..1 wrong-kind: `tests` is a list, and here stands nothing
        write `[]` for an empty one, or remove the key
    ");
}

#[test]
fn a_default_that_opens_everything() {
    let text = r#"version: "1.0"
default_policy: allow
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:17..5 insecure-default: `default_policy: allow` opens every path that no rule covers
        write `default_policy: deny`, or confirm with `allow_insecure_default: true`
    ");
}

#[test]
fn empty_paths() {
    let text = r#"version: "1.0"
global_rules: [{path: "", access: none}]
agents: {a: {permissions: {" ": read}}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:23..2 empty-text: `global_rules[0].path` is empty
    remit.yaml:3:28..3 empty-text: `agents.a.permissions` has an empty path
    ");
}

#[test]
fn a_second_document() {
    let text = r#"version: "1.0"
---
version: "1.0"
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:1..3 several-documents: a second document begins here
        a policy is one document: remove the `---` line, or what follows it
    ");
}

#[test]
fn a_directive() {
    let text = r#"%YAML 1.1
---
version: "1.0"
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:1:1..1 directive: a `%` directive has no meaning in a policy
        remove the line
    ");
}

#[test]
fn tags() {
    let text = r#"version: !!float "1.0"
agents: !x {a: {}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:1:10..7 tag: the tag `!!float` has no meaning in a policy
        remove it
    remit.yaml:2:9..2 tag: the tag `!x` has no meaning in a policy
        remove it
    ");
}

#[test]
fn an_alias_without_anchor() {
    let text = r#"version: "1.0"
agents: {a: {permissions: {*.md: read}}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:28..1 unknown-alias: no anchor of this name stands before it
        a pattern that begins with `*` stands in quotes
    ");
}

#[test]
fn an_alias_within_itself() {
    let text = r#"version: "1.0"
agents: &a {a: *a}
"#;
    insta::assert_snapshot!(said(text), @"remit.yaml:2:16..2 alias-in-itself: this alias stands inside what it names");
}

#[test]
fn a_key_that_is_a_list() {
    let text = r#"version: "1.0"
agents: {[a]: {}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:10..1 key: a key is text, and this is a list
        put it in quotes if it is meant as text
    ");
}

#[test]
fn keys_of_later_versions_are_not_known_yet_and_not_taken_for_others() {
    let text = r#"version: "1.0"
team: {lead: a}
notify: [mail]
protocol: {}
isolation: {mode: on}
agents:
  a: {workspace: worktree, isolation: {mode: on}}
"#;
    insta::assert_snapshot!(said(text), @"
    remit.yaml:2:1..4 unknown-key: a policy has no key `team`
        this version does not know it yet, so nothing would hold it: remove it
    remit.yaml:3:1..6 unknown-key: a policy has no key `notify`
        this version does not know it yet, so nothing would hold it: remove it
    remit.yaml:4:1..8 unknown-key: a policy has no key `protocol`
        this version does not know it yet, so nothing would hold it: remove it
    remit.yaml:5:1..9 unknown-key: a policy has no key `isolation`
        this version does not know it yet, so nothing would hold it: remove it
    remit.yaml:7:7..9 unknown-key: `agents.a` has no key `workspace`
        this version does not know it yet, so nothing would hold it: remove it
    remit.yaml:7:28..9 unknown-key: `agents.a` has no key `isolation`
        this version does not know it yet, so nothing would hold it: remove it
    ");
}

#[test]
fn modes_and_limits_that_would_take_nothing_away() {
    let text = r#"version: "1.0"
roles:
  r: {tools: {deny: ["Bash(rm *)"], allow: []}, verbs: {deny: [read, remove]}}
agents:
  a:
    git: read
    limits: {memory: 512, processes: 0, cpu: 1.234}
"#;
    insta::assert_snapshot!(said(text), @r#"
    remit.yaml:3:22..12 bad-tool: `Bash(rm *)` is no name of a tool
        write the name alone, such as `WebFetch` or `mcp__server__*`; what a tool does with files, `permissions` say
    remit.yaml:3:44..1 empty-list: `roles.r.tools.allow` names no tool
        to take away every tool: `deny: ["*"]`
    remit.yaml:3:64..4 unknown-word: `roles.r.verbs.deny` cannot be `read`
        known here: `write`, `create`, `delete`, `rename`
    remit.yaml:3:70..6 unknown-word: `roles.r.verbs.deny` cannot be `remove`
        known here: `write`, `create`, `delete`, `rename`
    remit.yaml:6:10..4 unknown-word: `agents.a.git` cannot be `read`
        known here: `none`
    remit.yaml:7:22..3 bad-limit: `agents.a.limits.memory` cannot be `512`
        write a number with a unit, such as `512MiB` or `2GiB`
    remit.yaml:7:38..1 bad-limit: `agents.a.limits.processes` cannot be `0`
        write a number from 1, such as `256`
    remit.yaml:7:46..5 bad-limit: `agents.a.limits.cpu` cannot be `1.234`
        write a number of cores, such as `1.5`
    "#);
}

#[test]
fn records_are_written_to_a_file_of_the_workspace_only() {
    let code = |file: &str| {
        let text = format!("version: \"1.0\"\naudit: {{log_file: {file:?}}}\nagents: {{}}\n");
        remit_config::load("remit.yaml", text.as_bytes()).err().map(|found| found[0].code)
    };
    for file in ["audit.jsonl", "./audit.log", "logs/audit.log"] {
        assert_eq!(code(file), None, "{file}");
    }
    for file in
        ["/var/log/x", "../x", "~/x", "a/../../x", ".git/x", "a/.GIT/config", "logs/", ".", "./", "a//b"]
    {
        assert_eq!(code(file), Some("log-file"), "{file}");
    }
}
