//! What a role or an agent has taken away whatever the path: verbs, tools, git's records.

use crate::team::{AGENT, Team, action, ask, may, path, why};
use remit_core::{Effect, Layer, Object, Verb, Why};
use remit_policy::source::Git;
use remit_policy::{Facts, Policy, Remedy, decide, explain};

fn call(policy: &Policy, tool: &str) -> (Effect, Option<String>) {
    let action = action(AGENT, Verb::Call, Object::Tool(tool.into()));
    let decision = decide(policy, &Facts::default(), &action);
    let reason = decision.deciding().unwrap();
    assert_eq!(reason.layer, Layer::Agent);
    (decision.effect, reason.rule.as_ref().map(|rule| rule.id.to_string()))
}

/// An agent with all of the workspace, whose role extends another; both take something away.
fn modes() -> Team {
    let team = Team::new().own(". all").role("developer", "docs read").extends("developer", "careful");
    let mut team = team.role_rule("careful", ". all");
    let (web, servers) = (team.text("WebFetch"), team.text("mcp__*__delete*"));
    let (delete, rename) = (team.at(Verb::Delete, 6), team.at(Verb::Rename, 6));
    team.source.roles.get_mut("careful").unwrap().deny_tools = vec![web];
    team.source.roles.get_mut("careful").unwrap().deny_verbs = vec![delete];
    team.agent(AGENT).deny_tools = vec![servers];
    team.agent(AGENT).deny_verbs = vec![rename];
    team
}

#[test]
fn a_denied_tool_is_a_denial_of_the_agents_layer_with_the_rule_that_takes_it_away() {
    let policy = modes().compile();
    let by = |rule: &str| (Effect::Deny, Some(rule.to_owned()));
    assert_eq!(call(&policy, "WebFetch"), by("roles.careful.tools.deny[0]"));
    assert_eq!(call(&policy, "webfetch"), by("roles.careful.tools.deny[0]"));
    assert_eq!(call(&policy, "mcp__db__delete_all"), by("agents.frontend.tools.deny[0]"));
    for tool in ["WebFetch2", "mcp__db__read", "Bash", ""] {
        assert_eq!(call(&policy, tool), (Effect::Allow, None), "{tool}");
    }
    let stranger = action("nobody", Verb::Call, Object::Tool("Bash".into()));
    assert_eq!(decide(&policy, &Facts::default(), &stranger).effect, Effect::Deny);
    let askew = action(AGENT, Verb::Read, Object::Tool("Bash".into()));
    assert_eq!(decide(&policy, &Facts::default(), &askew).effect, Effect::Deny);
    let told =
        explain(&policy, &Facts::default(), &action(AGENT, Verb::Call, Object::Tool("WebFetch".into())));
    assert!(matches!(&told.remedy, Some(Remedy::Change(rule)) if &*rule.id == "roles.careful.tools.deny[0]"));
    let said = told.decision.deciding().unwrap().to_string();
    assert!(
        said.starts_with("taken away, whatever the path, by rule `tools.deny: WebFetch` (remit.yaml:"),
        "{said}"
    );
}

#[test]
fn a_tool_must_be_in_every_list_of_allowed_ones() {
    let mut team = modes();
    let [read, edit, bash, all] = ["Read", "Edit", "Bash", "*"].map(|name| team.text(name));
    team.source.roles.get_mut("developer").unwrap().allow_tools = vec![read.clone(), edit];
    let policy = team.compile();
    assert_eq!(call(&policy, "Read").0, Effect::Allow);
    assert_eq!(call(&policy, "read"), (Effect::Deny, Some("roles.developer.tools.allow".to_owned())));
    assert_eq!(call(&policy, "Bash").0, Effect::Deny);
    team.agent(AGENT).allow_tools = vec![read, bash];
    let policy = team.compile();
    assert_eq!(call(&policy, "Read").0, Effect::Allow);
    assert_eq!(call(&policy, "Edit"), (Effect::Deny, Some("agents.frontend.tools.allow".to_owned())));
    assert_eq!(call(&policy, "Bash").0, Effect::Deny);
    team.agent(AGENT).deny_tools = vec![all];
    assert_eq!(call(&team.compile(), "Read").0, Effect::Deny);
}

#[test]
fn a_verb_is_taken_away_from_all_paths_but_those_that_every_session_has() {
    let mut team = modes().base("/tmp", "all").base("/dev/null", "read-write");
    team.world.private.push(path("/tmp"));
    let policy = team.compile();
    let may_do = |verb, at: &str| ask(&policy, verb, at).effect == Effect::Allow;
    for at in ["/w/a", "/w/docs/a", "/w/.gitignore"] {
        assert!(!may_do(Verb::Delete, at), "{at}");
        let told = why(&policy, Verb::Delete, at);
        let reason = told.decision.deciding().unwrap();
        assert!(at.contains("docs") || reason.why == Why::Mode, "{at}: {reason}");
    }
    assert!(may_do(Verb::Write, "/w/a") && may_do(Verb::Create, "/w/a") && !may_do(Verb::Rename, "/w/a"));
    assert!(may_do(Verb::Delete, "/tmp/a") && may_do(Verb::Rename, "/tmp/a"));
    assert!(may_do(Verb::Delete, "/w/.git/index.lock"), "git's records are git's to keep");
    let moved = |from, to| {
        let object = Object::Move { from: path(from), to: path(to) };
        decide(&policy, &Facts::default(), &action(AGENT, Verb::Rename, object)).effect
    };
    assert_eq!(moved("/tmp/a", "/w/a"), Effect::Deny, "the workspace gets a name");
    assert_eq!(moved("/tmp/a", "/tmp/b"), Effect::Allow);
    let opened =
        modes().base("/tmp", "all").own("/tmp/out all").role_rule("careful", "/tmp/out all").compile();
    assert_eq!(
        ask(&opened, Verb::Delete, "/tmp/out/a").effect,
        Effect::Deny,
        "a rule opens the person's own"
    );
    assert_eq!(ask(&opened, Verb::Delete, "/tmp/a").effect, Effect::Allow);
}

#[test]
fn nobody_gains_by_a_mode() {
    let plain = modes().own("src none");
    let mut without = modes().own("src none");
    without.agent(AGENT).deny_verbs.clear();
    without.source.roles.get_mut("careful").unwrap().deny_verbs.clear();
    let (with, without) = (plain.compile(), without.compile());
    for verb in Verb::FILES {
        for at in ["/w/a", "/w/src/a", "/w/docs/a", "/w/remit.yaml", "/etc/x", "/w/.git/config"] {
            assert!(ask(&with, verb, at).effect >= ask(&without, verb, at).effect, "{verb} {at}");
        }
    }
    assert_ne!(with.digest(), without.digest());
}

#[test]
fn without_git_no_git_folder_of_the_checkout_is_there_for_the_agent() {
    let mut team = Team::new().own(". all").own("/real all");
    team.world.git_dirs.push(path("/real/store"));
    assert_eq!(may(&team.compile(), "/w/.git/HEAD"), "rwx");
    let git = team.at(Git::None, 4);
    team.agent(AGENT).git = Some(git);
    let policy = team.compile();
    for at in ["/w/.git", "/w/.git/HEAD", "/w/vendor/lib/.git", "/w/vendor/lib/.git/HEAD", "/real/store/HEAD"]
    {
        assert_eq!(may(&policy, at), "", "{at}");
        let reason = ask(&policy, Verb::Read, at).deciding().unwrap().to_string();
        assert!(reason.contains("`git: none` (remit.yaml:"), "{reason}");
    }
    assert_eq!(may(&policy, "/w/src/a"), "rwx");
    assert_eq!(may(&policy, "/w/.gitignore"), "rwx");
}

#[test]
fn without_git_the_records_above_the_workspace_are_shut_where_a_rule_would_open_them() {
    let mut team = Team::new().own("/ read");
    team.world.workspace = path("/top/part");
    assert_eq!(may(&team.compile(), "/top/.git/HEAD"), "r");
    let git = team.at(Git::None, 4);
    team.agent(AGENT).git = Some(git);
    let policy = team.compile();
    assert_eq!((may(&policy, "/top/.git/HEAD"), may(&policy, "/top/x")), (String::new(), "r".to_owned()));
}
