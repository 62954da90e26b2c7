//! The protected layer: paths that no session may change, whatever the rules say, and paths that no session
//! may touch at all. One table. It guards what would let an agent out: the policy itself, the hooks and
//! settings of the agents' own programs, and what makes git run programs.

use crate::World;
use remit_core::{AbsPath, Effect, Layer, Object, Reason, Rule, Verb, Why};
use std::sync::Arc;

/// Where the parts of a row begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// In the workspace's own folder.
    Root,
    /// In any folder of the workspace.
    Inside,
    /// In any folder at all.
    Anywhere,
}

/// One row: these components and all below them. `*` is any one component, `**` any number but none.
struct Row {
    id: &'static str,
    place: Where,
    parts: &'static [&'static str],
    what: &'static str,
    /// What is said when something new would be made there, if that differs.
    new: Option<&'static str>,
    /// Only what is named, not what lies below it.
    only: bool,
}

const fn row(id: &'static str, place: Where, parts: &'static [&'static str], what: &'static str) -> Row {
    Row { id, place, parts, what, new: None, only: false }
}

const fn new(row: Row, what: &'static str) -> Row {
    Row { new: Some(what), ..row }
}

const fn only(row: Row) -> Row {
    Row { only: true, ..row }
}

/// How many rows of [`TABLE`] begin with a name without a dot.
const PLAIN: usize = 4;

const SETTINGS: &str = "what an agent's own program runs or obeys";
const GIT_HOOKS: &str = "what git runs by itself";
const GIT_CONFIG: &str = "git's configuration, which can name programs to run";
const GIT_LINK: &str = "a link between git folders";
const NEW_WORKTREE: &str = "a new linked worktree (`git worktree add` is not yet possible inside a session)";

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // First: names without a dot.
    row("protected.policy", Where::Root, &["remit.yaml"], "the policy"),
    row("protected.policy", Where::Root, &["massgen-permissions.yaml"], "the policy"),
    row("protected.opencode-settings", Where::Inside, &["opencode.json"], SETTINGS),
    row("protected.opencode-settings", Where::Inside, &["opencode.jsonc"], SETTINGS),
    row("protected.orchestration", Where::Root, &[".orchestration"], "the record of intents and changes"),
    row("protected.intentignore", Where::Root, &[".intentignore"], "the list of what no intent may touch"),
    row("protected.claude-settings", Where::Inside, &[".claude", "settings.json"], SETTINGS),
    row("protected.claude-settings", Where::Inside, &[".claude", "settings.local.json"], SETTINGS),
    row("protected.claude-hooks", Where::Inside, &[".claude", "hooks"], SETTINGS),
    row("protected.mcp-servers", Where::Inside, &[".mcp.json"], SETTINGS),
    row("protected.codex-hooks", Where::Inside, &[".codex", "hooks.json"], SETTINGS),
    row("protected.codex-settings", Where::Inside, &[".codex", "config.toml"], SETTINGS),
    row("protected.gemini-settings", Where::Inside, &[".gemini", "settings.json"], SETTINGS),
    row("protected.opencode-plugins", Where::Inside, &[".opencode", "plugins"], SETTINGS),
    row("protected.opencode-plugins", Where::Inside, &[".opencode", "plugin"], SETTINGS),
    row("protected.copilot-hooks", Where::Inside, &[".github", "hooks"], SETTINGS),
    row("protected.cline-hooks", Where::Inside, &[".clinerules", "hooks"], SETTINGS),
    row("protected.cursor-hooks", Where::Inside, &[".cursor", "hooks.json"], SETTINGS),
    row("protected.factory-hooks", Where::Inside, &[".factory", "hooks.json"], SETTINGS),
    row("protected.factory-settings", Where::Inside, &[".factory", "settings.json"], SETTINGS),
    row("protected.qwen-settings", Where::Inside, &[".qwen", "settings.json"], SETTINGS),
    row("protected.git-hooks", Where::Anywhere, &[".git", "hooks"], GIT_HOOKS),
    row("protected.git-config", Where::Anywhere, &[".git", "config"], GIT_CONFIG),
    row("protected.git-config", Where::Anywhere, &[".git", "config.lock"], GIT_CONFIG),
    row("protected.git-config", Where::Anywhere, &[".git", "config.worktree"], GIT_CONFIG),
    row("protected.git-info", Where::Anywhere, &[".git", "info"], "git's own attributes and excludes"),
    row("protected.git-link", Where::Anywhere, &[".git", "commondir"], GIT_LINK),
    row("protected.git-link", Where::Anywhere, &[".git", "gitdir"], GIT_LINK),
    row("protected.submodule-config", Where::Anywhere, &[".git", "modules", "**", "config"], GIT_CONFIG),
    row("protected.submodule-config", Where::Anywhere, &[".git", "modules", "**", "config.lock"], GIT_CONFIG),
    row("protected.submodule-config", Where::Anywhere, &[".git", "modules", "**", "config.worktree"], GIT_CONFIG),
    row("protected.submodule-hooks", Where::Anywhere, &[".git", "modules", "**", "hooks"], GIT_HOOKS),
    row("protected.submodule-link", Where::Anywhere, &[".git", "modules", "**", "commondir"], GIT_LINK),
    new(row("protected.worktree-config", Where::Anywhere, &[".git", "worktrees", "*", "config.worktree"], GIT_CONFIG), NEW_WORKTREE),
    new(row("protected.worktree-link", Where::Anywhere, &[".git", "worktrees", "*", "gitdir"], GIT_LINK), NEW_WORKTREE),
    new(row("protected.worktree-link", Where::Anywhere, &[".git", "worktrees", "*", "commondir"], GIT_LINK), NEW_WORKTREE),
    // Last: of what lies in it, the rows above say all.
    new(only(row("protected.git", Where::Anywhere, &[".git"], "the `.git` of a repository, worktree or submodule")),
        "the `.git` of a new repository (`git init` and `git worktree add` are not yet possible inside a session)"),
];

/// How a path lies to a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It is what the row names, or below it.
    Hit,
    /// It is a folder that holds what the row names.
    Holds,
    /// Neither.
    Not,
}

/// A row's words, made once.
#[derive(Debug, Clone)]
struct Words {
    rule: Arc<Rule>,
    what: Arc<str>,
    new: Arc<str>,
}

impl Words {
    fn new(id: &str, text: &str, what: &str, new: Option<&str>) -> Self {
        let rule = Arc::new(Rule { id: Arc::from(id), text: Arc::from(text), place: None });
        Self { rule, what: Arc::from(what), new: Arc::from(new.unwrap_or(what)) }
    }

    fn reason(&self, verb: Verb) -> Reason {
        let what = if verb == Verb::Create { &self.new } else { &self.what };
        let rule = Some(Arc::clone(&self.rule));
        Reason { layer: Layer::Protected, effect: Effect::Deny, rule, why: Why::Protected(Arc::clone(what)) }
    }
}

/// The table, for one workspace.
#[derive(Debug, Clone)]
pub(crate) struct Protected {
    workspace: AbsPath,
    sealed: Vec<AbsPath>,
    /// One for each row of [`TABLE`].
    words: Vec<Words>,
    seal: Words,
    whole: Words,
}

impl Protected {
    pub(crate) fn new(world: &World) -> Self {
        let words = TABLE.iter().map(|row| Words::new(row.id, &row.parts.join("/"), row.what, row.new));
        Self {
            workspace: world.workspace.clone(),
            sealed: world.sealed.clone(),
            words: words.collect(),
            seal: Words::new(
                "protected.sealed",
                "outside every session",
                "what is outside every session",
                None,
            ),
            whole: Words::new(
                "protected.folder",
                "a folder that holds protected paths",
                "a folder that holds protected paths",
                None,
            ),
        }
    }

    /// The reason to refuse, if there is one; nothing else is ever answered here.
    pub(crate) fn judge(&self, verb: Verb, object: &Object) -> Option<Reason> {
        match object {
            Object::Path(path) => self.end(verb, path),
            Object::Move { from, to } => self.end(verb, from).or_else(|| self.end(verb, to)),
            Object::Host { .. } => None,
        }
    }

    fn end(&self, verb: Verb, path: &AbsPath) -> Option<Reason> {
        let bytes = path.as_bytes();
        if self.sealed.iter().any(|sealed| below(sealed.as_bytes(), bytes).is_some()) {
            return Some(self.seal.reason(verb));
        }
        if !verb.changes() {
            return None;
        }
        let inside = below(self.workspace.as_bytes(), bytes);
        let mut holds = matches!(verb, Verb::Rename | Verb::Delete)
            && (below(bytes, self.workspace.as_bytes()).is_some()
                || self.sealed.iter().any(|sealed| below(bytes, sealed.as_bytes()).is_some()));
        let outside = bytes.len().saturating_sub(inside.map_or(0, <[u8]>::len));
        let mut rest = bytes.strip_prefix(b"/").unwrap_or(bytes);
        while !rest.is_empty() {
            let at = bytes.len().saturating_sub(rest.len());
            let rows = match rest.first() {
                Some(b'.') => PLAIN..TABLE.len(),
                Some(b'r' | b'R' | b'm' | b'M' | b'o' | b'O') => 0..PLAIN,
                _ => 0..0,
            };
            let words = self.words.get(rows.clone()).unwrap_or(&[]);
            for (row, words) in TABLE.get(rows).unwrap_or(&[]).iter().zip(words) {
                let here = match row.place {
                    Where::Anywhere => true,
                    Where::Inside => inside.is_some() && at >= outside,
                    Where::Root => inside.is_some() && at == outside,
                };
                match if here { fit(row, rest) } else { Fit::Not } {
                    Fit::Hit => return Some(words.reason(verb)),
                    Fit::Holds => holds |= verb == Verb::Rename,
                    Fit::Not => {}
                }
            }
            rest = after(rest);
        }
        holds.then(|| self.whole.reason(verb))
    }
}

/// What follows the first component.
fn after(path: &[u8]) -> &[u8] {
    let slash = path.iter().position(|byte| *byte == b'/');
    slash.and_then(|at| path.get(at.saturating_add(1)..)).unwrap_or(b"")
}

/// What of `path` lies below `folder`, letter case aside: a file system that folds case must not open a hole.
fn below<'a>(folder: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    if folder == b"/" {
        return path.get(1..);
    }
    let (head, rest) = path.split_at_checked(folder.len())?;
    if !head.eq_ignore_ascii_case(folder) {
        return None;
    }
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
}

fn fit(row: &Row, mut path: &[u8]) -> Fit {
    for (at, part) in row.parts.iter().enumerate() {
        if path.is_empty() {
            return Fit::Holds;
        }
        let name = path.split(|byte| *byte == b'/').next().unwrap_or(path);
        match *part {
            "**" => {
                let Some(last) = row.parts.get(at.saturating_add(1)) else { return Fit::Not };
                let deeper = after(path);
                let hit =
                    deeper.split(|byte| *byte == b'/').any(|name| name.eq_ignore_ascii_case(last.as_bytes()));
                return match (hit, deeper.is_empty()) {
                    (true, _) => Fit::Hit,
                    (false, true) => Fit::Holds,
                    (false, false) => Fit::Not,
                };
            }
            "*" => {}
            part if name.eq_ignore_ascii_case(part.as_bytes()) => {}
            _ => return Fit::Not,
        }
        path = after(path);
    }
    if row.only && !path.is_empty() { Fit::Not } else { Fit::Hit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_without_a_dot_come_first_and_begin_with_the_letters_that_are_looked_for() {
        for (at, row) in TABLE.iter().enumerate() {
            let first = row.parts[0].as_bytes()[0];
            assert_eq!(at < PLAIN, first != b'.', "{}", row.parts[0]);
            assert!(b".rmo".contains(&first), "{}", row.parts[0]);
        }
    }

    #[test]
    fn below_is_by_component_and_without_letter_case() {
        assert_eq!(below(b"/w", b"/W/a"), Some(&b"a"[..]));
        assert_eq!(below(b"/w", b"/w"), Some(&b""[..]));
        assert_eq!(below(b"/w", b"/wa"), None);
        assert_eq!(below(b"/", b"/wa"), Some(&b"wa"[..]));
    }
}
