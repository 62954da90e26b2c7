//! Which names are protected: what would let an agent out of its remit if it could write it. Three tables:
//! names in any folder, what lies in a git folder, and places below the person's home.
//!
//! A name is here if some program takes it up *by itself* and then runs or obeys what stands there: the
//! policy, the settings, hooks, plugins and tool servers of agent programs. What only a person sets going
//! (tasks of an editor, commands) and what is text for a model (instructions, skills, subagents) is not.

/// One row: these components and all below them. `*` is any one component, `**` any number but none.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) parts: &'static [&'static str],
    pub(crate) what: &'static str,
    /// What is said when something new would be made there, if that differs.
    pub(crate) new: Option<&'static str>,
}

const fn row(id: &'static str, parts: &'static [&'static str], what: &'static str) -> Row {
    Row { id, parts, what, new: None }
}

const POLICY: &str = "the policy";
const OWN: &str = "your own settings of Remit (your policy, and what you trust)";
const NEARLY: &str = "a name that stops every run since it is taken for a policy's";
const SETTINGS: &str = "what an agent's own program runs or obeys";
const GIT_HOOKS: &str = "what git runs by itself";
const GIT_CONFIG: &str = "git's configuration (it can name programs to run)";
const GIT_LINK: &str = "a link between git folders";
const NEW_WORKTREE: &str = "a new linked worktree (`git worktree add` is not yet possible in a workspace)";

/// How many rows of [`NAMES`] begin with a name without a dot.
pub(crate) const PLAIN: usize = 8;

/// Names in any folder at all.
#[rustfmt::skip]
pub(crate) const NAMES: &[Row] = &[
    // First: names without a dot.
    row("protected.policy", &["remit.yaml"], POLICY),
    row("protected.policy", &["massgen-permissions.yaml"], POLICY),
    row("protected.policy", &["remit.yml"], NEARLY),
    row("protected.policy", &["remit.json"], NEARLY),
    row("protected.policy", &["massgen-permissions.yml"], NEARLY),
    row("protected.opencode-settings", &["opencode.json"], SETTINGS),
    row("protected.opencode-settings", &["opencode.jsonc"], SETTINGS),
    row("protected.cline-settings", &["cline_mcp_settings.json"], SETTINGS),
    row("protected.orchestration", &[".orchestration"], "the record of intents and changes"),
    row("protected.intentignore", &[".intentignore"], "the list of what no intent may touch"),
    row("protected.mcp-servers", &[".mcp.json"], SETTINGS),
    row("protected.claude-settings", &[".claude", "settings.json"], SETTINGS),
    row("protected.claude-settings", &[".claude", "settings.local.json"], SETTINGS),
    row("protected.claude-settings", &[".claude.json"], SETTINGS),
    row("protected.claude-hooks", &[".claude", "hooks"], SETTINGS),
    row("protected.codex-settings", &[".codex", "config.toml"], SETTINGS),
    row("protected.codex-settings", &[".codex", "rules"], SETTINGS),
    row("protected.codex-settings", &[".codex", "environments"], SETTINGS),
    row("protected.codex-hooks", &[".codex", "hooks.json"], SETTINGS),
    row("protected.codex-hooks", &[".codex", "hooks"], SETTINGS),
    row("protected.gemini-settings", &[".gemini", "settings.json"], SETTINGS),
    row("protected.gemini-settings", &[".gemini", "trustedFolders.json"], SETTINGS),
    row("protected.gemini-settings", &[".gemini", ".env"], SETTINGS),
    row("protected.gemini-settings", &[".gemini", "policies"], SETTINGS),
    row("protected.gemini-settings", &[".gemini", "sandbox.Dockerfile"], SETTINGS),
    row("protected.gemini-hooks", &[".gemini", "hooks"], SETTINGS),
    row("protected.gemini-extensions", &[".gemini", "extensions"], SETTINGS),
    row("protected.qwen-settings", &[".qwen", "settings.json"], SETTINGS),
    row("protected.qwen-settings", &[".qwen", "trustedFolders.json"], SETTINGS),
    row("protected.qwen-settings", &[".qwen", ".env"], SETTINGS),
    row("protected.qwen-settings", &[".qwen", "sandbox.Dockerfile"], SETTINGS),
    row("protected.qwen-hooks", &[".qwen", "hooks"], SETTINGS),
    row("protected.qwen-extensions", &[".qwen", "extensions"], SETTINGS),
    row("protected.opencode-plugins", &[".opencode", "plugins"], SETTINGS),
    row("protected.opencode-plugins", &[".opencode", "plugin"], SETTINGS),
    row("protected.opencode-plugins", &[".opencode", "tools"], SETTINGS),
    row("protected.opencode-plugins", &[".opencode", "tool"], SETTINGS),
    row("protected.opencode-plugins", &[".opencode", "package.json"], SETTINGS),
    row("protected.copilot-hooks", &[".github", "hooks"], SETTINGS),
    row("protected.copilot-hooks", &[".github", "extensions"], SETTINGS),
    row("protected.copilot-hooks", &[".copilot", "hooks"], SETTINGS),
    row("protected.copilot-hooks", &[".copilot", "extensions"], SETTINGS),
    row("protected.copilot-settings", &[".github", "copilot"], SETTINGS),
    row("protected.copilot-settings", &[".github", "mcp.json"], SETTINGS),
    row("protected.copilot-settings", &[".github", "lsp.json"], SETTINGS),
    row("protected.copilot-settings", &[".copilot", "settings.json"], SETTINGS),
    row("protected.copilot-settings", &[".copilot", "config.json"], SETTINGS),
    row("protected.copilot-settings", &[".copilot", "mcp-config.json"], SETTINGS),
    row("protected.copilot-settings", &[".copilot", "lsp-config.json"], SETTINGS),
    row("protected.vscode-servers", &[".vscode", "mcp.json"], SETTINGS),
    row("protected.cline-hooks", &[".clinerules", "hooks"], SETTINGS),
    row("protected.cline-hooks", &[".cline", "hooks"], SETTINGS),
    row("protected.cline-settings", &[".cline", "data", "settings"], SETTINGS),
    row("protected.cursor-hooks", &[".cursor", "hooks.json"], SETTINGS),
    row("protected.cursor-hooks", &[".cursor", "hooks"], SETTINGS),
    row("protected.cursor-settings", &[".cursor", "mcp.json"], SETTINGS),
    row("protected.cursor-settings", &[".cursor", "cli.json"], SETTINGS),
    row("protected.cursor-settings", &[".cursor", "cli-config.json"], SETTINGS),
    row("protected.cursor-settings", &[".cursor", "sandbox.json"], SETTINGS),
    row("protected.cursor-settings", &[".cursor", "worktrees.json"], SETTINGS),
    row("protected.cursor-settings", &[".cursor", "environment.json"], SETTINGS),
    row("protected.factory-hooks", &[".factory", "hooks.json"], SETTINGS),
    row("protected.factory-hooks", &[".factory", "hooks"], SETTINGS),
    row("protected.factory-settings", &[".factory", "settings.json"], SETTINGS),
    row("protected.factory-settings", &[".factory", "settings.local.json"], SETTINGS),
    row("protected.factory-settings", &[".factory", "mcp.json"], SETTINGS),
    row("protected.windsurf-hooks", &[".windsurf", "hooks.json"], SETTINGS),
    row("protected.amp-settings", &[".amp", "settings.json"], SETTINGS),
    row("protected.amp-settings", &[".amp", "plugins"], SETTINGS),
    row("protected.roo-settings", &[".roo", "mcp.json"], SETTINGS),
];

/// What lies in a git folder: a `.git`, a folder whose name ends so, one that a `.git` points to.
#[rustfmt::skip]
pub(crate) const GIT: &[Row] = &[
    row("protected.git-hooks", &["hooks"], GIT_HOOKS),
    row("protected.git-config", &["config"], GIT_CONFIG),
    row("protected.git-config", &["config.lock"], GIT_CONFIG),
    row("protected.git-config", &["config.worktree"], GIT_CONFIG),
    row("protected.git-info", &["info"], "git's own list of attributes or of what it ignores"),
    row("protected.git-link", &["commondir"], GIT_LINK),
    row("protected.git-link", &["gitdir"], GIT_LINK),
    row("protected.submodule-config", &["modules", "**", "config"], GIT_CONFIG),
    row("protected.submodule-config", &["modules", "**", "config.lock"], GIT_CONFIG),
    row("protected.submodule-config", &["modules", "**", "config.worktree"], GIT_CONFIG),
    row("protected.submodule-hooks", &["modules", "**", "hooks"], GIT_HOOKS),
    row("protected.submodule-link", &["modules", "**", "commondir"], GIT_LINK),
    Row { new: Some(NEW_WORKTREE), ..row("protected.worktree-config", &["worktrees", "*", "config.worktree"], GIT_CONFIG) },
    Row { new: Some(NEW_WORKTREE), ..row("protected.worktree-link", &["worktrees", "*", "gitdir"], GIT_LINK) },
    Row { new: Some(NEW_WORKTREE), ..row("protected.worktree-link", &["worktrees", "*", "commondir"], GIT_LINK) },
];

/// The `.git` itself, not what lies in it.
pub(crate) const DOT_GIT: Row = Row {
    new: Some(
        "the `.git` of a new repository (`git init` and `git worktree add` are not yet possible in a workspace)",
    ),
    ..row("protected.git", &[".git"], "the `.git` of a repository, worktree or submodule")
};

/// Places below the person's home whose last names alone say too little.
#[rustfmt::skip]
pub(crate) const HOME: &[Row] = &[
    row("protected.git-config", &[".gitconfig"], GIT_CONFIG),
    row("protected.git-config", &[".config", "git"], GIT_CONFIG),
    row("protected.remit-settings", &[".config", "remit"], OWN),
    row("protected.opencode-settings", &[".config", "opencode"], SETTINGS),
    row("protected.amp-settings", &[".config", "amp"], SETTINGS),
    row("protected.cline-hooks", &["Documents", "Cline", "Hooks"], SETTINGS),
    row("protected.windsurf-hooks", &[".codeium", "windsurf"], SETTINGS),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_without_a_dot_come_first_and_begin_with_the_letters_that_are_looked_for() {
        for (at, row) in NAMES.iter().enumerate() {
            let first = row.parts[0].as_bytes()[0];
            assert_eq!(at < PLAIN, first != b'.', "{}", row.parts[0]);
            assert!(b".rmoc".contains(&first), "{}", row.parts[0]);
        }
    }

    #[test]
    fn no_name_belongs_to_git_which_has_a_table_of_its_own() {
        assert!(NAMES.iter().all(|row| !row.parts[0].ends_with(".git")));
    }
}
