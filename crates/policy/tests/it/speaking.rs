//! What is said: errors and notes with their places, explanations and what would change an answer.

use crate::team::{AGENT, Team, action, ask, may, path, why};
use remit_core::{Effect, Layer, Object, Severity, Verb};
use remit_policy::source::{ApprovalSource, AskMode, RequestSource, Sandbox};
use remit_policy::{Facts, Fate, explain};

#[test]
fn unknown_roles_and_cycles_are_errors_with_places() {
    let team = Team::new()
        .role("a", "x read")
        .extends("a", "b")
        .extends("b", "c")
        .extends("c", "b")
        .extends("c", "gone");
    let found = team.try_compile().unwrap_err();
    let said: Vec<String> = found.iter().map(|f| format!("{} {}", f.code, f.message)).collect();
    assert_eq!(
        said,
        ["unknown-role `gone` is not a role", "role-cycle roles extend themselves: `b` -> `c` -> `b`"]
    );
    assert!(found.iter().all(|f| f.place.line > 0 && f.help.is_some()));
    assert_eq!(Team::new().extends("a", "a").errors(), ["role-cycle"]);
    assert_eq!(
        Team::new().extends("a", "b").extends("b", "a").extends("c", "d").extends("d", "c").errors().len(),
        2
    );
}

/// A chain of roles, each extending the next, of which the first is the agent's.
fn chain(roles: usize) -> Team {
    let team = (1..roles).fold(Team::new().role("r0", "src read"), |team, n| {
        team.extends(&format!("r{}", n - 1), &format!("r{n}"))
    });
    team.role_rule(&format!("r{}", roles - 1), "docs read")
}

#[test]
fn a_chain_of_roles_is_followed_and_a_longer_one_than_anybody_needs_is_an_error() {
    assert_eq!(may(&chain(64).compile(), "/w/docs/a"), "r");
    assert_eq!(chain(65).errors(), ["deep-roles"]);
    assert_eq!(chain(3000).errors(), ["deep-roles"]);
    let found = chain(3000).try_compile().unwrap_err();
    assert_eq!(
        found[0].message,
        "`r2935` is the end of a chain of more than 64 roles that extend one another"
    );
    // What leads to a cycle is no chain, and two ways to one role are none either.
    assert_eq!(chain(3000).extends("r2999", "r0").errors(), ["role-cycle"]);
    let wide = (1..200).fold(Team::new().role("r0", "src read"), |team, n| {
        team.extends("r0", &format!("w{n}")).extends(&format!("w{n}"), "end")
    });
    assert_eq!(may(&wide.role_rule("end", "docs read").compile(), "/w/docs/a"), "r");
}

#[test]
fn a_rule_for_nobody_is_an_error() {
    assert_eq!(Team::new().global_for("x none", &["fronted"]).errors(), ["unknown-name"]);
}

#[test]
fn all_errors_come_in_one_go_and_each_once() {
    let mut team = Team::new().own("../x read").own("**/x all").role("r", "$X read").of("other", "a/[ read");
    let role = team.text("r");
    team.agent("other").roles.push(role);
    assert_eq!(team.errors(), ["variable-in-pattern", "dots-in-pattern", "unanchored-grant", "bad-class"]);
}

#[test]
fn another_default_must_be_confirmed() {
    for effect in [Effect::Allow, Effect::Ask] {
        let mut team = Team::new().default(effect);
        team.source.allow_insecure_default = false;
        assert_eq!(team.errors(), ["insecure-default"]);
    }
    let mut team = Team::new().default(Effect::Deny);
    team.source.allow_insecure_default = false;
    assert!(team.errors().is_empty());
}

#[test]
fn a_base_workspace_is_one_folder() {
    let mut team = Team::new().own("x read");
    let base = team.text("a/*/b");
    team.agent(AGENT).base_workspace = Some(base);
    assert_eq!(team.errors(), ["wild-base-workspace"]);
    let base = team.text("a/[id]/[...rest]");
    team.agent(AGENT).base_workspace = Some(base);
    let found = team.try_compile().unwrap_err();
    assert_eq!(found[0].code, "wild-base-workspace");
    assert_eq!(
        found[0].help.as_deref(),
        Some(r"name one folder; `a/\[id]/\[...rest]` is the one whose name has brackets")
    );
    // What the help says is so.
    let base = team.text(r"a/\[id]/\[...rest]");
    team.agent(AGENT).base_workspace = Some(base);
    assert_eq!(may(&team.compile(), "/w/a/[id]/[...rest]/x"), "r");
}

#[test]
fn an_agent_has_a_name_that_can_be_recorded() {
    let mut team = Team::new();
    team.agent("two words");
    assert_eq!(team.errors(), ["bad-agent-name"]);
}

#[test]
fn a_name_cannot_turn_the_writing_of_a_message_or_move_the_cursor() {
    let hostile = "\u{202e}\u{1b}c\u{200f}";
    let mut team =
        Team::new().own(&format!("{hostile}/** write")).global_for("x none", &[&format!("{hostile}x")]);
    team.agent(hostile);
    let named = team.text(hostile);
    team.agent(AGENT).roles.push(named.clone());
    team.agent(AGENT).base_workspace = Some(team.text(&format!("{hostile}*")));
    let found = team.try_compile().unwrap_err();
    assert_eq!(found.len(), 4, "{found:#?}");
    let clean = Team::new().own("src/a all").own(&format!("src/{hostile} read")).compile();
    let told = ask(&clean, Verb::Write, format!("/w/src/{hostile}")).deciding().unwrap().to_string();
    let words = found.iter().flat_map(|f| [Some(&f.message), f.help.as_ref()]).flatten();
    for text in words.chain([&told]) {
        assert!(text.chars().all(|c| !c.is_control() && !('\u{2000}'..'\u{2070}').contains(&c)), "{text:?}");
    }
    assert!(told.contains("u{202e}"), "{told}");
}

#[test]
fn notes_tell_what_a_rule_does_not_do() {
    assert_eq!(Team::new().own("src all").notes(), [""; 0]);
    assert_eq!(Team::new().own("remit.yaml read-write").notes(), ["protected-grant"]);
    assert_eq!(Team::new().own("remit.yaml read").notes(), [""; 0]);
    assert_eq!(Team::new().own("**/*.md read").notes(), ["lone-limit"]);
    assert_eq!(Team::new().own("src all").own("**/*.md read").notes(), [""; 0]);
    assert_eq!(Team::new().own("src/*/** read").notes(), ["trailing-wildcards"]);
    assert_eq!(Team::new().own("/home/me/state read").sealed("/home/me/state").notes(), ["protected-grant"]);
}

#[test]
fn what_is_not_held_yet_is_said() {
    let mut team = Team::new().own("src all");
    let (path, verb, host) =
        (team.text("migrations/**"), team.at(Verb::Delete, 6), team.text("example.org:443"));
    team.source.approvals.push(ApprovalSource { verb, path, id: "approvals[0]".into() });
    let rule = team.rule("agents.frontend.requests[0]".into(), "docs/**/*.md read");
    let agent = team.agent(AGENT);
    agent.network.push(host);
    agent.requests.push(RequestSource { rule, answer: AskMode::Ask });
    assert_eq!(team.notes(), ["not-held-yet"; 3]);
    let severities = |team: &Team| -> Vec<Severity> {
        team.try_compile().unwrap().notes.iter().map(|found| found.severity).collect()
    };
    assert_eq!(severities(&team), [Severity::Error; 3]);
    team.source.sandbox = Sandbox::Advisory;
    assert_eq!(severities(&team), [Severity::Warning; 3]);
    team.agent(AGENT).requests.iter_mut().for_each(|request| request.answer = AskMode::Never);
    assert_eq!(severities(&team).len(), 2, "what is never granted is held by that");
}

#[test]
fn an_explanation_shows_all_layers_and_what_became_of_each_rule() {
    let policy = Team::new().global("src read").own(". read").own("src all").base("/w", "read").compile();
    let told = why(&policy, Verb::Write, "/w/src/a");
    assert_eq!(told.decision.effect, Effect::Deny);
    assert_eq!(told.layers.len(), 9);
    let opinions: Vec<Layer> =
        told.layers.iter().filter(|(_, r)| r.is_some()).map(|(layer, _)| *layer).collect();
    assert_eq!(opinions, [Layer::System]);
    let fates: Vec<String> =
        told.paths[0].rules.iter().map(|r| format!("{}: {}", r.rule.text, r.fate)).collect();
    assert_eq!(
        fates,
        [
            "src read: decided",
            ". read: yields to the narrower `src all` (remit.yaml:9)",
            "src all: capped by `src read` (remit.yaml:2)",
            "/w read: not used: a rule or a nearer base path speaks",
        ]
    );
    assert_eq!(told.remedy.unwrap().to_string(), "change `src read` (remit.yaml:2)");
}

#[test]
fn a_dead_rule_names_what_killed_it() {
    let policy = Team::new().global("secrets none").own("secrets/a read").compile();
    let told = why(&policy, Verb::Read, "/w/secrets/a");
    let fates: Vec<&Fate> = told.paths[0].rules.iter().map(|r| &r.fate).collect();
    assert!(
        matches!(fates[..], [Fate::Decided, Fate::Dead(none)] if &*none.text == "secrets none"),
        "{fates:?}"
    );
    assert_eq!(told.remedy.unwrap().to_string(), "change `secrets none` (remit.yaml:2)");
}

#[test]
fn a_ceiling_shows_as_the_cap() {
    let policy = Team::new().own("src all").max("read").compile();
    let told = why(&policy, Verb::Write, "/w/src/a");
    assert!(matches!(&told.paths[0].rules[0].fate, Fate::Capped(rule) if &*rule.text == "max_access: read"));
}

#[test]
fn the_remedy_is_a_line_that_works() {
    let team = Team::new().base("/w", "read");
    let told = why(&team.compile(), Verb::Write, "/w/app/[id]/\"x\".ts");
    assert_eq!(
        told.remedy.unwrap().to_string(),
        r#"add to agents.frontend.permissions: - {path: "app/\\[id]/\"x\".ts", access: read-write}"#
    );
    let policy = team.own(r#"app/\[id]/"x".ts read-write"#).compile();
    assert_eq!(may(&policy, "/w/app/[id]/\"x\".ts"), "rw");
}

#[test]
fn an_agent_that_the_policy_does_not_name_is_told_so() {
    let policy = Team::new().own(". all").compile();
    let stranger = action("stranger", Verb::Read, Object::Path(path("/w/a")));
    let told = explain(&policy, &Facts::default(), &stranger);
    assert!(told.paths.is_empty());
    assert_eq!(told.remedy.unwrap().to_string(), "add to agents: stranger: {permissions: []}");
}

#[test]
fn nothing_lifts_what_is_protected_and_allow_needs_no_remedy() {
    let policy = Team::new().own(". all").compile();
    let told = why(&policy, Verb::Write, "/w/remit.yaml");
    assert_eq!(told.remedy.unwrap().to_string(), "nothing: the policy is protected");
    assert!(told.layers.iter().any(|(layer, r)| *layer == Layer::Agent && r.is_some()));
    assert_eq!(why(&policy, Verb::Read, "/w/a").remedy, None);
}
