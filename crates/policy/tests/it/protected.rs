//! Paths that no rule opens.

use crate::team::{Team, ask, ask_move, may};
use remit_core::{Effect, Layer, Verb, Why};

fn open() -> Team {
    Team::new().own("/ all").own("/w all")
}

const CHANGES: [Verb; 4] = [Verb::Write, Verb::Create, Verb::Delete, Verb::Rename];

#[test]
fn what_would_let_an_agent_out_cannot_be_changed() {
    let policy = open().compile();
    let cases = [
        ("/w/remit.yaml", "protected.policy"),
        ("/w/massgen-permissions.yaml", "protected.policy"),
        ("/w/.orchestration", "protected.orchestration"),
        ("/w/.orchestration/active_intents.yaml", "protected.orchestration"),
        ("/w/.intentignore", "protected.intentignore"),
        ("/w/.claude/settings.json", "protected.claude-settings"),
        ("/w/a/b/.claude/settings.local.json", "protected.claude-settings"),
        ("/w/.claude/hooks/pre.sh", "protected.claude-hooks"),
        ("/w/.mcp.json", "protected.mcp-servers"),
        ("/w/.codex/hooks.json", "protected.codex-hooks"),
        ("/w/.codex/config.toml", "protected.codex-settings"),
        ("/w/.gemini/settings.json", "protected.gemini-settings"),
        ("/w/.opencode/plugin/x.js", "protected.opencode-plugins"),
        ("/w/.opencode/plugins/x.js", "protected.opencode-plugins"),
        ("/w/opencode.json", "protected.opencode-settings"),
        ("/w/sub/opencode.jsonc", "protected.opencode-settings"),
        ("/w/.github/hooks/x", "protected.copilot-hooks"),
        ("/w/.clinerules/hooks", "protected.cline-hooks"),
        ("/w/.cursor/hooks.json", "protected.cursor-hooks"),
        ("/w/.factory/hooks.json", "protected.factory-hooks"),
        ("/w/.factory/settings.json", "protected.factory-settings"),
        ("/w/.qwen/settings.json", "protected.qwen-settings"),
        ("/w/.git", "protected.git"),
        ("/elsewhere/sub/.git", "protected.git"),
        ("/w/.git/hooks/pre-commit", "protected.git-hooks"),
        ("/w/vendor/sub/.git/hooks/pre-commit", "protected.git-hooks"),
        ("/w/.git/config", "protected.git-config"),
        ("/w/.git/config.lock", "protected.git-config"),
        ("/w/.git/config.worktree", "protected.git-config"),
        ("/w/.git/info/attributes", "protected.git-info"),
        ("/w/.git/commondir", "protected.git-link"),
        ("/w/.git/gitdir", "protected.git-link"),
        ("/w/.git/modules/sub/config", "protected.submodule-config"),
        ("/w/.git/modules/libs/sub/config", "protected.submodule-config"),
        ("/w/.git/modules/libs/sub/hooks/post-checkout", "protected.submodule-hooks"),
        ("/w/.git/worktrees/x/config.worktree", "protected.worktree-config"),
        ("/w/.git/worktrees/x/gitdir", "protected.worktree-link"),
        ("/w/.git/worktrees/x/commondir", "protected.worktree-link"),
        ("/w/.GIT/Hooks/pre-commit", "protected.git-hooks"),
        ("/w/.Claude/SETTINGS.json", "protected.claude-settings"),
        ("/W/Remit.yaml", "protected.policy"),
    ];
    for (at, id) in cases {
        for verb in CHANGES {
            let decision = ask(&policy, verb, at);
            let reason = decision.deciding().unwrap();
            assert_eq!((decision.effect, reason.layer), (Effect::Deny, Layer::Protected), "{verb} {at}");
            assert_eq!(&*reason.rule.as_ref().unwrap().id, id, "{verb} {at}");
            assert!(matches!(reason.why, Why::Protected(_)));
        }
        assert_eq!(ask(&policy, Verb::Read, at).effect, Effect::Allow, "reading {at}");
        for (from, to) in [(at, "/w/x"), ("/w/x", at)] {
            assert_eq!(ask_move(&policy, from, to).effect, Effect::Deny, "{from} {to}");
        }
    }
}

#[test]
fn the_rest_of_git_and_of_the_folders_may_be_changed() {
    let policy = open().compile();
    let paths = [
        "/w/.git/objects/ab/cdef",
        "/w/.git/refs/heads/main",
        "/w/.git/logs/HEAD",
        "/w/.git/index.lock",
        "/w/.git/HEAD",
        "/w/.git/packed-refs",
        "/w/.git/worktrees/x/HEAD",
        "/w/.git/worktrees/x/index",
        "/w/.git/modules/sub/index",
        "/w/.git/modules/sub/refs/heads/main",
        "/w/.git/refs/heads/config",
        "/w/.gitignore",
        "/w/.github/workflows/ci.yml",
        "/w/.claude/agents/a.md",
        "/w/sub/remit.yaml",
        "/w/sub/.orchestration/x",
        "/elsewhere/.claude/settings.json",
        "/w/hooks/x",
        "/w/config",
        "/w/settings.json",
    ];
    for at in paths {
        for verb in CHANGES {
            assert_eq!(ask(&policy, verb, at).effect, Effect::Allow, "{verb} {at}");
        }
        assert_eq!(ask_move(&policy, at, &format!("{at}.new")).effect, Effect::Allow, "{at}");
    }
}

#[test]
fn a_new_repository_is_refused_with_plain_words() {
    let policy = open().compile();
    let words = |at| ask(&policy, Verb::Create, at).deciding().unwrap().to_string();
    assert!(words("/w/new/.git").contains("git init"), "{}", words("/w/new/.git"));
    assert!(words("/w/.git/worktrees/x/gitdir").contains("git worktree add"));
    let written = ask(&policy, Verb::Write, "/w/.git").deciding().unwrap().to_string();
    assert!(!written.contains("git init"), "{written}");
}

#[test]
fn a_folder_is_not_moved_with_what_is_protected_in_it() {
    let policy = open().compile();
    for at in [
        "/w/.claude",
        "/w/a/.codex",
        "/w/.git/modules",
        "/w/.git/modules/sub",
        "/w/.git/worktrees/x",
        "/w",
        "/",
    ] {
        assert_eq!(ask_move(&policy, at, "/x/y").effect, Effect::Deny, "{at}");
        assert_eq!(ask_move(&policy, "/x/y", at).effect, Effect::Deny, "{at}");
    }
    assert_eq!(ask(&policy, Verb::Delete, "/w").effect, Effect::Deny);
    assert_eq!(ask(&policy, Verb::Delete, "/w/.claude").effect, Effect::Allow, "only an empty one can be");
    assert_eq!(ask(&policy, Verb::Create, "/w/.claude").effect, Effect::Allow);
    assert_eq!(ask_move(&policy, "/w/src", "/w/lib").effect, Effect::Allow);
}

#[test]
fn sealed_paths_cannot_even_be_read() {
    let policy = open().sealed("/home/me/.local/state/remit").compile();
    assert_eq!(may(&policy, "/home/me/.local/state/remit"), "");
    assert_eq!(may(&policy, "/home/me/.local/STATE/remit/keys/k"), "");
    assert_eq!(may(&policy, "/home/me/.local/state/remit-other"), "rwx");
    assert_eq!(may(&policy, "/home/me/.local/state"), "rwx");
    assert_eq!(ask_move(&policy, "/home/me/.local", "/x").effect, Effect::Deny);
    let decision = ask(&policy, Verb::Read, "/home/me/.local/state/remit/x");
    assert_eq!(&*decision.deciding().unwrap().rule.as_ref().unwrap().id, "protected.sealed");
}

#[test]
fn the_rules_answer_stands_beside_the_protected_one() {
    let policy = open().compile();
    let decision = ask(&policy, Verb::Write, "/w/.git/config");
    let layers: Vec<_> = decision.reasons.iter().map(|r| (r.layer, r.effect)).collect();
    assert_eq!(layers, [(Layer::Protected, Effect::Deny), (Layer::Agent, Effect::Allow)]);
}
