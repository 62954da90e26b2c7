//! Every spelling of a policy means the same values, each with its place.
#![cfg(test)]

use remit_core::{Effect, Place, Verb};
use remit_policy::source::{AskMode, Base, Cli, For, Git, Intents, Limits, LogAccess, Root, Sandbox};
use remit_policy::{Access, PolicySource};

fn load(text: &str) -> PolicySource {
    remit_config::load("remit.yaml", text.as_bytes()).unwrap_or_else(|findings| panic!("{findings:#?}"))
}

fn rules(source: &PolicySource, agent: &str) -> Vec<(String, Access, String)> {
    let rules = &source.agents[agent].permissions;
    rules.iter().map(|r| (r.path.value.clone(), r.access.value, r.id.to_string())).collect()
}

fn place(line: u32, column: u32, width: u32) -> Place {
    Place { file: "remit.yaml".into(), line, column, width }
}

#[test]
fn the_whole_language() {
    let source = load(include_str!("whole.yaml"));
    assert_eq!(source.root.unwrap().value, Root::Host);
    assert_eq!(source.default_policy.unwrap().value, Effect::Ask);
    assert!(source.allow_insecure_default);
    assert_eq!(
        (source.base, source.intents.value, source.sandbox),
        (Base::Minimal, Intents::Require, Sandbox::Advisory)
    );
    assert_eq!(source.global_rules[0].1, For::All);
    let For::These(names) = &source.global_rules[1].1 else { panic!("{:?}", source.global_rules) };
    assert_eq!(names.iter().map(|n| n.value.as_str()).collect::<Vec<_>>(), ["frontend", "developer"]);
    assert_eq!(&*source.global_rules[1].0.id, "global_rules[1]");
    let role = &source.roles["developer"];
    assert_eq!(role.extends[0].value, "base");
    assert_eq!(&*role.permissions[0].id, "roles.developer.permissions[0]");
    assert_eq!(role.deny_tools[0].value, "WebFetch");
    let agent = &source.agents["frontend"];
    assert!(matches!(&agent.cli, Some(Cli::Adapter(name)) if name.value == "claude"));
    assert_eq!(agent.base_workspace.as_ref().unwrap().value, ".");
    assert_eq!(agent.permissions[1].access.value, Access::READ.union(Access::EXECUTE));
    assert_eq!(agent.requests[0].answer, AskMode::Ask);
    assert_eq!(agent.requests[1].answer, AskMode::Once);
    assert_eq!(&*agent.requests[1].rule.id, "agents.frontend.requests[1]");
    assert_eq!(agent.requires[0].text, "the API contract");
    assert_eq!(&*agent.requires[0].rule.id, "agents.frontend.capabilities.requires[0]");
    assert_eq!(agent.provides[0].text, "the built page");
    assert_eq!(agent.network[0].value, "api.anthropic.com:443");
    assert_eq!(agent.max_access.as_ref().unwrap().value, Access::ALL);
    assert_eq!(agent.system_message.as_deref(), Some("Focus on components.\nAsk when in doubt.\n"));
    assert_eq!(agent.deny_tools[0].value, "WebSearch");
    assert_eq!(agent.allow_tools[1].value, "mcp__docs__*");
    assert_eq!((agent.deny_verbs[0].value, role.deny_verbs[1].value), (Verb::Write, Verb::Rename));
    assert_eq!(agent.git.as_ref().unwrap().value, Git::None);
    let limits = Limits { memory: Some(2 << 30), processes: Some(64), cpu: Some(150) };
    assert_eq!(agent.limits.as_ref().unwrap().value, limits);
    assert_eq!(
        source.scratch.iter().map(|path| path.value.as_str()).collect::<Vec<_>>(),
        ["gen", "**/*.log"]
    );
    let Some(Cli::Command(words)) = &source.agents["own"].cli else { panic!("{:?}", source.agents) };
    assert_eq!(words.iter().map(|w| w.value.as_str()).collect::<Vec<_>>(), ["./my-agent", "--flag", ""]);
    assert_eq!((source.approvals[0].verb.value, &*source.approvals[0].id), (Verb::Delete, "approvals[0]"));
    assert_eq!(source.audit.value.log_access_attempts, LogAccess::All);
    assert_eq!(source.audit.value.log_file.as_ref().unwrap().value, "access.log");
    assert!(source.audit.value.alert_on_violation);
    assert_eq!(source.audit.value.alert_command[1].value, "Remit");
    assert_eq!((source.tests[0].verb.value, source.tests[0].expect.value), (Verb::Write, Effect::Allow));
}

#[test]
fn what_is_not_said_has_the_defaults() {
    let source = load("version: \"1.0\"\n");
    assert_eq!((source.root, source.default_policy), (None, None));
    assert_eq!(
        (source.base, source.intents.value, source.sandbox),
        (Base::Standard, Intents::Off, Sandbox::Enforce)
    );
    assert_eq!(source.audit.value.log_access_attempts, LogAccess::Denied);
    assert!(!source.allow_insecure_default && source.agents.is_empty() && source.tests.is_empty());
}

#[test]
fn agents_as_a_list_with_system_messages() {
    let source = load(
        r#"version: "1.0"
agents:
  - id: "frontend-developer"
    system_message: "Work on frontend code in /frontend. DO NOT access /backend or /database directories."

  - id: "backend-developer"
    system_message: "Work on backend code in /backend."
"#,
    );
    assert_eq!(source.agents.keys().collect::<Vec<_>>(), ["backend-developer", "frontend-developer"]);
    assert!(source.agents["backend-developer"].system_message.as_ref().unwrap().ends_with("/backend."));
    assert_eq!(source.agents["frontend-developer"].place, place(3, 9, 20));
}

#[test]
fn permissions_as_pairs() {
    let source = load(
        r#"version: "1.0"
agents:
  - id: "frontend-developer"
    permissions:
      /frontend: read-write
      /backend: none
      /database: none

  - id: "backend-developer"
    permissions:
      /backend: read-write
      /frontend: read-only
      /database: read-only
"#,
    );
    let rw = Access::READ.union(Access::WRITE);
    assert_eq!(
        rules(&source, "frontend-developer"),
        [
            ("/frontend".to_owned(), rw, "agents.frontend-developer.permissions[0]".to_owned()),
            ("/backend".to_owned(), Access::NONE, "agents.frontend-developer.permissions[1]".to_owned()),
            ("/database".to_owned(), Access::NONE, "agents.frontend-developer.permissions[2]".to_owned()),
        ]
    );
    assert_eq!(rules(&source, "backend-developer")[1].1, Access::READ);
    let rule = &source.agents["frontend-developer"].permissions[1];
    assert_eq!((&rule.path.place, &rule.access.place), (&place(6, 7, 8), &place(6, 17, 4)));
}

#[test]
fn capabilities_of_an_agent_in_a_mapping() {
    let source = load(
        r#"version: "1.0"
agents:
  claude-code:
    capabilities:
      requires:
        - path: "/shared/configs"
          access: "read"
          reason: "Need to read shared configuration files"
      provides:
        - path: "/claude-output"
          access: "read"
          description: "Analysis results available for other agents"
"#,
    );
    let agent = &source.agents["claude-code"];
    assert_eq!(agent.requires[0].rule.path.value, "/shared/configs");
    assert_eq!(agent.requires[0].text, "Need to read shared configuration files");
    assert_eq!(agent.provides[0].text, "Analysis results available for other agents");
}

#[test]
fn a_policy_of_massgen() {
    let source = load(include_str!("massgen.yaml"));
    assert_eq!(source.default_policy.as_ref().unwrap().value, Effect::Deny);
    assert_eq!(source.global_rules.len(), 2);
    assert_eq!(source.agents["claude-code"].base_workspace.as_ref().unwrap().value, "/workspace/claude");
    assert_eq!(&*source.agents["gpt-analysis"].permissions[2].id, "agents.gpt-analysis.permissions[2]");
    assert_eq!(source.audit.value.log_access_attempts, LogAccess::All);
    assert_eq!(source.audit.value.log_file.as_ref().unwrap().value, "massgen_access.log");
    assert!(source.audit.value.alert_on_violation);
}

#[test]
fn json_with_tabs_and_surrogate_pairs() {
    let source = load(
        "{\n\t\"version\": \"1.0\",\n\t\"agents\": {\n\t\t\"a\": {\"permissions\": [{\"path\": \"m\\u00fc\\ud834\\udd1e\\/x\", \"access\": [\"read\", \"write\"]}]}\n\t}\n}",
    );
    assert_eq!(rules(&source, "a")[0].0, "mü𝄞/x");
    assert_eq!(source.agents["a"].permissions[0].path.place, place(4, 34, 24));
}

#[test]
fn a_byte_order_mark_and_windows_line_ends() {
    let source =
        load("\u{feff}version: \"1.0\"\r\nagents:\r\n  a:\r\n    permissions:\r\n      src: read\r\n");
    assert_eq!(source.agents["a"].permissions[0].path.place, place(5, 7, 3));
}

#[test]
fn plain_text_keeps_its_spelling() {
    let source = load(
        "version: 1.0\nagents:\n  a:\n    permissions: {007: read, 1.0: read, true: read, 0x1F: read, yes: read}\n",
    );
    let paths: Vec<String> = rules(&source, "a").into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["007", "1.0", "true", "0x1F", "yes"]);
}

#[test]
fn anchors_stand_for_what_they_name() {
    let source = load(
        "version: \"1.0\"\nagents:\n  a: {permissions: &p [{path: src, access: read}]}\n  b: {permissions: *p}\n",
    );
    assert_eq!(rules(&source, "b")[0].2, "agents.b.permissions[0]");
    assert_eq!(source.agents["b"].permissions[0].path.place, place(3, 31, 3));
}

#[test]
fn one_word_or_a_list_of_words() {
    let source = load(
        "version: \"1.0\"\nglobal_rules:\n  - {path: a, access: [read], for: a}\n  - {path: b, access: [write, execute]}\nroles: {r: {extends: s}, s: {}}\nagents: {a: {roles: r, max_access: [read, write]}}\n",
    );
    assert!(matches!(&source.global_rules[0].1, For::These(names) if names.len() == 1));
    assert_eq!(source.global_rules[1].0.access.value, Access::ALL);
    assert_eq!(source.global_rules[1].1, For::All);
    assert_eq!(source.agents["a"].roles[0].value, "r");
}

#[test]
fn every_word_of_what_is_logged() {
    for (word, log) in [
        ("true", LogAccess::All),
        ("all", LogAccess::All),
        ("denied", LogAccess::Denied),
        ("false", LogAccess::None),
        ("none", LogAccess::None),
    ] {
        let source = load(&format!("version: \"1.0\"\naudit: {{log_access_attempts: {word}}}\n"));
        assert_eq!(source.audit.value.log_access_attempts, log, "{word}");
    }
}
