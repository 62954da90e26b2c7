//! Paths that no rule opens.

use crate::team::{AGENT, Team, action, ask, ask_move, may, path};
use remit_core::{Effect, Layer, Object, Verb, Why};
use remit_policy::{Facts, Remedy, decide, explain};

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
        ("/w/.codex/rules/default.rules", "protected.codex-settings"),
        ("/w/.codex/environments/environment.toml", "protected.codex-settings"),
        ("/w/.gemini/extensions/x/gemini-extension.json", "protected.gemini-extensions"),
        ("/w/.gemini/.env", "protected.gemini-settings"),
        ("/w/.gemini/policies/a.toml", "protected.gemini-settings"),
        ("/w/.qwen/extensions/x", "protected.qwen-extensions"),
        ("/w/.opencode/tool/x.ts", "protected.opencode-plugins"),
        ("/w/.opencode/package.json", "protected.opencode-plugins"),
        ("/w/.github/extensions/x/extension.mjs", "protected.copilot-hooks"),
        ("/w/.github/copilot/settings.json", "protected.copilot-settings"),
        ("/w/.github/lsp.json", "protected.copilot-settings"),
        ("/w/.vscode/mcp.json", "protected.vscode-servers"),
        ("/w/.cursor/mcp.json", "protected.cursor-settings"),
        ("/w/.cursor/worktrees.json", "protected.cursor-settings"),
        ("/w/.factory/settings.local.json", "protected.factory-settings"),
        ("/w/.factory/mcp.json", "protected.factory-settings"),
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
        "/w/.git/rebase-merge/git-rebase-todo",
        "/w/.git/rebase-apply/0001",
        "/w/.git/sequencer/todo",
        "/w/.claude/commands/c.md",
        "/w/.vscode/tasks.json",
        "/w/.envrc",
        "/w/remit.yaml.md",
        "/w/src/opencode/plugins/x.ts",
        "/w/src/cline/hooks/x.ts",
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
fn the_refusal_to_move_a_folder_names_what_is_protected_in_it() {
    let policy = open().sealed("/s/state").protected("/w/tools/hooks", "protected.git-hooks").compile();
    for (at, held) in [
        ("/w/.claude", "a folder that can hold `/w/.claude/settings.json`"),
        ("/w/a/.cline/data", "a folder that can hold `/w/a/.cline/data/settings`"),
        ("/w/.git/modules", "a folder that can hold `/w/.git/modules/**/config`"),
        ("/w/.git/modules/sub", "a folder that can hold `/w/.git/modules/sub/config`"),
        ("/w/.git/worktrees", "a folder that can hold `/w/.git/worktrees/*/config.worktree`"),
        ("/w/tools", "a folder that holds `/w/tools/hooks`"),
        ("/home/me/.config", "a folder that holds `/home/me/.config/git`"),
        ("/w", "a folder that holds `/w/tools/hooks`"),
        ("/s", "a folder that holds what is outside every session"),
    ] {
        let decision = ask_move(&policy, at, "/x/y");
        let reason = decision.deciding().unwrap();
        assert_eq!(
            reason.to_string(),
            format!("{held} is protected, and no rule or grant lifts that"),
            "{at}"
        );
        assert_eq!(&*reason.rule.as_ref().unwrap().id, "protected.folder");
    }
    let plain = open().compile();
    let removed = ask(&plain, Verb::Delete, "/w").deciding().unwrap().to_string();
    assert!(removed.starts_with("a folder that holds the workspace `/w` is protected"), "{removed}");
}

#[test]
fn every_refusal_for_what_is_protected_is_a_sentence() {
    let policy = open().compile();
    for at in [
        "/w/remit.yml",
        "/w/.git/info",
        "/w/.git/config",
        "/w/.git/commondir",
        "/w/.intentignore",
        "/w/.mcp.json",
    ] {
        for verb in CHANGES {
            let told = ask(&policy, verb, at).deciding().unwrap().to_string();
            let (what, rest) = told.split_once(" is protected, ").unwrap();
            assert_eq!(rest, "and no rule or grant lifts that");
            assert!(
                !what.contains(',') && !what.contains(" and "),
                "{what} is one thing, said without a pause"
            );
        }
    }
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

#[test]
fn a_policy_planted_below_or_beside_the_workspace_is_refused() {
    let policy = open().compile();
    for folder in ["/w/sub", "/w/a/b/c", "/elsewhere", "/"] {
        let folder = folder.trim_end_matches('/');
        for name in [
            "remit.yaml",
            "massgen-permissions.yaml",
            "remit.yml",
            "remit.json",
            "massgen-permissions.yml",
            "Remit.YAML",
            ".orchestration/active_intents.yaml",
            ".intentignore",
        ] {
            let at = format!("{folder}/{name}");
            for verb in CHANGES {
                assert_eq!(ask(&policy, verb, &at).effect, Effect::Deny, "{verb} {at}");
            }
            assert_eq!(ask_move(&policy, "/w/x", &at).effect, Effect::Deny, "{at}");
        }
    }
}

#[test]
fn settings_of_agent_programs_are_closed_outside_the_workspace_too() {
    let policy = open().compile();
    for at in [
        "/elsewhere/.claude/settings.json",
        "/home/me/.claude/settings.json",
        "/home/me/.claude.json",
        "/home/me/.codex/config.toml",
        "/home/me/.cursor/mcp.json",
        "/home/me/.copilot/mcp-config.json",
        "/home/me/.config/opencode/plugins/x.js",
        "/home/me/Documents/Cline/Hooks/PreToolUse",
        "/home/me/.gitconfig",
        "/home/me/.config/git/config",
    ] {
        assert_eq!(ask(&policy, Verb::Create, at).effect, Effect::Deny, "{at}");
        assert_eq!(ask_move(&policy, "/w/x", at).effect, Effect::Deny, "{at}");
    }
    assert_eq!(ask_move(&policy, "/home/me/.config", "/w/x").effect, Effect::Deny);
    assert_eq!(ask(&policy, Verb::Write, "/w/.config/git/config").effect, Effect::Allow);
}

#[test]
fn a_bare_repository_is_known_by_the_end_of_its_name() {
    let policy = open().compile();
    for at in ["/w/lib.git/config", "/w/lib.git/hooks/post-update", "/w/a/LIB.GIT/info/attributes"] {
        for verb in CHANGES {
            assert_eq!(ask(&policy, verb, at).effect, Effect::Deny, "{verb} {at}");
        }
    }
    for at in ["/w/lib.git", "/w/lib.git/objects/ab/c", "/w/lib.git/HEAD", "/w/widgit/config"] {
        assert_eq!(ask(&policy, Verb::Create, at).effect, Effect::Allow, "{at}");
    }
    assert_eq!(ask_move(&policy, "/w/x", "/w/lib.git").effect, Effect::Deny);
}

#[test]
fn a_git_folder_under_another_name_is_protected_as_a_dot_git_is() {
    let policy = open().git_dir("/w/.bare").compile();
    for at in [
        "/w/.bare/hooks/pre-commit",
        "/w/.bare/config",
        "/w/.bare/config.lock",
        "/w/.bare/info/attributes",
        "/w/.BARE/modules/sub/hooks/x",
        "/w/.bare/worktrees/x/gitdir",
    ] {
        for verb in CHANGES {
            assert_eq!(ask(&policy, verb, at).effect, Effect::Deny, "{verb} {at}");
        }
    }
    for at in ["/w/.bare/objects/ab/c", "/w/.bare/refs/heads/main", "/w/.bare/index", "/w/.barely/config"] {
        assert_eq!(ask(&policy, Verb::Write, at).effect, Effect::Allow, "{at}");
    }
    for end in ["/w/.bare", "/w"] {
        assert_eq!(ask_move(&policy, end, "/x/y").effect, Effect::Deny, "{end}");
    }
}

#[test]
fn a_hook_that_git_is_told_to_run_from_the_work_tree_is_closed() {
    let policy = open().protected("/w/src/.husky", "protected.git-hooks").compile();
    for at in ["/w/src/.husky", "/w/src/.husky/pre-commit", "/w/SRC/.Husky/_/h"] {
        for verb in CHANGES {
            let decision = ask(&policy, verb, at);
            let rule = decision.deciding().and_then(|reason| reason.rule.clone()).unwrap();
            assert_eq!((decision.effect, &*rule.id), (Effect::Deny, "protected.git-hooks"), "{verb} {at}");
        }
        assert_eq!(ask(&policy, Verb::Read, at).effect, Effect::Allow);
    }
    assert_eq!(ask_move(&policy, "/w/src", "/w/lib").effect, Effect::Deny);
    assert_eq!(ask_move(&policy, "/w/lib", "/w/src").effect, Effect::Deny);
    assert_eq!(ask(&policy, Verb::Write, "/w/src/a.rs").effect, Effect::Allow);
    assert_ne!(policy.digest(), open().compile().digest());
}

#[test]
fn names_are_free_in_the_sessions_private_folders_and_nowhere_else() {
    let team = open().own("/tmp/shared all").private("/tmp").private("/home/agent");
    let policy = team.protected("/tmp/hooks", "protected.git-hooks").sealed("/tmp/state").compile();
    for at in ["/home/agent/.claude/settings.json", "/tmp/t/remit.yaml", "/tmp/t/.git/config", "/tmp/.git"] {
        assert_eq!(ask(&policy, Verb::Create, at).effect, Effect::Allow, "{at}");
    }
    for at in [
        "/tmp/shared/x/remit.yaml",
        "/tmp/shared/.claude/settings.json",
        "/tmp/hooks/pre-commit",
        "/tmp/state/x",
        "/tmpx/remit.yaml",
        "/TMP/remit.yaml",
        "/home/agents/.mcp.json",
    ] {
        assert_eq!(ask(&policy, Verb::Create, at).effect, Effect::Deny, "{at}");
    }
    assert_eq!(ask_move(&policy, "/tmp/t/.mcp.json", "/w/.mcp.json").effect, Effect::Deny);
}

#[test]
fn a_workspace_below_a_private_folder_is_not_private() {
    let policy = open().private("/w").private("/").compile();
    assert_eq!(ask(&policy, Verb::Create, "/w/sub/remit.yaml").effect, Effect::Deny);
    assert_eq!(ask(&policy, Verb::Create, "/w/.git/hooks/x").effect, Effect::Deny);
}

#[test]
fn a_second_name_for_a_folder_cannot_stand_where_settings_would_be_looked_for() {
    // A link gives something that exists one more name, and is asked as that.
    let policy = open().protected("/w/src/.husky", "protected.git-hooks").git_dir("/w/x/.bare").compile();
    for at in ["/w/.claude", "/w/a/.cursor", "/w/lib.git", "/w/src", "/w/x", "/w/.git/modules/sub"] {
        assert_eq!(ask(&policy, Verb::Rename, at).effect, Effect::Deny, "{at}");
        assert_eq!(ask(&policy, Verb::Create, at).effect, Effect::Allow, "a folder: {at}");
    }
    assert_eq!(ask(&policy, Verb::Rename, "/w/lib").effect, Effect::Allow);
}

#[test]
fn what_nothing_can_speak_below_need_not_be_looked_through() {
    let team = open().own("/tmp/shared all").private("/tmp").protected("/tmp/hooks/x", "protected.git-hooks");
    let policy = team.own("/tmp/a/part read").own("/tmp/b/*.lock read").sealed("/tmp/c/state").compile();
    for at in ["/tmp/free", "/tmp/a/part/x", "/tmp/shared2", "/tmp/c/other"] {
        assert!(!policy.speaks_below(AGENT, &path(at)), "{at}");
    }
    for at in ["/tmp", "/tmp/a", "/tmp/b", "/tmp/b/x", "/tmp/c", "/tmp/HOOKS", "/tmp/shared/x", "/w/any", "/"]
    {
        assert!(policy.speaks_below(AGENT, &path(at)), "{at}");
    }
    assert!(policy.speaks_below("nobody", &path("/tmp/free")));
}

#[test]
fn an_entry_below_stands_against_a_folder_with_its_own_rule() {
    let policy = open().global("**/.env none").compile();
    let whole = action(AGENT, Verb::Delete, Object::Path(path("/w/a")));
    for (at, layer, rule) in
        [("/w/a/x/.env", Layer::System, "**/.env none"), ("/w/a/.mcp.json", Layer::Protected, ".mcp.json")]
    {
        let entry = ask(&policy, Verb::Delete, at);
        let facts = Facts::below(&path(at), entry.deciding().unwrap());
        let decision = decide(&policy, &facts, &whole);
        let reason = decision.deciding().unwrap();
        assert_eq!((decision.effect, reason.layer), (Effect::Deny, layer));
        assert!(reason.rule.as_ref().is_some_and(|had| &*had.text == rule), "{reason:?}");
        assert!(reason.to_string().starts_with(&format!("{at} would go with it: ")), "{reason}");
        assert!(decision.reasons.is_sorted_by_key(|reason| reason.layer));
        // A person's rule can be changed; what is built in cannot.
        let remedy = explain(&policy, &facts, &whole).remedy.unwrap();
        assert_eq!(matches!(remedy, Remedy::Change(_)), layer == Layer::System, "{remedy:?}");
    }
}
