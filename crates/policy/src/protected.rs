//! The protected layer: paths that no session may change, whatever the rules say, and paths that no session
//! may touch at all. It guards what would let an agent out: the policy itself, the hooks and settings of the
//! agents' own programs, and what makes git run programs. The names are in [`table`](crate::table); what
//! only this machine can tell comes with the [`World`].

use crate::agent::AgentPolicy;
use crate::rules::Scope;
use crate::table::{DOT_GIT, GIT, HOME, NAMES, PLAIN, Row};
use crate::{Access, World};
use remit_core::{AbsPath, Effect, Layer, Object, Reason, Rule, Verb, Why};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a path lies to a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It is what the row names, or below it.
    Hit,
    /// It is a folder that holds what the row names, by the components from this one on.
    Holds(usize),
    /// Neither.
    Not,
}

/// What a path came upon.
enum Found<'a> {
    /// Something protected.
    Hit(&'a Words),
    /// A folder that may hold something protected, by this name below it.
    Holds(&'static [&'static str]),
    Nothing,
}

/// A row's words, made once.
#[derive(Debug, Clone)]
struct Words {
    rule: Arc<Rule>,
    what: Arc<str>,
    new: Arc<str>,
}

impl Words {
    fn new(id: &str, text: &str, what: &str) -> Self {
        let rule = Arc::new(Rule { id: Arc::from(id), text: Arc::from(text), place: None });
        let what: Arc<str> = Arc::from(what);
        Self { rule, new: Arc::clone(&what), what }
    }

    fn of(row: &Row, before: &str) -> Self {
        let mut words = Self::new(row.id, &format!("{before}{}", row.parts.join("/")), row.what);
        if let Some(new) = row.new {
            words.new = Arc::from(new);
        }
        words
    }

    fn reason(&self, verb: Verb) -> Reason {
        let what = if verb == Verb::Create { &self.new } else { &self.what };
        let rule = Some(Arc::clone(&self.rule));
        Reason { layer: Layer::Protected, effect: Effect::Deny, rule, why: Why::Protected(Arc::clone(what)) }
    }
}

/// The tables, for one world.
#[derive(Debug, Clone)]
pub(crate) struct Protected {
    workspace: AbsPath,
    sealed: Vec<AbsPath>,
    /// Single paths, with all below them.
    paths: Vec<(AbsPath, Words)>,
    git_dirs: Vec<AbsPath>,
    /// Folders of the session alone, and what in them is not.
    private: Vec<AbsPath>,
    shared: Vec<AbsPath>,
    /// One for each row of [`NAMES`].
    names: Vec<Words>,
    /// One for each row of [`GIT`].
    git: Vec<Words>,
    dot_git: Words,
    seal: Words,
    whole: Arc<Rule>,
}

impl Protected {
    /// `agents` tell which parts of the private folders a rule of a person opens: those are the machine's own.
    pub(crate) fn new(world: &World, agents: &BTreeMap<String, AgentPolicy>) -> Self {
        let mut paths: Vec<(AbsPath, Words)> = Vec::new();
        for one in &world.protected {
            paths.push((one.path.clone(), Words::new(&one.id, &one.path.to_string(), &one.words)));
        }
        for row in HOME {
            let joined = row.parts.iter().try_fold(world.home.clone(), |path, part| path.join(part));
            paths.extend(joined.ok().map(|path| (path, Words::of(row, "~/"))));
        }
        let points = agents.values().flat_map(AgentPolicy::points);
        let opened = points.filter(|p| p.scope != Scope::Base && p.access.has(Access::WRITE));
        let mut shared: Vec<AbsPath> = opened.map(|point| point.pattern.literal_prefix().clone()).collect();
        shared.retain(|path| world.private.iter().any(|folder| folder.covers(path)));
        shared.push(world.workspace.clone());
        shared.sort_unstable();
        shared.dedup();
        let words = |rows: &[Row], before| rows.iter().map(|row| Words::of(row, before)).collect();
        Self {
            workspace: world.workspace.clone(),
            sealed: world.sealed.clone(),
            paths,
            git_dirs: world.git_dirs.clone(),
            private: world.private.clone(),
            shared,
            names: words(NAMES, ""),
            git: words(GIT, ".git/"),
            dot_git: Words::of(&DOT_GIT, ""),
            seal: Words::new("protected.sealed", "outside every session", "what is outside every session"),
            whole: Arc::new(Rule {
                id: Arc::from("protected.folder"),
                text: Arc::from("a folder that holds protected paths"),
                place: None,
            }),
        }
    }

    /// The reason to refuse, if there is one; nothing else is ever answered here.
    pub(crate) fn judge(&self, verb: Verb, object: &Object) -> Option<Reason> {
        match object {
            Object::Path(path) => self.end(verb, path),
            Object::Move { from, to } => self.end(verb, from).or_else(|| self.end(verb, to)),
            Object::Host { .. } | Object::Tool(_) => None,
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
        let mut holds = self.holds(verb, bytes);
        if let Some((_, words)) = self.paths.iter().find(|(at, _)| below(at.as_bytes(), bytes).is_some()) {
            return Some(words.reason(verb));
        }
        let in_git = self.git_dirs.iter().filter_map(|dir| below(dir.as_bytes(), bytes));
        for found in in_git.map(|rest| self.of_rows(GIT, &self.git, rest)).chain(self.by_name(path)) {
            match found {
                Found::Hit(words) => return Some(words.reason(verb)),
                Found::Holds(rest) if verb == Verb::Rename && holds.is_none() => {
                    holds = Some(format!("a folder that can hold `{path}/{}`", rest.join("/")));
                }
                Found::Holds(_) | Found::Nothing => {}
            }
        }
        holds.map(|held| Reason {
            layer: Layer::Protected,
            effect: Effect::Deny,
            rule: Some(Arc::clone(&self.whole)),
            why: Why::Protected(held.into()),
        })
    }

    /// What a folder holds that keeps it from being moved or removed: the first that is known by its whole path.
    fn holds(&self, verb: Verb, folder: &[u8]) -> Option<String> {
        let above = |other: &&AbsPath| below(folder, other.as_bytes()).is_some();
        let shown = |path: &AbsPath| format!("a folder that holds `{path}`");
        let (paths, git) = (self.paths.iter().map(|(path, _)| path), self.git_dirs.iter());
        let known = paths.chain(git).filter(|_| verb == Verb::Rename).find(above).map(shown);
        let removed = matches!(verb, Verb::Rename | Verb::Delete);
        let workspace = || {
            Some(&self.workspace)
                .filter(above)
                .map(|path| format!("a folder that holds the workspace `{path}`"))
        };
        // Where that lies is nobody's business inside.
        let sealed = || {
            self.sealed
                .iter()
                .any(|path| above(&path))
                .then(|| "a folder that holds what is outside every session".to_owned())
        };
        known.or_else(|| removed.then(|| workspace().or_else(sealed)).flatten())
    }

    /// Whether something protected may lie below a folder.
    pub(crate) fn speaks_below(&self, folder: &AbsPath) -> bool {
        let folder = folder.as_bytes();
        let within = |path: &AbsPath| below(folder, path.as_bytes()).is_some();
        let around = |path: &AbsPath| below(path.as_bytes(), folder).is_some();
        let named =
            !self.private.iter().any(around) || self.shared.iter().any(|part| within(part) || around(part));
        let single = self.paths.iter().map(|(path, _)| path).chain(&self.git_dirs).chain(&self.sealed);
        named || single.into_iter().any(|path| within(path) || around(path))
    }

    /// What each component, taken as the first one of a row, leads to.
    fn by_name<'a>(&'a self, path: &'a AbsPath) -> impl Iterator<Item = Found<'a>> {
        let bytes = path.as_bytes();
        let private = self.private.iter().any(|folder| folder.covers(path))
            && !self.shared.iter().any(|part| below(part.as_bytes(), bytes).is_some());
        let mut rest = if private { b"" } else { bytes.strip_prefix(b"/").unwrap_or(bytes) };
        std::iter::from_fn(move || {
            while !rest.is_empty() {
                let here = rest;
                let (name, deeper) = split(here);
                rest = deeper;
                if is_git(name) {
                    return Some(self.of_git(name, deeper));
                }
                let rows = match name.first() {
                    Some(b'.') => PLAIN..NAMES.len(),
                    Some(b'r' | b'R' | b'm' | b'M' | b'o' | b'O' | b'c' | b'C') => 0..PLAIN,
                    _ => continue,
                };
                let words = self.names.get(rows.clone()).unwrap_or(&[]);
                return Some(self.of_rows(NAMES.get(rows).unwrap_or(&[]), words, here));
            }
            None
        })
    }

    /// A git folder by its name, and what of it the path names.
    fn of_git(&self, name: &[u8], rest: &[u8]) -> Found<'_> {
        if rest.is_empty() && name.eq_ignore_ascii_case(b".git") {
            return Found::Hit(&self.dot_git);
        }
        self.of_rows(GIT, &self.git, rest)
    }

    fn of_rows<'a>(&self, rows: &[Row], words: &'a [Words], rest: &[u8]) -> Found<'a> {
        let mut holds = None;
        for (row, words) in rows.iter().zip(words) {
            match fit(row.parts, rest) {
                Fit::Hit => return Found::Hit(words),
                Fit::Holds(from) => holds = holds.or_else(|| row.parts.get(from..)),
                Fit::Not => {}
            }
        }
        holds.map_or(Found::Nothing, Found::Holds)
    }
}

/// Whether a folder of this name is a git folder: `.git`, or `name.git` as bare repositories are called.
pub(crate) fn is_git(name: &[u8]) -> bool {
    name.len()
        .checked_sub(4)
        .and_then(|at| name.get(at..))
        .is_some_and(|end| end.eq_ignore_ascii_case(b".git"))
}

/// The first component, and what follows it.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().position(|byte| *byte == b'/');
    let parts = slash.and_then(|at| Some((path.get(..at)?, path.get(at.saturating_add(1)..)?)));
    parts.unwrap_or((path, b""))
}

/// What of `path` lies below `folder`, letter case aside: a file system that folds case must not open a hole.
pub(crate) fn below<'a>(folder: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    if folder == b"/" {
        return path.get(1..);
    }
    let (head, rest) = path.split_at_checked(folder.len())?;
    if !head.eq_ignore_ascii_case(folder) {
        return None;
    }
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
}

fn fit(parts: &[&str], mut path: &[u8]) -> Fit {
    for (at, part) in parts.iter().enumerate() {
        if path.is_empty() {
            return Fit::Holds(at);
        }
        let (name, deeper) = split(path);
        match *part {
            "**" => {
                let Some(last) = parts.get(at.saturating_add(1)) else { return Fit::Not };
                let hit =
                    deeper.split(|byte| *byte == b'/').any(|name| name.eq_ignore_ascii_case(last.as_bytes()));
                return match (hit, deeper.is_empty()) {
                    (true, _) => Fit::Hit,
                    (false, true) => Fit::Holds(at.saturating_add(1)),
                    (false, false) => Fit::Not,
                };
            }
            "*" => {}
            part if name.eq_ignore_ascii_case(part.as_bytes()) => {}
            _ => return Fit::Not,
        }
        path = deeper;
    }
    Fit::Hit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_by_component_and_without_letter_case() {
        assert_eq!(below(b"/w", b"/W/a"), Some(&b"a"[..]));
        assert_eq!(below(b"/w", b"/w"), Some(&b""[..]));
        assert_eq!(below(b"/w", b"/wa"), None);
        assert_eq!(below(b"/", b"/wa"), Some(&b"wa"[..]));
    }

    #[test]
    fn a_git_folder_is_known_by_the_end_of_its_name() {
        for name in [".git", "bare.git", "X.GIT"] {
            assert!(is_git(name.as_bytes()), "{name}");
        }
        for name in ["git", ".gitignore", ".git2", "widgit", ""] {
            assert!(!is_git(name.as_bytes()), "{name}");
        }
    }
}
