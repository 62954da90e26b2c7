//! What `render` writes, `load` reads back to the same policy, and a second round changes no byte.
#![cfg(test)]

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use remit_config::{load, render};
use remit_core::{Effect, Place, Verb};
use remit_policy::source::*;
use remit_policy::{Access, PolicySource};

/// A policy as text without its places, which a rendering moves.
fn placeless(source: &PolicySource) -> String {
    let text = format!("{source:#?}");
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("place: Place {") {
            while lines.next().is_some_and(|line| line.trim() != "},") {}
        } else {
            out.extend([line, "\n"]);
        }
    }
    out
}

fn again(text: &str) -> PolicySource {
    load("remit.yaml", text.as_bytes()).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}"))
}

fn holds(source: &PolicySource) {
    let text = render(source);
    let read = again(&text);
    assert_eq!(placeless(source), placeless(&read), "{text}");
    assert_eq!(text, render(&read));
}

#[test]
fn the_whole_language() {
    let source = again(include_str!("whole.yaml"));
    holds(&source);
    assert_ne!(placeless(&source), placeless(&again("version: \"1.0\"\n")));
}

#[test]
fn a_policy_of_massgen_in_canonical_form() {
    let source = again(include_str!("massgen.yaml"));
    holds(&source);
    insta::assert_snapshot!(render(&source), @r#"
    version: "1.0"
    default_policy: deny
    global_rules:
      - {path: "/tmp/*", access: read-write, for: all}
      - {path: "/secrets/*", access: none, for: all}
    agents:
      claude-code:
        base_workspace: "/workspace/claude"
        permissions:
          - {path: "/workspace/claude/*", access: read-write}
          - {path: "/workspace/shared/*", access: read}
          - {path: "/workspace/other-agents/*", access: none}
      gpt-analysis:
        base_workspace: "/workspace/gpt"
        permissions:
          - {path: "/workspace/gpt/*", access: read-write}
          - {path: "/workspace/shared/*", access: read-write}
          - {path: "/workspace/claude/public/*", access: read}
    audit:
      log_access_attempts: all
      log_file: "massgen_access.log"
      alert_on_violation: true
    "#);
}

#[test]
fn words_that_yaml_could_misread_are_quoted() {
    let mut source = again("version: \"1.0\"\nagents: {a: {}}\n");
    let agent = source.agents.remove("a").unwrap();
    for name in ["null", "true", "on", "1", "1.0", ".inf", "@x", "-", "a:b", "Null"] {
        source.agents.insert(name.to_owned(), agent.clone());
    }
    holds(&source);
}

fn at<T>(value: T) -> At<T> {
    At { value, place: Place::file("remit.yaml") }
}

/// Text with something in it, of any characters.
fn filled() -> impl Strategy<Value = At<String>> {
    prop_oneof![
        "[a-z*/.]{1,12}",
        "\\PC{1,10}",
        vec(any::<char>(), 1..8).prop_map(|c| c.into_iter().collect())
    ]
    .prop_filter("blank", |text: &String| !text.trim().is_empty() && text != "all")
    .prop_map(at)
}

fn access() -> impl Strategy<Value = At<Access>> {
    select(Access::WORDS.to_vec()).prop_map(|word| at(Access::word(word).unwrap()))
}

fn rule() -> impl Strategy<Value = RuleSource> {
    (filled(), access()).prop_map(|(path, access)| RuleSource { path, access, id: "".into() })
}

fn capability() -> impl Strategy<Value = CapabilitySource> {
    (rule(), any::<String>()).prop_map(|(rule, text)| CapabilitySource { rule, text })
}

fn request() -> impl Strategy<Value = RequestSource> {
    (rule(), select(vec![AskMode::Ask, AskMode::Once, AskMode::Never]))
        .prop_map(|(rule, answer)| RequestSource { rule, answer })
}

fn cli() -> impl Strategy<Value = Cli> {
    prop_oneof![filled().prop_map(Cli::Adapter), vec(filled(), 1..3).prop_map(Cli::Command)]
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["alpha", "beta", "gamma.2", "true", "null", "0x1", "a:b@c", "ü"]).prop_map(str::to_owned)
}

fn agent() -> impl Strategy<Value = AgentSource> {
    (
        (option::of(cli()), option::of(filled()), vec(rule(), 0..3), vec(request(), 0..2)),
        (vec(capability(), 0..2), vec(capability(), 0..2), vec(filled(), 0..2), option::of(access())),
        (option::of(any::<String>()), modes(), any::<bool>(), option::of(limits())),
    )
        .prop_map(|(first, second, third)| AgentSource {
            place: Place::file("remit.yaml"),
            cli: first.0,
            roles: Vec::new(),
            base_workspace: first.1,
            permissions: first.2,
            requests: first.3,
            requires: second.0,
            provides: second.1,
            network: second.2,
            max_access: second.3,
            system_message: third.0,
            deny_tools: third.1.0,
            allow_tools: third.1.1,
            deny_verbs: third.1.2,
            git: third.2.then_some(at(Git::None)),
            limits: third.3,
        })
}

type Modes = (Vec<At<String>>, Vec<At<String>>, Vec<At<Verb>>);

fn modes() -> impl Strategy<Value = Modes> {
    let tool = || vec("[a-zA-Z_*-]{1,8}".prop_map(at), 0..3);
    let verbs = vec![Verb::Write, Verb::Create, Verb::Delete, Verb::Rename];
    (tool(), tool(), vec(select(verbs).prop_map(at), 0..2))
}

fn limits() -> impl Strategy<Value = At<Limits>> {
    let number = || option::of(1_u64..1 << 30);
    (number(), number(), number()).prop_map(|(kibibytes, processes, cpu)| {
        at(Limits { memory: kibibytes.map(|n| n << 10), processes, cpu })
    })
}

fn role() -> impl Strategy<Value = RoleSource> {
    (vec(rule(), 0..2), modes()).prop_map(|(permissions, (deny_tools, allow_tools, deny_verbs))| RoleSource {
        extends: Vec::new(),
        permissions,
        deny_tools,
        allow_tools,
        deny_verbs,
    })
}

fn audit() -> impl Strategy<Value = AuditSource> {
    (
        select(vec![LogAccess::All, LogAccess::Denied, LogAccess::None]),
        option::of((filled(), name())),
        any::<bool>(),
        vec(filled(), 0..3),
    )
        .prop_map(|(log_access_attempts, log_file, alert_on_violation, alert_command)| AuditSource {
            log_access_attempts,
            // Not every text is the name of a file.
            log_file: log_file.map(|(at, value)| At { value, ..at }),
            alert_on_violation,
            alert_command,
        })
}

prop_compose! {
    fn policy()(
        root in option::of(select(vec![Root::Host, Root::Workspace])),
        default_policy in option::of(select(vec![Effect::Allow, Effect::Ask, Effect::Deny])),
        base in select(vec![Base::Standard, Base::Minimal, Base::None]),
        intents in select(vec![Intents::Off, Intents::Advise, Intents::Require]),
        sandbox in select(vec![Sandbox::Enforce, Sandbox::Advisory]),
        scratch in vec(filled(), 0..2),
        rules in vec((rule(), any::<bool>()), 0..3),
        roles in btree_map(name().prop_map(|name| format!("{name}-role")), role(), 0..3),
        agents in btree_map(name(), agent(), 0..3),
        approvals in vec((select(Verb::FILES.to_vec()), filled()), 0..2),
        audit in audit(),
        tests in vec((select(Verb::FILES.to_vec()), filled()), 0..2),
    ) -> PolicySource {
        let names: Vec<At<String>> = agents.keys().chain(roles.keys()).cloned().map(at).collect();
        let some = |all: bool| if all || names.is_empty() { For::All } else { For::These(names.clone()) };
        let mut source = PolicySource {
            file: "remit.yaml".into(),
            root: root.map(at),
            default_policy: default_policy.map(at),
            allow_insecure_default: true,
            base,
            intents: at(intents),
            sandbox,
            scratch,
            global_rules: rules.into_iter().map(|(rule, all)| (rule, some(all))).collect(),
            roles,
            agents,
            approvals: approvals
                .into_iter()
                .map(|(verb, path)| ApprovalSource { verb: at(verb), path, id: "".into() })
                .collect(),
            audit: at(audit),
            tests: Vec::new(),
        };
        let first = source.agents.keys().next().cloned();
        source.tests = tests
            .into_iter()
            .filter_map(|(verb, path)| {
                Some(TestSource { agent: at(first.clone()?), verb: at(verb), path, expect: at(Effect::Deny) })
            })
            .collect();
        let role_names: Vec<At<String>> = source.roles.keys().cloned().map(at).collect();
        source.agents.values_mut().for_each(|agent| agent.roles = role_names.clone());
        number(&mut source);
        source
    }
}

/// Gives each rule the id that it has by its place.
fn number(source: &mut PolicySource) {
    for (i, (rule, _)) in source.global_rules.iter_mut().enumerate() {
        rule.id = format!("global_rules[{i}]").into();
    }
    for (i, approval) in source.approvals.iter_mut().enumerate() {
        approval.id = format!("approvals[{i}]").into();
    }
    for (name, role) in &mut source.roles {
        for (i, rule) in role.permissions.iter_mut().enumerate() {
            rule.id = format!("roles.{name}.permissions[{i}]").into();
        }
    }
    for (name, agent) in &mut source.agents {
        for (i, rule) in agent.permissions.iter_mut().enumerate() {
            rule.id = format!("agents.{name}.permissions[{i}]").into();
        }
        for (i, request) in agent.requests.iter_mut().enumerate() {
            request.rule.id = format!("agents.{name}.requests[{i}]").into();
        }
        for (i, need) in agent.requires.iter_mut().enumerate() {
            need.rule.id = format!("agents.{name}.capabilities.requires[{i}]").into();
        }
        for (i, offer) in agent.provides.iter_mut().enumerate() {
            offer.rule.id = format!("agents.{name}.capabilities.provides[{i}]").into();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_policy(source in policy()) {
        holds(&source);
    }
}
