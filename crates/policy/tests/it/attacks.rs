//! Ways round path rules that were found in other tools, as far as they are about paths. What depends on
//! links, descriptors or races is tested where the kernel is asked.

use crate::team::{AGENT, Team, action, ask, ask_move, may, path};
use remit_core::{AbsPath, Effect, Object, PathError, Verb};
use remit_policy::{Facts, decide};

#[test]
fn a_denied_file_is_denied_however_the_rule_spells_it() {
    for spelling in [".env", "./.env", "/w/.env", ".env/**", "//w/.env", "/w/./.env", "[.]env", "/w/**/.env"]
    {
        let policy = Team::new().own(". all").own(&format!("{spelling} none")).compile();
        for verb in [Verb::Read, Verb::Write, Verb::Create, Verb::Delete, Verb::Execute] {
            assert_eq!(ask(&policy, verb, "/w/.env").effect, Effect::Deny, "{spelling} {verb}");
        }
        assert_eq!(may(&policy, "/w/.envrc"), "rwx", "{spelling}");
    }
}

#[test]
fn a_sibling_folder_with_the_same_beginning_is_another_folder() {
    let policy = Team::new().own("/w all").compile();
    assert_eq!(may(&policy, "/w-evil/x"), "");
    assert_eq!(may(&policy, "/wx"), "");
}

#[test]
fn settings_that_do_not_exist_yet_cannot_be_created() {
    let policy = Team::new().own(". all").compile();
    for at in ["/w/.claude/settings.json", "/w/.mcp.json", "/w/sub/.codex/config.toml"] {
        assert_eq!(ask(&policy, Verb::Create, at).effect, Effect::Deny, "{at}");
        assert_eq!(ask_move(&policy, "/w/harmless", at).effect, Effect::Deny, "{at}");
    }
}

#[test]
fn git_hooks_are_closed_at_any_depth_and_a_hostile_git_cannot_be_made() {
    let policy = Team::new().own(". all").compile();
    for at in ["/w/vendor/sub/.git/hooks/pre-commit", "/w/.git/hooks", "/w/new/.git", "/w/new/.git/config"] {
        assert_eq!(ask(&policy, Verb::Create, at).effect, Effect::Deny, "{at}");
    }
    for at in ["/w/sub/.git", "/w/.git/commondir", "/w/.git/worktrees/a/gitdir"] {
        assert_eq!(ask(&policy, Verb::Write, at).effect, Effect::Deny, "{at}");
    }
}

#[test]
fn letter_case_opens_nothing_protected_and_closes_nothing_else() {
    let policy = Team::new().own(". all").own("secret none").compile();
    assert_eq!(ask(&policy, Verb::Write, "/w/.CURSOR/Hooks.json").effect, Effect::Deny);
    assert_eq!(ask(&policy, Verb::Write, "/w/.gIt/config").effect, Effect::Deny);
    assert_eq!(may(&policy, "/w/Secret"), "rwx", "rules are about the kernel's own names");
}

#[test]
fn two_encodings_of_a_letter_are_two_names() {
    let policy = Team::new().own(". all").own("caf\u{e9} none").compile();
    assert_eq!(may(&policy, "/w/caf\u{e9}/x"), "");
    assert_eq!(may(&policy, "/w/cafe\u{301}/x"), "rwx");
}

#[test]
fn odd_anchors_are_never_silently_dead() {
    for spelling in ["secret/", "secret/*", "**/secret/*", "**/secret/**", "//w/secret/**", "/w//secret"] {
        let policy = Team::new().own(". all").own(&format!("{spelling} none")).compile();
        for at in ["/w/secret", "/w/secret/k", "/w/secret/a/b"] {
            assert_eq!(may(&policy, at), "", "{spelling} {at}");
        }
    }
    let home = Team::new().own("/home all").own("~/** none").compile();
    assert_eq!(may(&home, "/home/me/.ssh/id"), "");
}

#[test]
fn variables_and_other_homes_are_refused_and_not_guessed() {
    for spelling in ["$HOME/.x", "${PWD%/*}", "~root/x", "~-", "../x", "a/../../x"] {
        let team = Team::new().own(&format!("{spelling} none"));
        assert_eq!(team.errors().len(), 1, "{spelling}");
    }
}

#[test]
fn malformed_paths_never_become_a_question() {
    assert_eq!(AbsPath::new(b"/w/a\0b"), Err(PathError::Nul));
    assert_eq!(AbsPath::new("/w/../etc"), Err(PathError::Dots));
    assert_eq!(AbsPath::new("//etc/./x").err(), Some(PathError::Dots));
    assert_eq!(AbsPath::lexical(&path("/w"), "./../../etc").unwrap(), path("/etc"));
}

#[test]
fn control_bytes_and_broken_text_are_decided_as_bytes() {
    let policy = Team::new().own("src all").own("src/*.key none").compile();
    assert_eq!(ask(&policy, Verb::Read, b"/w/src/a\n\x1b[2J").effect, Effect::Allow);
    assert_eq!(ask(&policy, Verb::Read, b"/w/src/\xff\n.key").effect, Effect::Deny);
    assert_eq!(ask(&policy, Verb::Read, b"/w/src\xff/a").effect, Effect::Deny);
}

#[test]
fn what_is_granted_to_one_agent_is_nobody_elses() {
    let policy = Team::new().own("src all").of("other", "src none").compile();
    let of = |agent: &str| {
        decide(&policy, &Facts::default(), &action(agent, Verb::Read, Object::Path(path("/w/src/a"))))
    };
    assert_eq!((of(AGENT).effect, of("other").effect), (Effect::Allow, Effect::Deny));
}

#[test]
fn a_hard_link_of_a_file_that_may_not_be_changed_is_refused() {
    let policy = Team::new().own(". all").own("data read").own("secret none").compile();
    assert_eq!(ask_move(&policy, "/w/data/a", "/w/alias").effect, Effect::Deny);
    assert_eq!(ask_move(&policy, "/w/secret/a", "/w/alias").effect, Effect::Deny);
    assert_eq!(ask_move(&policy, "/w/.git/config", "/w/alias").effect, Effect::Deny);
}

#[test]
fn a_pattern_with_many_wildcards_cannot_be_made_slow_by_a_path() {
    let policy = Team::new().own(". all").own("**/a/**/a/**/a/**/b none").compile();
    let deep = format!("/w{}", "/a".repeat(1500));
    assert_eq!(ask(&policy, Verb::Read, &deep).effect, Effect::Allow);
    assert_eq!(ask(&policy, Verb::Read, format!("{deep}/b")).effect, Effect::Deny);
}

#[test]
fn no_other_name_is_put_on_the_way_to_where_access_ends_or_narrows() {
    let policy = Team::new()
        .own(". all")
        .global("config/secrets/** none")
        .own("lib/gen read")
        .own("a/b all")
        .compile();
    for at in ["/w/config", "/w/lib"] {
        let link = ask(&policy, Verb::Rename, at);
        assert_eq!(link.effect, Effect::Deny, "{at}");
        let reason = link.deciding().unwrap();
        assert!(reason.rule.is_some() && reason.to_string().contains("on the way"), "{reason}");
        assert_eq!(ask_move(&policy, "/w/pub", at).effect, Effect::Deny, "{at}");
        assert_eq!(ask_move(&policy, at, "/w/pub").effect, Effect::Deny, "{at}");
        assert_eq!(ask(&policy, Verb::Create, at).effect, Effect::Allow, "{at}");
    }
    for at in ["/w/a", "/w/configs", "/w/conf", "/w/library", "/w/config/pub"] {
        assert_eq!(ask(&policy, Verb::Rename, at).effect, Effect::Allow, "{at}");
        assert_eq!(ask_move(&policy, "/w/pub", at).effect, Effect::Allow, "{at}");
    }
}
