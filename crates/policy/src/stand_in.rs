//! What a symbolic link stands in for: which protected names it has, or holds. Who may write where it leads could
//! write what is protected, so the [`World`] names those places, too.

use crate::World;
use crate::protected::{below, is_git, split};
use crate::table::{DOT_GIT, GIT, HOME, NAMES, Row};
use remit_core::AbsPath;

/// One thing that a link stands in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandIn {
    /// Names below the link that are protected, with all below them; empty: all that it leads to is.
    pub rest: &'static [&'static str],
    /// The rule's id.
    pub id: &'static str,
    /// What it is, in a few words.
    pub words: &'static str,
    /// Whether it leads to a git folder; `rest` is empty then, and the git folder's own names are meant.
    pub git: bool,
}

impl StandIn {
    fn of(row: &'static Row, rest: &'static [&'static str], git: bool) -> Self {
        Self { rest, id: row.id, words: row.what, git }
    }
}

/// What a link at a path stands in for, by its names; nothing for nearly all.
pub fn stands_in(world: &World, link: &AbsPath) -> Vec<StandIn> {
    let mut found = Vec::new();
    for dir in &world.git_dirs {
        found.extend(below(dir.as_bytes(), link.as_bytes()).into_iter().flat_map(|rest| of_rows(GIT, rest)));
    }
    let mut rest = link.as_bytes().strip_prefix(b"/").unwrap_or(link.as_bytes());
    while !rest.is_empty() {
        let (name, deeper) = split(rest);
        if !is_git(name) {
            found.extend(of_rows(NAMES, rest));
        } else if deeper.is_empty() {
            found.push(StandIn::of(&DOT_GIT, &[], true));
        } else {
            found.extend(of_rows(GIT, deeper));
        }
        rest = deeper;
    }
    found
}

/// The paths directly below a person's home folder that programs obey, as parts, with id and words.
pub fn of_home() -> impl Iterator<Item = StandIn> {
    HOME.iter().chain(NAMES).map(|row| StandIn::of(row, row.parts, false))
}

fn of_rows(rows: &'static [Row], path: &[u8]) -> impl Iterator<Item = StandIn> {
    rows.iter().filter_map(|row| Some(StandIn::of(row, rest_of(row.parts, path)?, false)))
}

/// What of a row is left below a path that lies on the row's way, or nothing of it for one that is reached; none for
/// a path that lies elsewhere. Names behind a wildcard are not told apart: all is meant.
fn rest_of(parts: &'static [&'static str], mut path: &[u8]) -> Option<&'static [&'static str]> {
    let mut rest = parts;
    while let Some((part, after)) = rest.split_first() {
        if path.is_empty() {
            let end = rest.iter().position(|part| part.starts_with('*')).unwrap_or(rest.len());
            return rest.get(..end);
        }
        let (name, deeper) = split(path);
        match *part {
            // A module's own store is no way to its settings.
            "**" => return (!path.split(|b| *b == b'/').any(is_store)).then_some(&[]),
            "*" => {}
            part if name.eq_ignore_ascii_case(part.as_bytes()) => {}
            _ => return None,
        }
        (rest, path) = (after, deeper);
    }
    Some(&[])
}

/// Whether a name in a git folder is that of a store of objects, references or logs: no settings lie in it.
pub fn is_store(name: &[u8]) -> bool {
    [&b"objects"[..], b"refs", b"logs", b"lfs"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rests(link: &str) -> Vec<String> {
        let at = |path: &str| AbsPath::new(path).unwrap();
        let world = World {
            workspace: at("/w"),
            home: at("/h"),
            base: Vec::new(),
            sealed: Vec::new(),
            protected: Vec::new(),
            git_dirs: vec![at("/real")],
            linked: None,
            private: Vec::new(),
            single_files: Default::default(),
        };
        let mut found: Vec<String> = stands_in(&world, &at(link))
            .iter()
            .map(|one| if one.git { "git".to_owned() } else { one.rest.join("/") })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn a_protected_name_and_what_lies_below_it_is_meant_whole() {
        for link in ["/w/.mcp.json", "/w/x/.claude/hooks/a/b", "/w/.git/hooks", "/w/.git/hooks/pre-commit"] {
            assert_eq!(rests(link), [""], "{link}");
        }
        assert_eq!(rests("/real/hooks/update"), [""]);
        assert_eq!(rests("/w/.GIT/Hooks/x"), [""]);
    }

    #[test]
    fn a_folder_that_holds_protected_names_is_meant_by_them() {
        assert_eq!(rests("/w/.claude"), ["hooks", "settings.json", "settings.local.json"]);
        assert_eq!(rests("/w/.cline"), ["data/settings", "hooks"]);
        assert_eq!(rests("/w/.git"), ["git"]);
        assert_eq!(rests("/w/bare.git"), ["git"]);
    }

    #[test]
    fn names_behind_a_wildcard_are_meant_whole() {
        assert_eq!(rests("/w/.git/modules"), [""]);
        assert_eq!(rests("/w/.git/modules/a/b"), [""]);
        assert_eq!(rests("/w/.git/worktrees"), [""]);
        assert_eq!(rests("/w/.git/worktrees/a"), ["commondir", "config.worktree", "gitdir"]);
    }

    #[test]
    fn any_other_link_stands_for_itself() {
        for link in ["/w/a", "/w/.claude/agents", "/w/node_modules/.bin/x", "/w/.git/HEAD"] {
            assert_eq!(rests(link), [""; 0], "{link}");
        }
        assert_eq!(rests("/w/.git/modules/a/objects/pack"), [""; 0]);
    }
}
