//! What rules mean together, case by case.

use crate::team::{AGENT, Team, action, ask, ask_move, may, path};
use remit_core::{Digest, Effect, Layer, Object, Verb, Why};
use remit_policy::{Access, Facts, Scope, decide};

#[test]
fn the_table_of_cases() {
    let cases = [
        (&["/secrets/* none"][..], &["/secrets/a read"][..], "/secrets/a", ""),
        (&["/tmp/* read-write"], &[], "/tmp/x/y", "rw"),
        (&["/tmp/* read-write"], &["/tmp/* read"], "/tmp/x", "r"),
        (&["/data/* read"], &["/data/out/* read-write"], "/data/out/f", "r"),
        (&[], &["/v/* read", "/v/out/* read-write"], "/v/out/f", "rw"),
        (&[], &["/v/* read-write", "/v/secrets/* none"], "/v/secrets/k", ""),
        (&[], &["/v/*/k read", "/v/a/* read-write"], "/v/a/k", "r"),
        (&[], &["src read", "src read-write"], "/w/src/f", "r"),
        (&[], &["src all", "src/**/gen read"], "/w/src/a/gen/x", "r"),
        (&[], &["src/**/gen read", "src/a/gen all"], "/w/src/a/gen/x", "rwx"),
        (&[], &["src/*/gen read", "src/**/gen all"], "/w/src/a/gen/x", "r"),
        (&[], &["src execute"], "/w/src/x", "rx"),
        (&[], &["src write"], "/w/src/x", "w"),
        (&[], &[". all", "**/*.lock read"], "/w/a/b.lock", "r"),
        (&[], &[". all", "**/*.lock read", "a/b.lock all"], "/w/a/b.lock", "rwx"),
        (&["**/.env none"], &[". all", ".env read"], "/w/.env", ""),
    ];
    for (global, own, at, expected) in cases {
        let team = global.iter().fold(Team::new(), |team, text| team.global(text));
        let policy = own.iter().fold(team, |team, text| team.own(text)).compile();
        assert_eq!(may(&policy, at), expected, "{global:?} {own:?} {at}");
    }
}

#[test]
fn no_rule_no_access_and_the_reason_says_so() {
    let policy = Team::new().own("src all").compile();
    let decision = ask(&policy, Verb::Read, "/w/other");
    let reason = decision.deciding().unwrap();
    assert_eq!((reason.layer, reason.effect, &reason.why), (Layer::Agent, Effect::Deny, &Why::NoRule));
    assert_eq!(may(&policy, "/w"), "", "the folder above a rule is not granted");
}

#[test]
fn an_unknown_agent_is_denied() {
    let policy = Team::new().own(". all").compile();
    let stranger = action("stranger", Verb::Read, Object::Path(path("/w/a")));
    let decision = decide(&policy, &Facts::default(), &stranger);
    assert_eq!((decision.effect, &decision.deciding().unwrap().why), (Effect::Deny, &Why::UnknownAgent));
}

#[test]
fn every_change_needs_write_and_executing_needs_read() {
    let policy = Team::new().own("out write").own("in read").own("bin execute").compile();
    for verb in [Verb::Write, Verb::Create, Verb::Delete, Verb::Rename] {
        assert_eq!(ask(&policy, verb, "/w/out/a").effect, Effect::Allow, "{verb}");
        assert_eq!(ask(&policy, verb, "/w/in/a").effect, Effect::Deny, "{verb}");
    }
    assert_eq!(may(&policy, "/w/bin/a"), "rx");
}

#[test]
fn both_ends_of_a_move_count() {
    let policy = Team::new().own("out write").own("in read").compile();
    assert_eq!(ask_move(&policy, "/w/out/a", "/w/out/b").effect, Effect::Allow);
    for (from, to) in [("/w/in/a", "/w/out/a"), ("/w/out/a", "/w/in/a")] {
        let decision = ask_move(&policy, from, to);
        let reason = decision.deciding().unwrap();
        assert_eq!((decision.effect, &reason.why), (Effect::Deny, &Why::NotGranted), "{from} {to}");
        assert_eq!(&*reason.rule.as_ref().unwrap().text, "in read");
    }
}

#[test]
fn a_verb_that_does_not_fit_its_object_is_denied_and_a_connection_is_allowed_with_a_word() {
    let policy = Team::new().own(". all").compile();
    let host = Object::Host { host: "example.org".into(), port: 443 };
    for (verb, object, effect) in [
        (Verb::Connect, host.clone(), Effect::Allow),
        (Verb::Connect, Object::Path(path("/w/a")), Effect::Deny),
        (Verb::Read, host, Effect::Deny),
    ] {
        let decision = decide(&policy, &Facts::default(), &action(AGENT, verb, object));
        assert_eq!(decision.effect, effect, "{verb}");
        assert!(matches!(decision.deciding().unwrap().why, Why::Unjudged(_)));
    }
}

#[test]
fn roles_add_up_and_are_one_scope() {
    let policy = Team::new()
        .role("developer", "docs read")
        .extends("developer", "reader")
        .role_rule("reader", ". read")
        .role_rule("reader", "docs/out read-write")
        .own("docs all")
        .compile();
    assert_eq!(may(&policy, "/w/docs/a"), "r", "the role's reading meets the agent's all");
    assert_eq!(may(&policy, "/w/docs/out/a"), "rw", "the narrower rule of an extended role counts");
    assert_eq!(may(&policy, "/w/x"), "r");
}

#[test]
fn global_rules_bind_agents_and_roles_by_name() {
    let team = Team::new().own("src all").role("developer", "src all").of("other", "src all");
    let team = team.role_rule("base", "src all").extends("developer", "base");
    let policy = team
        .global_for("src/a none", &[AGENT])
        .global_for("src/b none", &["base"])
        .global_for("src/c none", &["other"])
        .compile();
    assert_eq!(["/w/src/a", "/w/src/b", "/w/src/c"].map(|at| may(&policy, at)), ["", "", "rwx"]);
    let other = policy.agent("other").unwrap();
    let of_other = ["/w/src/a", "/w/src/b", "/w/src/c"].map(|at| other.access(&path(at)));
    assert_eq!(of_other, [Access::ALL, Access::ALL, Access::NONE]);
}

#[test]
fn relative_rules_of_agents_and_roles_hang_on_the_base_workspace_and_global_ones_on_the_workspace() {
    let mut team = Team::new().own("src all").role("developer", "src all").global("src/secret none");
    let base = team.text("web");
    team.agent(AGENT).base_workspace = Some(base);
    let policy = team.compile();
    assert_eq!(
        ["/w/web/src/a", "/w/src/a", "/w/web/src/secret"].map(|at| may(&policy, at)),
        ["rwx", "", "rwx"]
    );
    assert!(policy.agent(AGENT).unwrap().none_rule(&path("/w/src/secret/x")).is_some());
}

#[test]
fn the_ceiling_caps_rules_and_default_but_not_the_base() {
    let team = Team::new().own("src all").base("/usr", "execute").max("read").default(Effect::Allow);
    let policy = team.compile();
    assert_eq!(["/w/src/a", "/usr/bin/ls", "/elsewhere"].map(|at| may(&policy, at)), ["r", "rx", "r"]);
    let decision = ask(&policy, Verb::Write, "/w/src/a");
    let reason = decision.deciding().unwrap();
    assert_eq!((&reason.why, reason.layer), (&Why::Ceiling, Layer::Agent));
    assert_eq!(&*reason.rule.as_ref().unwrap().id, "agents.frontend.max_access");
}

#[test]
fn the_base_is_used_where_no_rule_speaks_and_its_longest_path_wins() {
    let team = Team::new()
        .base("/usr", "execute")
        .base("/usr/share", "read")
        .base("/etc/shadow", "none")
        .base("/etc", "read");
    let policy = team.own("/usr/local read").compile();
    let paths = ["/usr/bin/ls", "/usr/share/doc", "/usr/local/bin/x", "/etc/hosts", "/etc/shadow"];
    assert_eq!(paths.map(|at| may(&policy, at)), ["rx", "r", "r", "r", ""]);
    let decision = ask(&policy, Verb::Read, "/usr/bin/ls");
    let reason = decision.deciding().unwrap();
    assert_eq!((reason.layer, &reason.why), (Layer::System, &Why::Base("what programs need".into())));
}

#[test]
fn a_base_rule_never_reopens_a_none() {
    let policy = Team::new().base("/w/cache", "all").global(". none").compile();
    let decision = ask(&policy, Verb::Read, "/w/cache/x");
    let reason = decision.deciding().unwrap();
    assert_eq!((decision.effect, reason.layer, &reason.why), (Effect::Deny, Layer::System, &Why::None));
}

#[test]
fn the_layer_is_that_of_the_rule_that_decided() {
    let policy =
        Team::new().global("a all").global("b read").own("b all").own("c all").role("r", "d all").compile();
    let layer = |verb, at| ask(&policy, verb, at).deciding().unwrap().layer;
    assert_eq!(layer(Verb::Read, "/w/a"), Layer::System);
    assert_eq!(layer(Verb::Write, "/w/b"), Layer::System);
    assert_eq!(layer(Verb::Read, "/w/b"), Layer::Agent);
    assert_eq!(layer(Verb::Read, "/w/c"), Layer::Agent);
    assert_eq!(layer(Verb::Read, "/w/d"), Layer::Agent);
}

#[test]
fn another_default_allows_or_asks_and_says_which_line() {
    let policy = Team::new().own("src read").default(Effect::Allow).compile();
    assert_eq!(may(&policy, "/elsewhere"), "rwx");
    assert_eq!(may(&policy, "/w/src/a"), "r", "where a rule speaks, the default does not");
    let decision = ask(&policy, Verb::Write, "/elsewhere");
    assert_eq!(&*decision.deciding().unwrap().rule.as_ref().unwrap().text, "default_policy: allow");

    let policy = Team::new().max("read").default(Effect::Ask).compile();
    assert_eq!(ask(&policy, Verb::Read, "/x").effect, Effect::Ask);
    assert_eq!(ask(&policy, Verb::Write, "/x").effect, Effect::Deny, "the ceiling is not asked about");
    assert_eq!(policy.agent(AGENT).unwrap().access(&path("/x")), Access::NONE);
}

#[test]
fn an_unanchored_read_rule_narrows_and_grants_nothing() {
    let policy = Team::new().own("src all").own("**/*.lock read").base("/w/cache", "read-write").compile();
    assert_eq!(may(&policy, "/w/src/a.lock"), "r");
    assert_eq!(may(&policy, "/w/other/a.lock"), "");
    assert_eq!(may(&policy, "/w/cache/a.lock"), "r", "what the base gives is narrowed, too");
}

#[test]
fn git_goes_with_the_work_tree() {
    let git = |team: Team| ["/w/.git/objects/ab/cd", "/w/.git/HEAD"].map(|at| may(&team.compile(), at));
    assert_eq!(git(Team::new().own("src read")), ["r", "r"]);
    assert_eq!(git(Team::new().own("src all")), ["rw", "rw"]);
    assert_eq!(
        git(Team::new().own(". read").own("src all")),
        ["rw", "rw"],
        "a rule for the whole tree does not stand in the way"
    );
    assert_eq!(git(Team::new().own(". read")), ["r", "r"]);
    assert_eq!(git(Team::new().own(". all")), ["rwx", "rwx"]);
    assert_eq!(git(Team::new()), ["", ""]);
    assert_eq!(git(Team::new().own("/elsewhere all")), ["", ""]);
    assert_eq!(git(Team::new().own("src all").max("read")), ["r", "r"]);
    assert_eq!(
        git(Team::new().own("src all").global(". read")),
        ["r", "r"],
        "what may not be written in the tree is not written in git"
    );
    assert_eq!(
        git(Team::new().own("src all").own(".git/HEAD read")),
        ["", "r"],
        "who speaks of .git says all of it"
    );
    assert_eq!(git(Team::new().own("src all").global("**/.git none")), ["", ""]);
    assert_eq!(git(Team::new().own("src all").own(".git read")), ["r", "r"]);
}

#[test]
fn hooks_of_git_run_for_whoever_may_read_git_and_nobody_changes_them() {
    let at = ["/w/.git/hooks/pre-commit", "/w/.husky/pre-commit", "/w/.git/modules/m/hooks/pre-commit"];
    let hooks = |team: Team| {
        let team = team.protected("/w/.husky", "protected.git-hooks");
        let policy = team.protected("/w/.git/modules/m/hooks", "protected.git-hooks").compile();
        at.map(|at| may(&policy, at))
    };
    assert_eq!(hooks(Team::new().own("src all")), ["rx"; 3]);
    assert_eq!(hooks(Team::new().own("src read")), ["rx"; 3]);
    assert_eq!(hooks(Team::new().own(". read-write")), ["rx"; 3]);
    assert_eq!(hooks(Team::new().own(". read")), ["rx"; 3]);
    assert_eq!(hooks(Team::new().own(". all").max("read")), ["rx"; 3], "the base is no grant");
    assert_eq!(hooks(Team::new()), [""; 3]);
    assert_eq!(hooks(Team::new().own("/elsewhere all")), [""; 3]);
    // A person who speaks of them says what may be done.
    assert_eq!(hooks(Team::new().own("src all").own(".husky read")), ["rx", "r", "rx"]);
    assert_eq!(
        hooks(Team::new().own(". read-write").own(".git read-write")),
        ["r"; 3],
        "all of git is theirs to say"
    );
    assert_eq!(hooks(Team::new().own("src all").global(".husky none")), ["rx", "", "rx"]);
    let elsewhere = Team::new().own("src all").protected("/opt/hooks", "protected.git-hooks").compile();
    assert_eq!(
        may(&elsewhere, "/opt/hooks/pre-commit"),
        "",
        "outside the work tree it is the person's alone"
    );
    let config = Team::new().own("src all").protected("/w/conf", "protected.git-config").compile();
    assert_eq!(may(&config, "/w/conf"), "", "git's configuration is not run");
}

#[test]
fn what_git_is_told_of_files_can_be_read_above_what_an_agent_has() {
    let policy = Team::new().own("a/b/c all").own("d/*/e read").compile();
    for at in
        ["/w/.gitignore", "/w/a/.gitattributes", "/w/a/b/.gitignore", "/w/.gitmodules", "/w/d/.gitignore"]
    {
        assert_eq!(may(&policy, at), "r", "{at}");
    }
    for at in ["/w/x/.gitignore", "/.gitignore", "/w/a", "/w/.gitignore.bak"] {
        assert_eq!(may(&policy, at), "", "{at}");
    }
    assert_eq!(may(&Team::new().own("a all").global("**/.gitignore none").compile(), "/w/.gitignore"), "");
    assert_eq!(may(&Team::new().own("/elsewhere all").compile(), "/w/.gitignore"), "");
}

#[test]
fn a_file_that_may_be_written_brings_its_temporary_siblings() {
    let team = Team::new().own(". read").own("notes.md read-write").single_file("/w/notes.md");
    let policy = team.compile();
    for verb in [Verb::Create, Verb::Write, Verb::Delete] {
        let decision = ask(&policy, verb, "/w/notes.md.tmp.123");
        assert_eq!(decision.effect, Effect::Allow, "{verb}");
        assert_eq!(decision.deciding().unwrap().why, Why::Sibling(path("/w/notes.md")));
    }
    assert_eq!(ask_move(&policy, "/w/notes.md.tmp", "/w/notes.md").effect, Effect::Allow);
    assert_eq!(ask_move(&policy, "/w/notes.md.a", "/w/notes.md.b").effect, Effect::Allow);
    for (from, to) in [
        ("/w/notes.md", "/w/notes.md.bak"),
        ("/w/other", "/w/notes.md.x"),
        ("/w/notes.md.x", "/w/other"),
        ("/w/notes.md.x", "/w/sub/notes.md"),
    ] {
        assert_eq!(ask_move(&policy, from, to).effect, Effect::Deny, "{from} {to}");
    }
    for at in ["/w/notes.md.", "/w/notes.mdx", "/w/notes", "/w/a/notes.md.tmp", "/w/notes.md.tmp/x"] {
        assert_eq!(ask(&policy, Verb::Create, at).effect, Effect::Deny, "{at}");
    }
    assert_eq!(may(&policy, "/w/notes.md.tmp"), "rw", "reading it is by the other rule");
    assert_eq!(ask(&policy, Verb::Execute, "/w/notes.md.tmp").effect, Effect::Deny);
}

#[test]
fn siblings_yield_to_what_speaks_of_them_and_end_with_the_file() {
    let team = || Team::new().own("notes.md read-write").single_file("/w/notes.md");
    let create = |team: Team| ask(&team.compile(), Verb::Create, "/w/notes.md.tmp").effect;
    assert_eq!(create(team()), Effect::Allow);
    assert_eq!(create(team().own("**/*.tmp none")), Effect::Deny);
    assert_eq!(create(team().own("**/*.tmp read")), Effect::Deny);
    assert_eq!(create(team().global("notes.md.tmp read")), Effect::Deny);
    assert_eq!(create(team().max("read")), Effect::Deny);
    assert_eq!(create(team().global("notes.md read")), Effect::Deny);
    assert_eq!(create(team().base("/w", "read")), Effect::Allow);
    let policy = team().compile();
    assert_eq!(ask(&policy, Verb::Read, "/w/notes.md.secret").effect, Effect::Deny);
    let folder = Team::new().own("notes.md read-write").compile();
    assert_eq!(
        ask(&folder, Verb::Create, "/w/notes.md.tmp").effect,
        Effect::Deny,
        "a folder has no siblings"
    );
}

#[test]
fn files_named_by_wildcard_have_temporary_siblings_too() {
    let policy = Team::new().own(". read").own("src/*.rs read-write").own("gen/*/out read-write").compile();
    let may = |verb, path: &str| ask(&policy, verb, path).effect == Effect::Allow;
    assert!(may(Verb::Create, "/w/src/new.rs.tmp.2.ab") && may(Verb::Delete, "/w/src/a.rs.bak"));
    assert!(!may(Verb::Create, "/w/src/new.txt.tmp") && !may(Verb::Create, "/w/src/sed4rT"));
    assert!(!may(Verb::Create, "/w/src/deep/a.rs.tmp"), "the wildcard stays in its folder");
    assert!(!may(Verb::Create, "/w/gen/a/out.tmp"), "it may be a folder");
    let moves = |from: &str, to: &str| ask_move(&policy, from, to).effect == Effect::Allow;
    assert!(moves("/w/src/a.rs.tmp", "/w/src/a.rs"));
    assert!(!moves("/w/src/a.rs.tmp", "/w/src/b.rs") && !moves("/w/src/a.rs.tmp", "/w/x"));
}

#[test]
fn the_plan_gets_every_rule_that_binds_the_agent() {
    let team = Team::new().global("g none").role("r", "docs read").own("src all").of("other", "x all");
    let policy = team.base("/usr", "execute").compile();
    let agent = policy.agent(AGENT).unwrap();
    let points: Vec<String> =
        agent.points().iter().map(|p| format!("{:?} {} {}", p.scope, p.pattern, p.access)).collect();
    assert_eq!(
        points,
        [
            "Global /w/g none",
            "Role /w/docs read",
            "Agent /w/src all",
            "Base /usr execute",
            "Base /w/.git read-write",
            "Base /w/.git/hooks execute",
            "Base /w/.gitignore read",
            "Base /w/.gitattributes read",
            "Base /w/.gitmodules read",
        ]
    );
    assert_eq!(agent.points().iter().filter(|p| p.scope == Scope::Base).count(), 6);
    assert_eq!(&*agent.none_rule(&path("/w/g/x")).unwrap().text, "g none");
    assert!(agent.none_rule(&path("/w/src")).is_none());
    assert_eq!(agent.access(&path("/w/src")), Access::ALL);
    assert_eq!(agent.max_access(), Access::ALL);
}

#[test]
fn the_digest_follows_the_meaning_and_not_the_places() {
    let digest = |team: Team| -> Digest { team.compile().digest() };
    let first = digest(Team::new().own("src all"));
    let mut moved = Team::new();
    for _ in 0..7 {
        moved.text("a comment");
    }
    assert_eq!(digest(moved.own("src all")), first);
    let others = [
        Team::new().own("src read"),
        Team::new().own("srcs all"),
        Team::new().global("src all"),
        Team::new().own("src all").max("all"),
        Team::new().own("src all").base("/usr", "read"),
        Team::new().own("src all").sealed("/x"),
        Team::new().own("src all").single_file("/w/src"),
        Team::new().own("src all").default(Effect::Ask),
    ];
    for other in others {
        assert_ne!(digest(other), first);
    }
    assert_eq!(Team::new().compile().epoch(), 1);
}
