//! What git tracks and no rule grants. Git compares what it remembers of each file with what the file looks like,
//! and takes a file that is out of sight for one that was deleted: a commit of all changes would delete it. So
//! where an agent has the repository's records, and with them the names and contents of all that is tracked, it
//! also sees that these files are there, and as git remembers them. It can neither read nor list them.
//!
//! One mount does for each topmost part of the work tree in which nothing is granted. The folders above are the
//! view's own.

use super::expansion::MOST_ENTRIES;
use super::planner::{Place, Planner, State, in_tree_order};
use super::{Found, Kind, Link, Rights, Source};
use remit_core::AbsPath;
use remit_policy::Access;
use std::collections::BTreeMap;

/// What git tracks in a work tree; paths are relative to its top, without a leading slash.
#[derive(Debug, Clone, Copy)]
pub struct Tracked<'a> {
    /// The top of the work tree: the folder of `.git`.
    pub top: &'a AbsPath,
    /// All paths.
    pub paths: &'a [&'a [u8]],
    /// Those among them that are repositories of their own.
    pub repositories: &'a [&'a [u8]],
}

/// How a place came to be shown for git's sake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Git {
    /// It did not.
    #[default]
    No,
    /// It is a topmost entry in which something is tracked.
    Entry,
    /// It is a repository of its own.
    Repository,
}

impl Planner<'_> {
    /// Adds what must be shown for git's sake to the places at which rules speak.
    pub(super) fn add_tracked(&self, places: &mut BTreeMap<Vec<u8>, (AbsPath, Place)>) {
        let Some(tracked) = &self.request.tracked else { return };
        let records = tracked.top.join(b".git");
        if !records.is_ok_and(|records| self.access(&records).has(Access::READ)) {
            return;
        }
        let granted: Vec<Vec<u8>> = places
            .iter()
            .filter(|(_, (path, place))| place.extra.is_some() || place.shown || !self.access(path).is_none())
            .map(|(key, _)| key.clone())
            .collect();
        let entries = Entries { top: tracked.top, granted: &granted };
        if entries.is_granted_above() {
            return;
        }
        let mut add = |path: AbsPath, git: Git| {
            let place = places.entry(in_tree_order(&path)).or_insert_with(|| (path, Place::default()));
            place.1.git = git;
        };
        let mut last: Vec<u8> = Vec::new();
        for path in tracked.paths {
            // They stand in order, so that most lie where the one before lay.
            if !last.is_empty() && path.starts_with(&last) {
                continue;
            }
            // An index is written by whoever may write the records.
            if path.split(|byte| *byte == b'/').any(|name| matches!(name, b"" | b"." | b"..")) {
                continue;
            }
            let (length, entry) = entries.entry(path);
            last = path.get(..length).unwrap_or_default().to_vec();
            last.push(b'/');
            if let Some(entry) = entry {
                add(entry, Git::Entry);
            }
        }
        for path in tracked.repositories {
            if let (_, Some(_)) = entries.entry(path)
                && let Ok(path) = AbsPath::lexical(tracked.top, path)
            {
                add(path, Git::Repository);
            }
        }
    }

    /// A place of git's where nothing is granted; none if it is no such place.
    pub(super) fn for_git(
        &mut self,
        path: &AbsPath,
        place: &Place,
        found: Found,
        state: State,
        floor: Rights,
    ) -> Option<(State, Rights)> {
        let stat = match (place.git, found) {
            (Git::No, _) => return None,
            (_, Found::Is(stat)) => stat,
            // It has been deleted, or another thing has the name of a folder above it.
            (_, Found::Absent | Found::ThroughLink) => return None,
        };
        if stat.kind == Kind::Link {
            if state == State::Hidden && !self.is_forbidden(path, place) {
                match self.disk.link(path) {
                    Ok(to) => self.plan.links.push(Link { at: path.clone(), to }),
                    Err(error) => self.plan.notes.push(format!("{path} cannot be read: {error}")),
                }
            }
            return None;
        }
        let state = match state {
            State::Hidden => {
                let tree = self.bind(Source::Host(path.clone()), path, Access::NONE, false);
                if let Some(tree) = self.trees.get_mut(tree) {
                    tree.bare = true;
                    tree.reads = stat.kind != Kind::Folder;
                }
                State::Shown { tree, narrowed: false }
            }
            other => other,
        };
        if !self.is_bare(state) {
            return None;
        }
        if self.is_forbidden(path, place) {
            return Some(self.end(path, place, found, state, floor));
        }
        match (stat.kind, place.git) {
            // Git takes an empty one for one that has not been fetched, and for unchanged.
            (Kind::Folder, Git::Repository) => self.plan.masks.push(path.clone()),
            (Kind::Folder, _) => {
                self.cover_doors(path);
                return Some((state, floor));
            }
            (Kind::File, _) => return Some((state, floor)),
            (Kind::Other | Kind::Link, _) => self.plan.file_masks.push(path.clone()),
        }
        Some((State::Out, floor))
    }

    /// Whether nothing is granted in what is seen here.
    pub(super) fn is_bare(&self, state: State) -> bool {
        matches!(state, State::Shown { tree, .. } if self.trees.get(tree).is_some_and(|tree| tree.bare))
    }

    /// Whether a `none` rule covers the place.
    fn is_forbidden(&self, path: &AbsPath, place: &Place) -> bool {
        let none = |index: &usize| self.points.get(*index).is_some_and(|p| !p.base && p.access.is_none());
        place.points.iter().any(none) || self.closed_for_good(path)
    }

    /// Covers sockets below a folder: to connect to one needs no right that the floor could hold. What cannot be
    /// listed is covered as a whole.
    fn cover_doors(&mut self, top: &AbsPath) {
        let mut stack = vec![top.clone()];
        let mut seen = 0usize;
        while let Some(folder) = stack.pop() {
            if seen > MOST_ENTRIES {
                self.plan.masks.push(folder);
                continue;
            }
            let mut others = Vec::new();
            let listed = self.disk.list(&folder, &mut |name, kind| {
                seen += 1;
                match kind {
                    Kind::Folder => stack.extend(folder.join(name)),
                    Kind::Other => others.extend(folder.join(name)),
                    Kind::File | Kind::Link => {}
                }
            });
            self.plan.file_masks.append(&mut others);
            if listed.is_err() {
                self.plan.masks.push(folder);
            }
        }
    }
}

/// Finds topmost entries.
struct Entries<'a> {
    top: &'a AbsPath,
    /// The places at which something is granted, as [`in_tree_order`] writes them.
    granted: &'a [Vec<u8>],
}

impl Entries<'_> {
    /// Whether the top itself is granted, or something above it.
    fn is_granted_above(&self) -> bool {
        let mut at = Some(self.top.clone());
        while let Some(path) = at {
            if self.granted.binary_search(&in_tree_order(&path)).is_ok() {
                return true;
            }
            at = path.parent();
        }
        false
    }

    /// How much of a tracked path speaks for all below it, and the entry to be shown; none if it is seen anyway.
    fn entry(&self, path: &[u8]) -> (usize, Option<AbsPath>) {
        let mut key = in_tree_order(self.top);
        let mut at = 0;
        for name in path.split(|byte| *byte == b'/') {
            at += name.len() + usize::from(at > 0);
            key.push(0);
            key.extend(name);
            let from = self.granted.partition_point(|granted| *granted < key);
            let next = self.granted.get(from).and_then(|next| next.strip_prefix(key.as_slice()));
            match next {
                Some([]) => return (at, None),
                // A folder of the view's own, which leads to what is granted.
                Some([0, ..]) => {}
                Some(_) | None => return (at, self.named(path, at)),
            }
        }
        // Something is granted below what was a file.
        (at, None)
    }

    fn named(&self, path: &[u8], length: usize) -> Option<AbsPath> {
        AbsPath::lexical(self.top, path.get(..length)?).ok()
    }
}
